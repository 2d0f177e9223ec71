import type { Space } from './space.ts';
import {
  FIRST_CARRIED_CAPACITY,
  KEPT_CAPACITY,
  MAX_CARRIED,
  MAX_CARRIED_PER_PACKET,
} from './limits.ts';

/** What became of a frame: it arrived, or it has to be sent again as far as it is still needed. */
export type Outcome = 'acknowledged' | 'lost';

/**
 * The owners of what packets carry (RFC 9000 §13.3): the connection and its streams.
 *
 * An owner must be prepared for any sequence: `lost` is also reported for the oldest packets when a
 * probe is due (RFC 9002 §6.2.4), and `acknowledged` for a packet that was taken to be lost. So `lost`
 * means "send it again unless it is known to have arrived", may come more than once, and may be followed by
 * `acknowledged`, but never the other way round for one frame of one packet.
 */
export interface CarriedOwner {
  crypto(outcome: Outcome, space: Space, offset: number, length: number): void;
  stream(outcome: Outcome, id: number, offset: number, length: number, fin: boolean): void;
  resetStream(outcome: Outcome, id: number): void;
  stopSending(outcome: Outcome, id: number): void;
  maxData(outcome: Outcome, limit: number): void;
  maxStreamData(outcome: Outcome, id: number, limit: number): void;
  maxStreams(outcome: Outcome, bidirectional: boolean, limit: number): void;
  dataBlocked(outcome: Outcome, limit: number): void;
  streamDataBlocked(outcome: Outcome, id: number, limit: number): void;
  streamsBlocked(outcome: Outcome, bidirectional: boolean, limit: number): void;
  newConnectionId(outcome: Outcome, sequence: number): void;
  retireConnectionId(outcome: Outcome, sequence: number): void;
  newToken(outcome: Outcome): void;
  handshakeDone(outcome: Outcome): void;
  /** An ACK frame: once it has arrived, ranges up to `largest` need not be reported again (§13.2.4). */
  ack(outcome: Outcome, space: Space, largest: number): void;
  /** DATAGRAM frames are never sent again (RFC 9221 §5). */
  datagram(outcome: Outcome, length: number): void;
  /** A packet of `size` bytes that searched for the path MTU (§14.4). */
  mtuProbe(outcome: Outcome, size: number): void;
}

/** Kinds of rows. Frames that are never sent again (PADDING, PING, PATH_*) have none. */
const Kind = {
  CRYPTO: 0,
  STREAM: 1,
  STREAM_FIN: 2,
  RESET_STREAM: 3,
  STOP_SENDING: 4,
  MAX_DATA: 5,
  MAX_STREAM_DATA: 6,
  MAX_STREAMS_BIDI: 7,
  MAX_STREAMS_UNI: 8,
  DATA_BLOCKED: 9,
  STREAM_DATA_BLOCKED: 10,
  STREAMS_BLOCKED_BIDI: 11,
  STREAMS_BLOCKED_UNI: 12,
  NEW_CONNECTION_ID: 13,
  RETIRE_CONNECTION_ID: 14,
  NEW_TOKEN: 15,
  HANDSHAKE_DONE: 16,
  ACK: 17,
  DATAGRAM: 18,
  MTU_PROBE: 19,
} as const;
type Kind = (typeof Kind)[keyof typeof Kind];

/** The kind, and up to three numbers. */
const ROW = 4;

const NO_ROWS = new Float64Array(0);

/**
 * What the packets of one packet number space carried, in the order of sending: rows of plain numbers
 * in a ring, no object for a frame or a packet.
 *
 * While a packet is assembled, the writers of frames record each with a method of its name. `take` makes
 * them the packet's, `rollback` forgets them when the packet is not sent.
 */
export class CarriedLog {
  readonly #space: Space;
  #rows = NO_ROWS;
  /** 0 before the first frame, and after `free`. */
  #capacity = 0;
  /** Positions grow for ever; a row is at its position modulo the capacity. */
  #head = 0;
  #open = 0;
  #tail = 0;

  constructor(space: Space) {
    this.#space = space;
  }

  /** The position of the first row of the packet that is being assembled. */
  get start(): number {
    return this.#open;
  }

  /** Rows of the packet that is being assembled. */
  get count(): number {
    return this.#tail - this.#open;
  }

  /** Whether a packet has as many rows as it may have: writers stop, and go on with the next packet. */
  get isPacketFull(): boolean {
    return this.count >= MAX_CARRIED_PER_PACKET;
  }

  /** Whether packets have to be acknowledged or lost before another one may be assembled. */
  get isFull(): boolean {
    return this.#tail - this.#head + MAX_CARRIED_PER_PACKET > MAX_CARRIED;
  }

  /** Rows that there is memory for, for checks. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Rows of packets that are still known. */
  get size(): number {
    return this.#tail - this.#head;
  }

  crypto(offset: number, length: number): void {
    this.#append(Kind.CRYPTO, offset, length, 0);
  }

  stream(id: number, offset: number, length: number, fin: boolean): void {
    this.#append(fin ? Kind.STREAM_FIN : Kind.STREAM, id, offset, length);
  }

  resetStream(id: number): void {
    this.#append(Kind.RESET_STREAM, id, 0, 0);
  }

  stopSending(id: number): void {
    this.#append(Kind.STOP_SENDING, id, 0, 0);
  }

  maxData(limit: number): void {
    this.#append(Kind.MAX_DATA, limit, 0, 0);
  }

  maxStreamData(id: number, limit: number): void {
    this.#append(Kind.MAX_STREAM_DATA, id, limit, 0);
  }

  maxStreams(bidirectional: boolean, limit: number): void {
    this.#append(bidirectional ? Kind.MAX_STREAMS_BIDI : Kind.MAX_STREAMS_UNI, limit, 0, 0);
  }

  dataBlocked(limit: number): void {
    this.#append(Kind.DATA_BLOCKED, limit, 0, 0);
  }

  streamDataBlocked(id: number, limit: number): void {
    this.#append(Kind.STREAM_DATA_BLOCKED, id, limit, 0);
  }

  streamsBlocked(bidirectional: boolean, limit: number): void {
    this.#append(bidirectional ? Kind.STREAMS_BLOCKED_BIDI : Kind.STREAMS_BLOCKED_UNI, limit, 0, 0);
  }

  newConnectionId(sequence: number): void {
    this.#append(Kind.NEW_CONNECTION_ID, sequence, 0, 0);
  }

  retireConnectionId(sequence: number): void {
    this.#append(Kind.RETIRE_CONNECTION_ID, sequence, 0, 0);
  }

  newToken(): void {
    this.#append(Kind.NEW_TOKEN, 0, 0, 0);
  }

  handshakeDone(): void {
    this.#append(Kind.HANDSHAKE_DONE, 0, 0, 0);
  }

  /** @param largest the largest packet number that the ACK frame acknowledges. */
  ack(largest: number): void {
    this.#append(Kind.ACK, largest, 0, 0);
  }

  datagram(length: number): void {
    this.#append(Kind.DATAGRAM, length, 0, 0);
  }

  mtuProbe(size: number): void {
    this.#append(Kind.MTU_PROBE, size, 0, 0);
  }

  /** The packet that is being assembled is sent: what follows belongs to the next one. */
  take(): void {
    this.#open = this.#tail;
  }

  /** The packet that is being assembled is not sent. */
  rollback(): void {
    this.#tail = this.#open;
  }

  /** Forgets the rows before a position. */
  release(position: number): void {
    this.#head = position;
    if (this.#head === this.#tail && this.#capacity > KEPT_CAPACITY) {
      this.#resize(FIRST_CARRIED_CAPACITY);
    }
  }

  /** Keeps no more memory than its rows need, after a burst. */
  trim(): void {
    let capacity = FIRST_CARRIED_CAPACITY;
    while (capacity < this.size) capacity *= 2;
    if (capacity < this.#capacity) this.#resize(capacity);
  }

  /** Frees the memory, once every row was released; it comes back with the next frame. */
  free(): void {
    if (this.size === 0) this.#resize(0);
  }

  /** Reports the rows of one packet to their owners. */
  settle(outcome: Outcome, start: number, count: number, owner: CarriedOwner): void {
    for (let position = start; position < start + count; position++) {
      this.#settleRow(outcome, (position % this.#capacity) * ROW, owner);
    }
  }

  #settleRow(outcome: Outcome, at: number, owner: CarriedOwner): void {
    const rows = this.#rows;
    const kind = rows[at] as Kind; // within the ring, and written by #append; here and below
    const a = rows[at + 1] as number;
    const b = rows[at + 2] as number;
    const c = rows[at + 3] as number;
    switch (kind) {
      case Kind.CRYPTO:
        owner.crypto(outcome, this.#space, a, b);
        break;
      case Kind.STREAM:
        owner.stream(outcome, a, b, c, false);
        break;
      case Kind.STREAM_FIN:
        owner.stream(outcome, a, b, c, true);
        break;
      case Kind.RESET_STREAM:
        owner.resetStream(outcome, a);
        break;
      case Kind.STOP_SENDING:
        owner.stopSending(outcome, a);
        break;
      case Kind.MAX_DATA:
        owner.maxData(outcome, a);
        break;
      case Kind.MAX_STREAM_DATA:
        owner.maxStreamData(outcome, a, b);
        break;
      case Kind.MAX_STREAMS_BIDI:
        owner.maxStreams(outcome, true, a);
        break;
      case Kind.MAX_STREAMS_UNI:
        owner.maxStreams(outcome, false, a);
        break;
      case Kind.DATA_BLOCKED:
        owner.dataBlocked(outcome, a);
        break;
      case Kind.STREAM_DATA_BLOCKED:
        owner.streamDataBlocked(outcome, a, b);
        break;
      case Kind.STREAMS_BLOCKED_BIDI:
        owner.streamsBlocked(outcome, true, a);
        break;
      case Kind.STREAMS_BLOCKED_UNI:
        owner.streamsBlocked(outcome, false, a);
        break;
      case Kind.NEW_CONNECTION_ID:
        owner.newConnectionId(outcome, a);
        break;
      case Kind.RETIRE_CONNECTION_ID:
        owner.retireConnectionId(outcome, a);
        break;
      case Kind.NEW_TOKEN:
        owner.newToken(outcome);
        break;
      case Kind.HANDSHAKE_DONE:
        owner.handshakeDone(outcome);
        break;
      case Kind.ACK:
        owner.ack(outcome, this.#space, a);
        break;
      case Kind.DATAGRAM:
        owner.datagram(outcome, a);
        break;
      case Kind.MTU_PROBE:
        owner.mtuProbe(outcome, a);
        break;
      default:
        kind satisfies never;
    }
  }

  #append(kind: Kind, a: number, b: number, c: number): void {
    if (this.#tail - this.#head === this.#capacity) {
      this.#resize(Math.max(FIRST_CARRIED_CAPACITY, this.#capacity * 2));
    }
    const rows = this.#rows;
    const at = (this.#tail++ % this.#capacity) * ROW;
    rows[at] = kind;
    rows[at + 1] = a;
    rows[at + 2] = b;
    rows[at + 3] = c;
  }

  #resize(capacity: number): void {
    const rows = new Float64Array(capacity * ROW);
    for (let position = this.#head; position < this.#tail; position++) {
      const from = (position % this.#capacity) * ROW;
      rows.set(this.#rows.subarray(from, from + ROW), (position % capacity) * ROW);
    }
    this.#rows = rows;
    this.#capacity = capacity;
  }
}
