import { setImmediate as turn } from 'node:timers/promises';
import { Fifo } from '@weir/base/collections';
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

interface TurnLoopOptions {
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

/**
 * Work in steps of a fraction of a millisecond, with a result: for `Turns.run`, which spreads it over turns of the
 * event loop, or `atOnce`.
 */
export type Steps<T> = Generator<void, T, void>;

/** Runs all steps at once, for work of few steps. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Items of a step. */
const ITEMS_A_STEP = 64;

/** Calls `each` with every item, which takes some microseconds. */
export function* inSteps<Item>(items: Iterable<Item>, each: (item: Item) => void): Steps<void> {
  let left = ITEMS_A_STEP;
  for (const item of items) {
    each(item);
    if (--left > 0) continue;
    left = ITEMS_A_STEP;
    yield;
  }
}

/** Milliseconds that work may run before it yields. */
const STRETCH_MS = 8;

/** Splits long work into turns of a few milliseconds, between which the event loop runs. */
export class Turns {
  readonly #clock: Clock;
  #since: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** Whether it is time to yield by `next`. */
  get due(): boolean {
    return this.#clock.now() - this.#since >= STRETCH_MS;
  }

  /** Runs all steps, and yields to the event loop whenever it is `due`. Rejects with the error of a step. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (this.due) await this.next();
    }
  }

  /** Waits for one turn of the event loop. */
  async next(): Promise<void> {
    await turn();
    this.#since = this.#clock.now();
  }
}

/**
 * Limits the pieces of work done in one turn of the event loop, by all users together. Promises that settle at once
 * never return to the event loop: without a bound, a loop over received data would run until none is left, and
 * everything else would wait.
 *
 * Work beyond the limit is done in later turns, in the order of its requests.
 */
export class TurnShare {
  readonly #limit: number;
  readonly #later: Defer;
  readonly #waiting = new Fifo<() => void>();
  #left: number;
  #isScheduled = false;

  /** @param limit pieces of work of one turn, at least 1. */
  constructor(limit: number, later: Defer = inNextTurn) {
    this.#limit = limit;
    this.#left = limit;
    this.#later = later;
  }

  /** Takes one piece of this turn; returns a promise of a piece in a later turn when none is left. */
  take(): Promise<void> | undefined {
    this.#schedule();
    if (this.#left > 0) {
      this.#left--;
      return undefined;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#later(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    this.#isScheduled = false;
    this.#left = this.#limit;
    while (this.#left > 0 && this.#waiting.size > 0) {
      this.#left--;
      this.#waiting.shift()?.();
    }
    // The tasks released here use the share of this turn; the next one is for others.
    if (this.#left < this.#limit) this.#schedule();
  };
}

/**
 * Flows of the process that go on in one turn of the event loop after a wait for one result, such as a connection that
 * they share or the address of a name: a dial, its failure and the response to the client take some 50 microseconds,
 * and thousands of flows may wait.
 */
export const FLOWS_RESUMED_A_TURN = 64;

const resumed = new TurnShare(FLOWS_RESUMED_A_TURN);

/** Takes a share of this turn for a flow that goes on; returns a promise of a later turn when none is left. */
export const turnToResume = (): Promise<void> | undefined => resumed.take();

/** Returns the outcome of a result for one of the flows that wait for it, in a turn with a share for the flow. */
export async function resumedInTurns<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } finally {
    const turn = turnToResume();
    if (turn) await turn;
  }
}
