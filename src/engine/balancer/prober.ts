import { messageOf } from '../../errors.ts';
import type { Logger } from '../../log/logger.ts';
import type { Clock, Timer } from '../../net/time/clock.ts';
import { Deadline } from '../../net/time/deadline.ts';

/** The result of the last probe of a member; `unknown` before the first result. */
export type Health = 'unknown' | 'available' | 'unavailable';

/** A probe with a time limit of 0 could never succeed; timers have a resolution of 1 ms. */
const LEAST_TIMEOUT_MS = 1;

/** What a prober knows of its member. */
export interface MemberHealth {
  readonly health: Health;
  /** When the last probe ended, on the clock of the prober; `undefined` before that. */
  readonly probedAt: number | undefined;
  /** Why the last probe failed, if it did. */
  readonly error: string | undefined;
}

export interface ProberOptions {
  /** Name of the member in log lines. */
  readonly name: string;
  /** Tag of the member. */
  readonly outbound: string;
  /** From the end of one probe to the start of the next; 0 runs them back to back. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Connects to the member's server and closes the connection; rejects when it cannot. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** The health of the member before a reload. */
  readonly initial: Health;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Probes periodically whether one member can be reached. */
export class Prober {
  readonly #options: ProberOptions;
  readonly #stopping = new AbortController();
  #health: Health;
  #probedAt: number | undefined;
  #error: string | undefined;
  #timer: Timer | undefined;

  constructor(options: ProberOptions) {
    this.#options = options;
    this.#health = options.initial;
  }

  get health(): Health {
    return this.#health;
  }

  get result(): MemberHealth {
    return { health: this.#health, probedAt: this.#probedAt, error: this.#error };
  }

  /** Probes at once and then periodically until `stop`; does nothing after `stop`. */
  start(): void {
    if (this.#stopping.signal.aborted) return;
    void this.#probeOnce();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopping.abort(new Error('the prober has stopped'));
  }

  async #probeOnce(): Promise<void> {
    const { clock, timeoutMs, intervalMs, probe } = this.#options;
    try {
      using deadline = new Deadline(
        clock,
        Math.max(timeoutMs, LEAST_TIMEOUT_MS),
        'the probe',
        this.#stopping.signal,
      );
      await probe(deadline.signal);
      this.#ended(undefined);
    } catch (error) {
      this.#ended(messageOf(error));
    }
    if (this.#stopping.signal.aborted) return;
    this.#timer = clock.after(intervalMs, () => void this.#probeOnce());
  }

  /** Logs changes of the health only. @param error why the probe failed */
  #ended(error: string | undefined): void {
    if (this.#stopping.signal.aborted) return;
    const { clock, log, name, outbound } = this.#options;
    this.#probedAt = clock.now();
    this.#error = error;
    const health = error === undefined ? 'available' : 'unavailable';
    if (health === this.#health) return;
    if (error !== undefined) {
      log.warn(`${name} is unavailable: ${error}`, { outbound, error });
    } else if (this.#health === 'unavailable') log.info(`${name} is available again`, { outbound });
    else log.debug(`${name} is available`, { outbound });
    this.#health = health;
  }
}
