import type { Clock, Timer } from '../../net/time/clock.ts';
import { DeadlineError } from '../../net/errors.ts';

/** Milliseconds without received data, while questions are pending, after which a connection is considered dead. */
const SILENCE_MS = 4000;
/** Milliseconds after which a connection without questions is closed (RFC 7858 §3.4). */
const IDLE_MS = 30_000;

/** Ends a kept connection that is dead or idle. One timer at a time. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #end: (cause?: Error) => void;
  #timer: Timer | undefined;
  #waiting = 0;
  #heard = false;
  #stopped = false;

  constructor(clock: Clock, end: (cause?: Error) => void) {
    this.#clock = clock;
    this.#end = end;
    this.#rest();
  }

  /** Called when a question was sent. */
  asked(): void {
    if (++this.#waiting === 1) this.#watch();
  }

  /** Called when data was received. */
  heard(): void {
    this.#heard = true;
  }

  /** Called when a question was answered or abandoned. */
  settled(): void {
    if (--this.#waiting === 0) this.#rest();
  }

  /** Called when the connection has ended. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Checks periodically, while questions are pending, whether data was received. */
  #watch(): void {
    this.#heard = false;
    this.#schedule(SILENCE_MS, () => {
      if (this.#heard) this.#watch();
      else this.#end(new DeadlineError('no answer'));
    });
  }

  #rest(): void {
    this.#schedule(IDLE_MS, () => this.#end());
  }

  #schedule(after: number, callback: () => void): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.#clock.after(after, callback);
  }
}
