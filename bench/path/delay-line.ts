import {
  type DatagramSocket,
  type ReceivedDatagrams,
  type Transmit,
  blankEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';
import type { SeededRandom } from '../../test/support/simnet/seeded-random.ts';
import type { Path } from './messages.ts';

/** Larger datagrams do not fit a packet of 1,500 bytes, and are dropped as most paths would. */
const MTU_PAYLOAD = 1472;
/** Trains of datagrams under way, a power of two. */
const TRAINS = 1 << 16;
const BATCH = 64;

/** What became of datagrams. */
export interface Tally {
  passed: number;
  lost: number;
  /** Dropped for want of room, which a path that is not the limit does not do. */
  full: number;
}

type MutableTransmit = { -readonly [key in keyof Transmit]: Transmit[key] };

/**
 * One direction of the path for one client: loss, a bottleneck with a queue, then a delay.
 *
 * All datagrams are delayed alike, hence they leave in order, and a ring is all that is needed.
 * Those that arrive as one record (UDP GRO) leave as one transmit: a train. Their bytes are copied
 * once, and the lost ones left out of it.
 */
export class DelayLine {
  readonly #path: Path;
  readonly #random: SeededRandom;
  readonly #tally: Tally;
  readonly #arena: Uint8Array;
  readonly #due = new Float64Array(TRAINS);
  readonly #offset = new Int32Array(TRAINS);
  readonly #length = new Int32Array(TRAINS);
  readonly #stride = new Int32Array(TRAINS);
  readonly #transmits: readonly MutableTransmit[];
  #socket: DatagramSocket | undefined;
  #destination: IpEndpoint = blankEndpoint();
  /** Numbers of the first train under way and of the next one, counted without end. */
  #first = 0;
  #next = 0;
  /** Where the next train's bytes go in the arena. */
  #writeAt = 0;
  /** Bytes of the first train that the socket has taken. */
  #sentBytes = 0;
  #freeAt = 0;
  #untilLoss: number;
  #blocked = false;

  constructor(path: Path, random: SeededRandom, tally: Tally) {
    this.#path = path;
    this.#random = random;
    this.#tally = tally;
    const underWay = path.queue + (path.rate * path.roundTrip) / 2000;
    this.#arena = new Uint8Array(2 * underWay + (1 << 20));
    this.#transmits = Array.from({ length: BATCH }, () => ({
      destination: this.#destination,
      buffer: this.#arena,
      offset: 0,
      length: 0,
      segmentSize: 0,
      source: undefined,
      ecn: 0 as const,
    }));
    this.#untilLoss = this.#drawLoss();
  }

  /** Where the datagrams go. Until then none leaves. */
  open(socket: DatagramSocket, destination: IpEndpoint): void {
    this.#socket = socket;
    this.#destination = destination;
  }

  /** When the next datagram leaves; Infinity when there is none, or the socket has no room. */
  get due(): number {
    if (this.#first === this.#next || this.#blocked || !this.#socket) return Infinity;
    return this.#due[this.#first & (TRAINS - 1)] ?? Infinity;
  }

  /** Takes what was received at `now`, in milliseconds. */
  take({ buffer, offset, length, stride }: ReceivedDatagrams, now: number): void {
    const room = this.#room(length);
    const count = Math.max(1, Math.ceil(length / stride));
    const waiting = Math.max(0, this.#freeAt - now) * (this.#path.rate / 1000);
    if (stride > MTU_PAYLOAD || room < 0 || waiting + length > this.#path.queue) {
      this.#tally.full += count;
      return;
    }
    // Runs between losses are copied in one piece.
    let at = room;
    let from = 0;
    for (let i = 0; i < count; i++) {
      if (this.#untilLoss-- > 0) continue;
      this.#untilLoss = this.#drawLoss();
      this.#tally.lost++;
      at = this.#copy(buffer, offset + from, i * stride - from, at);
      from = Math.min(length, (i + 1) * stride);
    }
    at = this.#copy(buffer, offset + from, length - from, at);
    const kept = at - room;
    if (kept === 0) return;
    this.#tally.passed += Math.ceil(kept / stride);
    this.#freeAt = Math.max(this.#freeAt, now) + (kept / this.#path.rate) * 1000;
    const slot = this.#next++ & (TRAINS - 1);
    this.#due[slot] = this.#freeAt + this.#path.roundTrip / 2;
    this.#offset[slot] = room;
    this.#length[slot] = kept;
    this.#stride[slot] = stride;
    this.#writeAt = at;
  }

  /** Sends what is due at `now`. */
  release(now: number): void {
    while (this.due <= now) {
      let count = 0;
      while (count < BATCH && this.#first + count < this.#next) {
        const slot = (this.#first + count) & (TRAINS - 1);
        const transmit = this.#transmits[count];
        if (!transmit || (this.#due[slot] ?? 0) > now) break;
        transmit.destination = this.#destination;
        transmit.offset = this.#offset[slot] ?? 0;
        transmit.length = this.#length[slot] ?? 0;
        transmit.segmentSize = this.#stride[slot] ?? 0;
        count++;
      }
      const result = this.#socket?.send(this.#transmits, count, this.#sentBytes);
      if (!result) return;
      this.#first += result.done;
      this.#sentBytes = result.sentBytes;
      this.#blocked = result.full;
    }
  }

  /** The socket has room again. */
  unblock(now: number): void {
    this.#blocked = false;
    this.release(now);
  }

  /** Where so many bytes fit into the arena in one piece, or -1. */
  #room(length: number): number {
    if (this.#first === this.#next) return 0;
    if (this.#next - this.#first === TRAINS) return -1;
    const readAt = this.#offset[this.#first & (TRAINS - 1)] ?? 0;
    if (this.#writeAt > readAt) {
      if (this.#arena.length - this.#writeAt >= length) return this.#writeAt;
      return readAt > length ? 0 : -1;
    }
    return readAt - this.#writeAt > length ? this.#writeAt : -1;
  }

  /** @returns where the next bytes go. */
  #copy(buffer: Uint8Array, from: number, length: number, at: number): number {
    if (length <= 0) return at;
    this.#arena.set(buffer.subarray(from, from + length), at);
    return at + length;
  }

  /** Datagrams that pass until the next one is lost: one draw for each loss, not for each datagram. */
  #drawLoss(): number {
    const { loss } = this.#path;
    if (loss <= 0) return Infinity;
    return Math.floor(Math.log(1 - this.#random.fraction()) / Math.log(1 - loss));
  }
}
