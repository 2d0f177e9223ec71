import { SentFacts } from '@weir/congestion';
import {
  FIRST_PACKET_CAPACITY,
  KEPT_CAPACITY,
  MAX_PACKETS,
  RESERVED_PACKETS,
  FIRST_FRAME_CAPACITY,
  MAX_FRAMES,
  MAX_FRAMES_PER_PACKET,
} from '../limits.ts';
import type { DeliveryListener, FrameLog } from './delivery.ts';

/** Properties of a sent packet, as bits. A packet without any needs no acknowledgement. */
export const PacketFlag = {
  ACK_ELICITING: 1,
  /** The packet counts in flight on the path in use. */
  COUNTED: 2,
  ECT0: 4,
  MTU_PROBE: 8,
  /** The packet was sent on a path that is not in use. */
  OFF_PATH: 16,
  /** The packet was declared lost; it may still be acknowledged. */
  LOST: 32,
  /** The packet was acknowledged, or is of no further interest. */
  DONE: 64,
} as const;

const NO_FACTS = new SentFacts(0);
const NO_BYTES = new Uint8Array(0);
const NO_COUNTS = new Uint16Array(0);
const NO_NUMBERS = new Float64Array(0);

/**
 * The sent packets of one packet number space, in a ring by packet number, from `base`, the oldest that is still of
 * interest, up to `next`. The columns are typed arrays: nothing is allocated for a packet.
 *
 * `find` skips runs of packets that are done in near-constant time, so that an ACK frame, which repeats earlier ranges,
 * costs no more than the packets that it newly acknowledges.
 */
export class SentPackets {
  /** Allocated capacity in packets; 0 before the first packet, and after `free`. */
  capacity = 0;
  /** The packets' rate samples, by `slot(number)`. The object changes when the ring grows. */
  facts = NO_FACTS;
  #flags = NO_BYTES;
  #bytes = NO_COUNTS;
  #sentAt = NO_NUMBERS;
  #lostAt = NO_NUMBERS;
  /** The position of a packet's first frame in `SentFrames`, and the number of its frames. */
  #framesStart = NO_NUMBERS;
  #framesCount = NO_COUNTS;
  /** For a packet that is done: a later packet, with only packets that are done between them. */
  #skipTo = NO_NUMBERS;
  /** The oldest packet that is still tracked; `next` when there is none. */
  base = 0;
  /** The number of the next packet. */
  next = 0;

  /** Whether packets other than probes and acknowledgements may be added. */
  get hasRoom(): boolean {
    return this.next - this.base < MAX_PACKETS - RESERVED_PACKETS;
  }

  /** Whether no packet can be added before `base` advances. */
  get isFull(): boolean {
    return this.next - this.base >= MAX_PACKETS;
  }

  /** Returns the slot of a packet between `base` and `next`. */
  slot(number: number): number {
    return number % this.capacity;
  }

  flags(number: number): number {
    return this.#flags[number % this.capacity] as number; // within the ring, here and below
  }

  bytes(number: number): number {
    return this.#bytes[number % this.capacity] as number;
  }

  sentAt(number: number): number {
    return this.#sentAt[number % this.capacity] as number;
  }

  framesStart(number: number): number {
    return this.#framesStart[number % this.capacity] as number;
  }

  framesCount(number: number): number {
    return this.#framesCount[number % this.capacity] as number;
  }

  /** Adds the packet `next`; the ring must not be full. */
  add(bytes: number, flags: number, framesStart: number, framesCount: number, now: number): void {
    if (this.next - this.base === this.capacity) {
      this.#resize(Math.max(FIRST_PACKET_CAPACITY, this.capacity * 2));
    }
    const slot = this.next++ % this.capacity;
    this.#flags[slot] = flags;
    this.#bytes[slot] = bytes;
    this.#sentAt[slot] = now;
    this.#framesStart[slot] = framesStart;
    this.#framesCount[slot] = framesCount;
  }

  clearFlag(number: number, flag: number): void {
    const slot = number % this.capacity;
    this.#flags[slot] = (this.#flags[slot] as number) & ~flag;
  }

  markLost(number: number, now: number): void {
    const slot = number % this.capacity;
    this.#flags[slot] = (this.#flags[slot] as number) | PacketFlag.LOST;
    this.#lostAt[slot] = now;
  }

  markDone(number: number): void {
    const slot = number % this.capacity;
    this.#flags[slot] = (this.#flags[slot] as number) | PacketFlag.DONE;
    this.#skipTo[slot] = number + 1;
  }

  /** Returns the first packet from `number` on that is not done; `next` when there is none. */
  find(number: number): number {
    let at = Math.max(number, this.base);
    let found = at;
    while (found < this.next && this.#isDone(found)) found = this.#skip(found);
    // Path compression: the next search takes one step.
    while (at < found) {
      const slot = at % this.capacity;
      at = this.#skipTo[slot] as number;
      this.#skipTo[slot] = found;
    }
    return found;
  }

  /** Advances `base` over packets that are done, and those declared lost before `lostBefore`. */
  advance(lostBefore: number): void {
    while (this.base < this.next) {
      const slot = this.base % this.capacity;
      const flags = this.#flags[slot] as number;
      if ((flags & PacketFlag.DONE) !== 0) this.base = this.find(this.base);
      else if ((flags & PacketFlag.LOST) !== 0 && (this.#lostAt[slot] as number) <= lostBefore) {
        this.base++;
      } else return;
    }
    if (this.capacity > KEPT_CAPACITY) this.#resize(FIRST_PACKET_CAPACITY);
  }

  /** Frees memory that was needed for a burst and not by the remaining packets. */
  trim(): void {
    let capacity = FIRST_PACKET_CAPACITY;
    while (capacity < this.next - this.base) capacity *= 2;
    if (capacity < this.capacity) this.#resize(capacity);
  }

  /** Frees the memory once no packet is tracked; the next packet allocates it again. */
  free(): void {
    if (this.base === this.next) this.#resize(0);
  }

  #isDone(number: number): boolean {
    return (this.flags(number) & PacketFlag.DONE) !== 0;
  }

  #skip(number: number): number {
    return this.#skipTo[number % this.capacity] as number;
  }

  #resize(capacity: number): void {
    const facts = new SentFacts(capacity);
    const flags = new Uint8Array(capacity);
    const bytes = new Uint16Array(capacity);
    const sentAt = new Float64Array(capacity);
    const lostAt = new Float64Array(capacity);
    const framesStart = new Float64Array(capacity);
    const framesCount = new Uint16Array(capacity);
    const skipTo = new Float64Array(capacity);
    for (let number = this.base; number < this.next; number++) {
      const from = number % this.capacity;
      const to = number % capacity;
      facts.copy(this.facts, from, to);
      flags[to] = this.#flags[from] as number; // within the ring, here and below
      bytes[to] = this.#bytes[from] as number;
      sentAt[to] = this.#sentAt[from] as number;
      lostAt[to] = this.#lostAt[from] as number;
      framesStart[to] = this.#framesStart[from] as number;
      framesCount[to] = this.#framesCount[from] as number;
      skipTo[to] = this.#skipTo[from] as number;
    }
    this.facts = facts;
    this.#flags = flags;
    this.#bytes = bytes;
    this.#sentAt = sentAt;
    this.#lostAt = lostAt;
    this.#framesStart = framesStart;
    this.#framesCount = framesCount;
    this.#skipTo = skipTo;
    this.capacity = capacity;
  }
}

/** Number of columns for a frame. */
const ROW = 3;

const NO_ROWS = new Float64Array(0);

/**
 * The frames of the packets that were sent in one packet number space, in the order of sending: the listener to notify
 * of the delivery, and three numbers each, in a ring. Nothing is allocated for a frame.
 *
 * While a packet is assembled, writers `add` its frames; `take` assigns them to the packet. Frames that are never
 * retransmitted (PADDING, PING, PATH_*, DATAGRAM) are not recorded.
 */
export class SentFrames implements FrameLog {
  /** The listener of each frame; `undefined` for frames that were released, so that closed streams can be collected. */
  #listeners: (DeliveryListener | undefined)[] = [];
  #rows = NO_ROWS;
  /** Allocated capacity in frames; 0 before the first frame, and after `free`. */
  capacity = 0;
  /** Positions only increase; the slot of a frame is its position modulo the capacity. */
  #head = 0;
  /** The position of the first frame of the packet that is being assembled. */
  start = 0;
  #tail = 0;

  /** Number of frames of the packet that is being assembled. */
  get count(): number {
    return this.#tail - this.start;
  }

  get isPacketFull(): boolean {
    return this.count >= MAX_FRAMES_PER_PACKET;
  }

  /** Whether packets have to be acknowledged or lost before another one may be assembled. */
  get isFull(): boolean {
    return this.#tail - this.#head + MAX_FRAMES_PER_PACKET > MAX_FRAMES;
  }

  /** Number of recorded frames. */
  get size(): number {
    return this.#tail - this.#head;
  }

  add(listener: DeliveryListener, a = 0, b = 0, c = 0): void {
    if (this.#tail - this.#head === this.capacity) {
      this.#resize(Math.max(FIRST_FRAME_CAPACITY, this.capacity * 2));
    }
    const slot = this.#tail++ % this.capacity;
    this.#listeners[slot] = listener;
    const rows = this.#rows;
    const at = slot * ROW;
    rows[at] = a;
    rows[at + 1] = b;
    rows[at + 2] = c;
  }

  /** Assigns the frames to the packet being sent: later ones belong to the next packet. */
  take(): void {
    this.start = this.#tail;
  }

  /** Reports the frames of a packet as acknowledged. */
  acknowledge(start: number, count: number): void {
    this.#notify(start, count, false);
  }

  /** Reports the frames of a packet as lost. */
  lose(start: number, count: number): void {
    this.#notify(start, count, true);
  }

  #notify(start: number, count: number, isLost: boolean): void {
    const rows = this.#rows;
    for (let position = start; position < start + count; position++) {
      const slot = position % this.capacity;
      const at = slot * ROW;
      const a = rows[at] as number; // within the ring, here and below
      const b = rows[at + 1] as number;
      const c = rows[at + 2] as number;
      if (isLost) this.#listeners[slot]?.onLost(a, b, c);
      else this.#listeners[slot]?.onAcknowledged(a, b, c);
    }
  }

  /** Forgets the frames before a position. */
  release(position: number): void {
    for (let at = this.#head; at < position; at++) this.#listeners[at % this.capacity] = undefined;
    this.#head = position;
    if (this.#head === this.#tail && this.capacity > KEPT_CAPACITY) {
      this.#resize(FIRST_FRAME_CAPACITY);
    }
  }

  /** Shrinks the memory to what its frames need, after a burst. */
  trim(): void {
    let capacity = FIRST_FRAME_CAPACITY;
    while (capacity < this.size) capacity *= 2;
    if (capacity < this.capacity) this.#resize(capacity);
  }

  /** Frees the memory once every frame was released; the next frame allocates it again. */
  free(): void {
    if (this.size === 0) this.#resize(0);
  }

  #resize(capacity: number): void {
    const listeners: (DeliveryListener | undefined)[] = Array.from({ length: capacity });
    const rows = new Float64Array(capacity * ROW);
    for (let position = this.#head; position < this.#tail; position++) {
      const from = position % this.capacity;
      const to = position % capacity;
      listeners[to] = this.#listeners[from];
      rows.set(this.#rows.subarray(from * ROW, (from + 1) * ROW), to * ROW);
    }
    this.#listeners = listeners;
    this.#rows = rows;
    this.capacity = capacity;
  }
}
