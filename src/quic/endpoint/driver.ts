import { asError } from '../../errors.ts';
import type { Clock, Timer } from '../../net/time/clock.ts';
import type { ConnectionDriver } from './connection-driver.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import { SENT_BYTES_A_TURN } from './limits.ts';
import type { OutgoingBatches } from './outgoing-batches.ts';
import type { SharedWork } from '../packets/turn-work.ts';

/** Runs a task after the present callbacks of the event loop: once for each call. */
export type Soon = (task: () => void) => void;

export const inNextTurn: Soon = (task) => {
  setImmediate(task);
};

export interface DriverOptions {
  readonly clock: Clock;
  readonly outgoing: OutgoingBatches;
  /** Called at the end of each turn. */
  readonly onTurnEnd: () => void;
  readonly soon: Soon;
  /** What the connections have worked since the last turn; it begins anew with each. */
  readonly sharedWork: SharedWork;
}

/**
 * Serves the connections of one socket: events to the protocols above, packets to the socket, and
 * deadlines.
 *
 * Connections that have something to do take turns, one batch each, until none has anything to send,
 * the socket is full, or `SENT_BYTES_A_TURN` are sent; the rest waits for the next turn of the event
 * loop. One timer serves all deadlines.
 */
export class Driver {
  readonly #clock: Clock;
  readonly #outgoing: OutgoingBatches;
  readonly #onTurnEnd: () => void;
  readonly #soon: Soon;
  readonly #sharedWork: SharedWork;
  readonly #deadlines = new DeadlineQueue<ConnectionDriver>();
  /** Those that have something to do, and those of the round that is under way. */
  #ready: ConnectionDriver[] = [];
  #round: ConnectionDriver[] = [];
  #isRunning = false;
  #isScheduled = false;
  #isStopped = false;
  #timer: Timer | undefined;
  #armedFor = Infinity;

  constructor({ clock, outgoing, onTurnEnd, soon, sharedWork }: DriverOptions) {
    this.#clock = clock;
    this.#outgoing = outgoing;
    this.#onTurnEnd = onTurnEnd;
    this.#soon = soon;
    this.#sharedWork = sharedWork;
  }

  /** Whether nothing is left to be sent at present. */
  get isIdle(): boolean {
    return this.#ready.length === 0 && !this.#outgoing.isBlocked;
  }

  /** The connection is served in this turn, or the next one. */
  touch(connection: ConnectionDriver): void {
    this.#enqueue(connection);
    if (!this.#isRunning) this.#schedule();
  }

  /** A defect in what one connection does ends that connection alone, and is reported as uncaught. */
  fail(connection: ConnectionDriver, error: unknown): void {
    this.#report(error);
    try {
      connection.abandon();
    } catch (another) {
      this.#report(another);
    }
  }

  /** Serves what is ready now. */
  readonly run = (): void => {
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    this.#sharedWork.frames = 0;
    try {
      let budget = SENT_BYTES_A_TURN;
      do {
        budget -= this.#runRound(budget);
      } while (this.#ready.length > 0 && budget > 0 && !this.#outgoing.isBlocked);
      this.#outgoing.flush();
    } finally {
      this.#isRunning = false;
      // A full socket calls back when it has room.
      if (this.#ready.length > 0 && !this.#outgoing.isBlocked) this.#schedule();
      this.#arm();
    }
    this.#onTurnEnd();
  };

  /** Nothing is to be done for this connection any more. */
  remove(connection: ConnectionDriver): void {
    this.#deadlines.remove(connection);
  }

  stop(): void {
    this.#isStopped = true;
    this.#ready = [];
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Each ready connection once. Returns the bytes that were sent. */
  #runRound(budget: number): number {
    [this.#round, this.#ready] = [this.#ready, this.#round];
    const now = this.#clock.now();
    let sent = 0;
    for (const connection of this.#round) {
      connection.isQueued = false;
      try {
        connection.handleEvents();
        if (this.#outgoing.isBlocked || sent >= budget) this.#enqueue(connection);
        else sent += this.#serve(connection, now);
      } catch (error) {
        this.fail(connection, error);
      }
    }
    this.#round.length = 0;
    return sent;
  }

  #report(error: unknown): void {
    this.#soon(() => {
      throw asError(error);
    });
  }

  /** Sends one batch, or finds that there is nothing. Returns its bytes. */
  #serve(connection: ConnectionDriver, now: number): number {
    const batch = this.#outgoing.next();
    if (connection.core.transmit(now, batch)) {
      const bytes = this.#outgoing.push(connection);
      connection.wire.bytesWritten += bytes;
      this.#enqueue(connection);
      return bytes;
    }
    // What was sent may have made room for a writer.
    if (connection.handleEvents()) this.#enqueue(connection);
    else if (!connection.isQueued) {
      this.#deadlines.schedule(connection, connection.core.nextTimeout());
    }
    return 0;
  }

  #enqueue(connection: ConnectionDriver): void {
    if (connection.isQueued) return;
    connection.isQueued = true;
    this.#ready.push(connection);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isStopped) return;
    this.#isScheduled = true;
    this.#soon(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#isScheduled = false;
    this.run();
  };

  /** Sets the timer for the earliest deadline, unless it fires before it anyway. */
  #arm(): void {
    const at = this.#deadlines.earliest;
    if (at === Infinity || at < this.#armedFor) this.#timer?.cancel();
    else return;
    this.#armedFor = at;
    // Timers have whole milliseconds, and one that is due already must not starve everything else.
    const delay = Math.max(1, Math.ceil(at - this.#clock.now()));
    this.#timer = at === Infinity ? undefined : this.#clock.after(delay, this.#onTimer);
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    this.#armedFor = Infinity;
    const now = this.#clock.now();
    for (;;) {
      const connection = this.#deadlines.take(now);
      if (connection === undefined) break;
      const deadline = connection.core.nextTimeout();
      if (deadline > now) {
        this.#deadlines.schedule(connection, deadline);
      } else {
        try {
          connection.core.onTimeout(now);
          this.#enqueue(connection);
        } catch (error) {
          this.fail(connection, error);
        }
      }
    }
    this.run();
  };
}
