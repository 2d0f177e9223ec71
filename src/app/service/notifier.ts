import type { Clock, Timer } from '../../net/time/clock.ts';

export interface NotifierOptions {
  readonly clock: Clock;
  readonly pid: number;
  /** CLOCK_MONOTONIC in microseconds. */
  readonly monotonic: () => bigint;
  /** Milliseconds within which the manager expects a sign of life; `undefined` for no watchdog. */
  readonly watchdogMs: number | undefined;
  /** Sends without blocking; false when it has to be tried again. */
  readonly send: (state: string) => boolean;
}

/** While a start goes on, this often it asks for more time. */
const EXTEND_EVERY_MS = 5_000;
/** The time that it asks for, from then on. */
const EXTENSION_MS = 30_000;
/** A start that takes longer is not going to succeed. */
const LONGEST_START_MS = 300_000;

/** Between attempts to send while the queue of the manager is full. */
const RETRY_MS = 50;
/** States that wait for the manager; the oldest are given up. */
const MAX_WAITING = 16;

/** systemd reads at most 4096 bytes. */
const MAX_STATUS = 800;

/**
 * Reports the life of a process to its service manager: sd_notify(3).
 *
 * The watchdog's sign of life is a timer of the event loop, so it stops when the loop does.
 */
export class ServiceNotifier {
  readonly #options: NotifierOptions;
  /** The next extension of a start, or sign of life. */
  #timer: Timer | undefined;
  #retry: Timer | undefined;
  readonly #waiting: string[] = [];
  #reloads = 0;
  #phase: 'before' | 'starting' | 'ready' | 'stopping' = 'before';

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** The start begins; until `ready` the manager is asked for more time. */
  starting(status: string): void {
    this.#phase = 'starting';
    this.#post([statusLine(status)]);
    this.#extend(this.#options.clock.now());
  }

  /** Every listener accepts. */
  ready(status: string): void {
    if (this.#phase === 'stopping') return;
    this.#phase = 'ready';
    this.#post(['READY=1', `MAINPID=${this.#options.pid}`, statusLine(status)]);
    this.#timer?.cancel();
    this.#showLife();
  }

  /** A reload begins. Several may be under way, of which the manager sees one. */
  reloading(status: string): void {
    this.#reloads++;
    if (this.#reloads > 1 || this.#phase !== 'ready') return;
    this.#post(['RELOADING=1', `MONOTONIC_USEC=${this.#options.monotonic()}`, statusLine(status)]);
  }

  /** A reload has ended, whichever way. */
  reloaded(status: string): void {
    this.#reloads--;
    if (this.#reloads > 0 || this.#phase !== 'ready') return;
    this.#post(['READY=1', statusLine(status)]);
  }

  stopping(status: string): void {
    if (this.#phase === 'starting') this.#timer?.cancel();
    this.#phase = 'stopping';
    this.#post(['STOPPING=1', statusLine(status)]);
  }

  /** Sends nothing any more. */
  close(): void {
    this.#timer?.cancel();
    this.#retry?.cancel();
    this.#waiting.length = 0;
  }

  #extend(begun: number): void {
    const { clock } = this.#options;
    this.#timer = clock.after(EXTEND_EVERY_MS, () => {
      if (clock.now() - begun > LONGEST_START_MS) return;
      this.#post([`EXTEND_TIMEOUT_USEC=${EXTENSION_MS * 1000}`]);
      this.#extend(begun);
    });
  }

  #showLife(): void {
    const { clock, watchdogMs } = this.#options;
    if (watchdogMs === undefined) return;
    this.#timer = clock.after(watchdogMs / 2, () => {
      this.#post(['WATCHDOG=1']);
      this.#showLife();
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
