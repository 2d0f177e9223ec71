import type { Clock, Timer } from '../../net/time/clock.ts';

export interface NotifierOptions {
  readonly clock: Clock;
  readonly pid: number;
  /** CLOCK_MONOTONIC in microseconds. */
  readonly monotonic: () => bigint;
  /** Interval in milliseconds within which the watchdog has to be notified; `undefined` without a watchdog. */
  readonly watchdogMs: number | undefined;
  /** Sends without blocking; returns false when it has to be tried again. */
  readonly send: (state: string) => boolean;
}

/** Interval of `EXTEND_TIMEOUT_USEC` during a start, a drain and a long stop. */
const EXTEND_EVERY_MS = 5_000;
/** The time that each of these requests. */
const EXTENSION_MS = 30_000;
/** No more time is requested for a start that takes longer. */
const LONGEST_START_MS = 300_000;

/** Interval of retries while the queue of the manager is full. */
const RETRY_MS = 50;
/** States in the queue; the oldest are dropped. */
const MAX_WAITING = 16;

/** systemd reads at most 4096 bytes. */
const MAX_STATUS = 800;

/**
 * Notifies the service manager of the state of the process: sd_notify(3).
 *
 * The watchdog is notified by a timer, so notifications stop when the event loop does.
 */
export class ServiceNotifier {
  readonly #options: NotifierOptions;
  /** The next request of more time. */
  #extension: Timer | undefined;
  /** The next notification of the watchdog. */
  #life: Timer | undefined;
  #retry: Timer | undefined;
  readonly #waiting: string[] = [];
  #reloads = 0;
  #phase: 'before' | 'starting' | 'ready' | 'stopping' = 'before';

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** The start begins; until `ready`, more time is requested. */
  starting(status: string): void {
    this.#phase = 'starting';
    this.#post([statusLine(status)]);
    this.#extend(LONGEST_START_MS);
  }

  /** Every listener accepts. */
  ready(status: string): void {
    if (this.#phase === 'stopping') return;
    this.#phase = 'ready';
    this.#post(['READY=1', `MAINPID=${this.#options.pid}`, statusLine(status)]);
    this.#extension?.cancel();
    this.#showLife();
  }

  /** A reload begins. Several at a time are one for the manager. */
  reloading(status: string): void {
    this.#reloads++;
    if (this.#reloads > 1 || this.#phase !== 'ready') return;
    this.#post(['RELOADING=1', `MONOTONIC_USEC=${this.#options.monotonic()}`, statusLine(status)]);
  }

  /** A reload has ended, successfully or not. */
  reloaded(status: string): void {
    this.#reloads--;
    if (this.#reloads > 0 || this.#phase !== 'ready') return;
    this.#post(['READY=1', statusLine(status)]);
  }

  /** A drain begins: until it ends or the process stops, more time is requested, for a stop that waits for it. */
  draining(status: string): void {
    if (this.#phase !== 'ready') return;
    this.#post([statusLine(status)]);
    this.#extend(Infinity);
  }

  /** A drain was taken back. */
  accepting(status: string): void {
    if (this.#phase !== 'ready') return;
    this.#extension?.cancel();
    this.#post([statusLine(status)]);
  }

  /** @param forMs how long more time is requested: a stop may take longer than the manager waits */
  stopping(status: string, forMs = 0): void {
    this.#extension?.cancel();
    this.#phase = 'stopping';
    this.#post(['STOPPING=1', statusLine(status)]);
    if (forMs > 0) this.#extend(forMs);
  }

  /** Sends nothing from now on. */
  close(): void {
    this.#extension?.cancel();
    this.#life?.cancel();
    this.#retry?.cancel();
    this.#waiting.length = 0;
  }

  /** Requests more time, again and again for `forMs`. */
  #extend(forMs: number): void {
    this.#extension = this.#options.clock.after(EXTEND_EVERY_MS, () => {
      const leftMs = forMs - EXTEND_EVERY_MS;
      if (leftMs < 0) return;
      // First: without the next one a failure would end the service.
      this.#extend(leftMs);
      this.#post([`EXTEND_TIMEOUT_USEC=${EXTENSION_MS * 1000}`]);
    });
  }

  #showLife(): void {
    const { clock, watchdogMs } = this.#options;
    if (watchdogMs === undefined) return;
    this.#life = clock.after(watchdogMs / 2, () => {
      this.#showLife();
      this.#post(['WATCHDOG=1']);
    });
  }

  #post(assignments: readonly string[]): void {
    const state = assignments.join('\n');
    if (this.#waiting.length === 0 && this.#options.send(state)) return;
    if (this.#waiting.includes(state)) return;
    this.#waiting.push(state);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#tryAgain();
  }

  #tryAgain(): void {
    this.#retry ??= this.#options.clock.after(RETRY_MS, () => {
      this.#retry = undefined;
      for (const state of this.#waiting.splice(0)) this.#post(state.split('\n'));
    });
  }
}

const statusLine = (status: string): string =>
  `STATUS=${status.replaceAll(/\s+/g, ' ').slice(0, MAX_STATUS)}`;
