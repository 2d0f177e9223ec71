import { asError } from '@weir/base';
import { type Clock, type Defer, TurnLoop } from '@weir/io/time';
import { DeadlineQueue, type Scheduled } from '@weir/base/timers';
import {
  type BatchOwner,
  MAX_BATCH_BYTES,
  MAX_BATCH_DATAGRAMS,
  TransmitBatch,
  TransmitQueue,
} from '@weir/io/datagrams';
import type { QuicCore } from '../connection/quic-core.ts';
import { EVENTS_A_TURN, SENT_BYTES_A_TURN } from '../limits.ts';
import type { SharedWork } from '../packets/turn-work.ts';
import type { DatagramSocket } from '@weir/base/ip';

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

  /**
   * @param onTurnEnd called at the end of each turn.
   * @param sharedWork the work of all connections since the last turn; each turn resets it.
   */
  constructor(
    clock: Clock,
    outgoing: OutgoingBatches,
    soon: Defer,
    sharedWork: SharedWork,
    onTurnEnd: () => void,
  ) {
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

/**
 * Transforms UDP payloads so that they do not look like QUIC. It is applied to every datagram of an endpoint,
 * in both directions.
 */
export interface PacketObfuscation {
  /** Bytes that obfuscation adds to each datagram; they are subtracted from the MTU of QUIC. */
  readonly overhead: number;
  /** Writes the obfuscated `datagram` into `out` from `at` on, and returns its length. The two do not overlap. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number;
  /**
   * Recovers the payload, in the memory of the argument, which is changed in place; `undefined` when it cannot be a
   * datagram of this obfuscation.
   */
  open(datagram: Uint8Array): Uint8Array | undefined;
}

/** Batches of all connections queued for the socket, obfuscated if configured. */
export class OutgoingBatches {
  readonly #queue: TransmitQueue;
  readonly #obfuscation: PacketObfuscation | undefined;
  /**
   * The batch that connections fill, before it is obfuscated into a batch of the queue; `undefined` without
   * obfuscation, when connections fill that.
   */
  readonly #plain: TransmitBatch | undefined;

  constructor(socket: DatagramSocket, obfuscation: PacketObfuscation | undefined) {
    this.#queue = new TransmitQueue(socket, obfuscation?.overhead);
    this.#obfuscation = obfuscation;
    if (obfuscation) {
      const room = MAX_BATCH_BYTES - MAX_BATCH_DATAGRAMS * obfuscation.overhead;
      this.#plain = new TransmitBatch(room);
    }
  }

  /** Whether the send buffer is full: nothing may be pushed until `onWritable`. */
  get isBlocked(): boolean {
    return this.#queue.isBlocked;
  }

  /** Returns the batch to fill next; `push` sends it. Not while the socket is blocked. */
  next(): TransmitBatch {
    return this.#plain ?? this.#queue.current;
  }

  /** Queues the batch that `next` returned. Returns its bytes on the wire, obfuscation included. */
  push(owner: BatchOwner | undefined): number {
    const batch = this.#queue.current;
    if (this.#plain && this.#obfuscation) seal(this.#plain, batch, this.#obfuscation);
    batch.owner = owner;
    const { length } = batch;
    this.#queue.push();
    return length;
  }

  /** Called when there is room in the socket again. */
  onWritable(): void {
    this.#queue.unblock();
    this.#queue.flush();
  }

  /** Sends the pending batches, as far as the socket has room. */
  flush(): void {
    this.#queue.flush();
  }
}

/** Obfuscates each datagram of a batch into another batch. */
function seal(from: TransmitBatch, to: TransmitBatch, obfuscation: PacketObfuscation): void {
  to.begin(from.destination, from.source);
  const size = from.segmentSize === 0 ? from.length : from.segmentSize;
  let at = 0;
  for (let start = 0; start < from.length; start += size) {
    const datagram = from.buffer.subarray(start, Math.min(start + size, from.length));
    at += obfuscation.seal(datagram, to.buffer, at);
  }
  to.length = at;
  to.segmentSize = from.segmentSize === 0 ? 0 : size + obfuscation.overhead;
  to.ecn = from.ecn;
}
