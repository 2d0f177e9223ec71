import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { type Clock, type Timer, Deadline } from '@weir/io/time';

/** The result of the last probe of a member; `unknown` before the first result. */
export type Health = 'unknown' | 'available' | 'unavailable';

/** A probe with a time limit of 0 could never succeed; timers have a resolution of 1 ms. */
const LEAST_TIMEOUT_MS = 1;

/** Milliseconds between the starts of two probes that dials have caused. */
export const LEAST_CHECK_MS = 1_000;

/** The health of a member as its prober knows it. */
export interface MemberHealth {
  readonly health: Health;
  /** Time at which the last probe ended, on the clock of the prober; `undefined` before the first. */
  readonly probedAt: number | undefined;
  /** The reason why the last probe failed, if it did. */
  readonly error: string | undefined;
}

export interface ProberOptions {
  /** Name of the member in log lines. */
  readonly name: string;
  /** Tag of the member. */
  readonly outbound: string;
  /** Milliseconds from the end of one probe to the start of the next; 0 runs them back to back. */
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
  /** The timer of the next probe; `undefined` while a probe is running and before the first. */
  #timer: Timer | undefined;
  #isProbing = false;
  /** The health that a dial has found since the running probe began. */
  #found: Exclude<Health, 'unknown'> | undefined;
  /** Time at which the next probe begins, if the timer is set. */
  #dueAt = 0;
  /** Time at which the last probe that a dial has caused began, or will begin. */
  #checkedAt = -Infinity;

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

  /** Probes at once and then periodically until `stop`; no effect after `stop`. */
  start(): void {
    if (this.#stopping.signal.aborted) return;
    void this.#probeOnce();
  }

  /**
   * Starts the next probe at once when a dial contradicts the known health; no effect before `start`. One probe runs at
   * a time, and dials cause at most one per second, however many they are.
   *
   * @param found the health that the dial has found
   */
  check(found: Exclude<Health, 'unknown'>): void {
    if (this.#health === found || this.#stopping.signal.aborted) return;
    if (this.#isProbing) this.#found = found;
    else if (this.#timer) this.#probeSoon();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopping.abort(new Error('the prober has stopped'));
  }

  /** Brings the next probe forward. */
  #probeSoon(): void {
    const { clock } = this.#options;
    const now = clock.now();
    const at = Math.max(this.#checkedAt + LEAST_CHECK_MS, now);
    if (at >= this.#dueAt) return;
    this.#checkedAt = at;
    this.#timer?.cancel();
    if (at === now) void this.#probeOnce();
    else this.#probeAt(at);
  }

  #probeAt(time: number): void {
    const { clock } = this.#options;
    this.#dueAt = time;
    this.#timer = clock.after(time - clock.now(), () => void this.#probeOnce());
  }

  async #probeOnce(): Promise<void> {
    const { clock, timeoutMs, intervalMs, probe } = this.#options;
    this.#timer = undefined;
    this.#isProbing = true;
    this.#found = undefined;
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
    this.#isProbing = false;
    if (this.#stopping.signal.aborted) return;
    this.#probeAt(clock.now() + intervalMs);
    if (this.#found) this.check(this.#found);
  }

  /** Logs changes of the health only. @param error the reason why the probe failed */
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
