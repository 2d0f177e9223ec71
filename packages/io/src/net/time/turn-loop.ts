import type { Clock, Timer } from './clock.ts';

/** Runs a task later, once per call. */
export type Defer = (task: () => void) => void;

/** Runs a task when the current callback of the event loop has returned and its promise reactions have run. */
const afterCallback: Defer = (task) => {
  process.nextTick(task);
};

/** Runs a task in the next turn of the event loop, after its I/O. */
export const inNextTurn: Defer = (task) => {
  setImmediate(task);
};

/** The core that a `TurnLoop` runs. */
export interface TurnHandlers {
  /** Does the pending work, at most the share of one turn. */
  turn(): void;
  /** Whether the last turn left work for another one. */
  hasMore(): boolean;
  /** Returns the earliest deadline in milliseconds of the clock, or a time before it; Infinity for none. */
  nextTimeout(): number;
  /** Handles deadlines that have passed. A turn follows. */
  onTimeout(now: number): void;
}

export interface TurnLoopOptions {
  readonly clock: Clock;
  readonly handlers: TurnHandlers;
  /** Defers a scheduled turn; `afterCallback` by default. */
  readonly soon?: Defer | undefined;
  /** Defers the rest of a turn: `inNextTurn` by default, so that other I/O comes in between. */
  readonly later?: Defer | undefined;
}

/**
 * Runs the turns of a core, such as a protocol's: at once, scheduled, or at its earliest deadline, with one timer for
 * all deadlines. Work that a turn leaves runs in another one.
 *
 * If a turn throws, the error goes to the caller, and the rest and the deadlines are still scheduled.
 */
export class TurnLoop {
  readonly #clock: Clock;
  readonly #handlers: TurnHandlers;
  readonly #soon: Defer;
  readonly #later: Defer;
  #isRunning = false;
  #isScheduled = false;
  #isStopped = false;
  #timer: Timer | undefined;
  /** Time at which the timer fires; Infinity without one. */
  #armedFor = Infinity;

  constructor({ clock, handlers, soon = afterCallback, later = inNextTurn }: TurnLoopOptions) {
    this.#clock = clock;
    this.#handlers = handlers;
    this.#soon = soon;
    this.#later = later;
  }

  /** Runs a turn now; without effect during a turn. */
  readonly run = (): void => {
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    const handlers = this.#handlers;
    try {
      handlers.turn();
    } finally {
      this.#isRunning = false;
      if (handlers.hasMore()) this.#defer(this.#later);
      this.arm();
    }
  };

  /** Schedules a turn, one for any number of calls; without effect during a turn, which will see the reason itself. */
  schedule(): void {
    if (!this.#isRunning) this.#defer(this.#soon);
  }

  /** Sets the timer for the earliest deadline, unless it fires before that anyway. Every turn ends with this. */
  arm(): void {
    if (this.#isStopped) return;
    const at = this.#handlers.nextTimeout();
    if (at === Infinity || at < this.#armedFor) this.#timer?.cancel();
    else return;
    this.#armedFor = at;
    // Timers have whole milliseconds, and a deadline that has passed must not starve everything else.
    const delay = Math.max(1, Math.ceil(at - this.#clock.now()));
    this.#timer = at === Infinity ? undefined : this.#clock.after(delay, this.#onTimer);
  }

  /** Stops the loop: no further turn runs. Idempotent. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #defer(defer: Defer): void {
    if (this.#isScheduled || this.#isStopped) return;
    this.#isScheduled = true;
    defer(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false;
    this.run();
  };

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    this.#armedFor = Infinity;
    try {
      this.#handlers.onTimeout(this.#clock.now());
    } finally {
      this.run();
    }
  };
}
