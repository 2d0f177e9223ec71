import {
  isOfThisHost,
  DeadlineError,
  type DialError,
  type DialErrorCode,
} from '../../net/errors.ts';
import { ServerReach } from '../../net/dial-steps.ts';
import type { Clock, Timer } from '../../net/time/clock.ts';
import { DIAL_MS } from '../../net/time/time-limits.ts';
import type { OutboundVersion } from '../outbound-version.ts';
import type { ExitGroup } from '../routing-snapshot.ts';

/** Milliseconds after which a dial that its client has aborted counts as failed. */
export const SLOW_DIAL_MS = 2_000;

/** Failures that do not concern a member's server, however far the dial had come. */
const NOT_OF_SERVER: ReadonlySet<DialErrorCode> = new Set([
  'blocked',
  'loop',
  'forbidden',
  'unsupported',
]);

/**
 * The tries of one dial through a group: when a member's server was not reached, the failure is reported to the group,
 * which may name another member for the rest of the dial's time limit. A server's report about the destination is
 * final.
 */
export class MemberTries {
  readonly #group: ExitGroup;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #limit: AbortSignal;
  readonly #tried = new Set<OutboundVersion>();
  #reach = new ServerReach();
  #timer: Timer | undefined;

  /** @param limit the time limit of the whole dial */
  constructor(group: ExitGroup, clock: Clock, limit: AbortSignal) {
    this.#group = group;
    this.#clock = clock;
    this.#limit = limit;
    this.#startedAt = clock.now();
  }

  /**
   * Begins a try. While another member remains, the server has to be reached in half of the remaining time.
   *
   * @returns options for the outbound
   */
  begin(version: OutboundVersion): { readonly signal: AbortSignal; readonly reach: ServerReach } {
    this.#tried.add(version);
    const reach = new ServerReach();
    this.#reach = reach;
    if (!this.#group.next(this.#tried)) return { signal: this.#limit, reach };
    const own = new AbortController();
    const half = Math.ceil((this.#startedAt + DIAL_MS - this.#clock.now()) / 2);
    this.#timer = this.#clock.after(half, () => {
      if (!reach.isReached) {
        own.abort(new DeadlineError(`no connection to the server within ${half / 1000} s`));
      }
    });
    return { signal: AbortSignal.any([this.#limit, own.signal]), reach };
  }

  /** Records a successful try. */
  succeeded(version: OutboundVersion): void {
    this.#timer?.cancel();
    this.#group.reached(version);
  }

  /**
   * Records a failed try.
   *
   * @param hasDestination `false` for an association, about which a server reports only its own failures
   * @returns the member to try next, if any
   */
  failed(
    version: OutboundVersion,
    error: DialError,
    hasDestination: boolean,
  ): OutboundVersion | undefined {
    this.#timer?.cancel();
    if (!this.#isServers(error, hasDestination)) return undefined;
    this.#group.missed(version);
    return this.#limit.aborted ? undefined : this.#group.next(this.#tried);
  }

  #isServers(error: DialError, hasDestination: boolean): boolean {
    if (NOT_OF_SERVER.has(error.code) || isOfThisHost(error)) return false;
    if (error.code === 'aborted' && this.#clock.now() - this.#startedAt < SLOW_DIAL_MS)
      return false;
    // Without a destination, every failure but an unsuitable request is the server's.
    return this.#reach.isMissed || (!hasDestination && !this.#reach.isUntried);
  }
}
