import { asError } from '@weir/base';
import { type Clock, type Defer, TurnLoop } from '@weir/io/time';
import { DeadlineQueue, type Scheduled } from '@weir/base/timers';
import type { BatchOwner } from '@weir/io/datagrams';
import type { QuicCore } from '../connection/quic-core.ts';
import { EVENTS_A_TURN, SENT_BYTES_A_TURN } from '../limits.ts';
import type { OutgoingBatches } from './outgoing-batches.ts';
import type { SharedWork } from '../packets/turn-work.ts';

/** A connection, as seen by the loop that serves it. */
export interface Served extends Scheduled, BatchOwner {
  readonly core: Pick<QuicCore, 'transmit' | 'nextTimeout' | 'onTimeout'>;
  readonly wire: { bytesWritten: number };
  /** Whether the connection waits for its turn; changed by the loop alone. */
  isQueued: boolean;
  /**
   * Handles events of the core.
   * @param limit most events to handle; when as many were handled, there may be more.
   * @returns the number of events handled.
   */
  handleEvents(limit: number): number;
  /** Ends the connection at once without sending anything. */
  abandon(): void;
}

export interface DriverOptions {
  readonly clock: Clock;
  readonly outgoing: OutgoingBatches;
  /** Called at the end of each turn. */
  readonly onTurnEnd: () => void;
  readonly soon: Defer;
  /** The work of all connections since the last turn; each turn resets it. */
  readonly sharedWork: SharedWork;
}

/**
 * Serves the connections of one socket: delivers their events, sends their packets, and handles their deadlines.
 *
 * Ready connections send one batch each in turn, until none has anything to send, the socket is full,
 * `SENT_BYTES_A_TURN` are sent, or `EVENTS_A_TURN` are handled; the rest waits for the next turn of the event loop.
 */
export class Driver {
  readonly #clock: Clock;
  readonly #outgoing: OutgoingBatches;
  readonly #onTurnEnd: () => void;
  readonly #soon: Defer;
  readonly #sharedWork: SharedWork;
  readonly #deadlines = new DeadlineQueue<Served>();
  /** Connections to serve in the next round. */
  #ready: Served[] = [];
  /** Connections of the current round; the arrays are swapped. */
  #round: Served[] = [];
  readonly #turns: TurnLoop;
  /** Events that may still be handled in this turn. */
  #events = 0;

  constructor({ clock, outgoing, onTurnEnd, soon, sharedWork }: DriverOptions) {
    this.#clock = clock;
    this.#outgoing = outgoing;
    this.#onTurnEnd = onTurnEnd;
    this.#soon = soon;
    this.#sharedWork = sharedWork;
    this.#turns = new TurnLoop({
      clock,
      handlers: {
        turn: () => this.#turn(),
        // A full socket calls back when it has room; events do not wait for it.
        hasMore: () => this.#ready.length > 0 && (this.#events === 0 || !this.#outgoing.isBlocked),
        nextTimeout: () => this.#deadlines.earliest,
        onTimeout: (now) => this.#onTimeout(now),
      },
      soon,
      later: soon,
    });
  }

  /** Whether no connection is ready, and the socket is not full. */
  get isIdle(): boolean {
    return this.#ready.length === 0 && !this.#outgoing.isBlocked;
  }

  /** Schedules a connection that has events or packets: it is served in this turn or the next one. */
  touch(connection: Served): void {
    this.#enqueue(connection);
    this.#turns.schedule();
  }

  /** Ends a connection, and only that one, after an error in it, which is reported as an uncaught exception. */
  fail(connection: Served, error: unknown): void {
    this.#report(error);
    try {
      connection.abandon();
    } catch (another) {
      this.#report(another);
    }
  }

  /** Serves all ready connections now. */
  run(): void {
    this.#turns.run();
  }

  /** Removes the deadline of a connection that has ended. */
  remove(connection: Served): void {
    this.#deadlines.remove(connection);
  }

  stop(): void {
    this.#turns.stop();
    this.#ready = [];
  }

  #turn(): void {
    this.#sharedWork.frames = 0;
    let budget = SENT_BYTES_A_TURN;
    this.#events = EVENTS_A_TURN;
    do {
      budget -= this.#runRound(budget);
    } while (this.#ready.length > 0 && budget > 0 && this.#events > 0 && !this.#outgoing.isBlocked);
    this.#outgoing.flush();
    this.#onTurnEnd();
  }

  /** Serves each ready connection once. Returns the number of bytes sent. */
  #runRound(budget: number): number {
    [this.#round, this.#ready] = [this.#ready, this.#round];
    const now = this.#clock.now();
    let sent = 0;
    for (const connection of this.#round) {
      connection.isQueued = false;
      try {
        this.#events -= connection.handleEvents(this.#events);
        if (this.#events === 0 || this.#outgoing.isBlocked || sent >= budget)
          this.#enqueue(connection);
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

  /** Sends one batch of a connection. Returns its bytes; 0 when there is nothing to send. */
  #serve(connection: Served, now: number): number {
    const batch = this.#outgoing.next();
    if (connection.core.transmit(now, batch)) {
      const bytes = this.#outgoing.push(connection);
      connection.wire.bytesWritten += bytes;
      this.#enqueue(connection);
      return bytes;
    }
    // Sending may have made room for a writer.
    const handled = connection.handleEvents(this.#events);
    this.#events -= handled;
    if (handled > 0 || this.#events === 0) this.#enqueue(connection);
    else if (!connection.isQueued) {
      this.#deadlines.schedule(connection, connection.core.nextTimeout());
    }
    return 0;
  }

  #enqueue(connection: Served): void {
    if (connection.isQueued) return;
    connection.isQueued = true;
    this.#ready.push(connection);
  }

  #onTimeout(now: number): void {
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
  }
}
