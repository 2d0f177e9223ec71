import type { DeliveryListener, FrameLog } from './delivery.ts';
import {
  FIRST_FRAME_CAPACITY,
  KEPT_CAPACITY,
  MAX_FRAMES,
  MAX_FRAMES_PER_PACKET,
} from '../limits.ts';

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
  #capacity = 0;
  /** Positions only increase; the slot of a frame is its position modulo the capacity. */
  #head = 0;
  #open = 0;
  #tail = 0;

  /** The position of the first frame of the packet that is being assembled. */
  get start(): number {
    return this.#open;
  }

  /** Number of frames of the packet that is being assembled. */
  get count(): number {
    return this.#tail - this.#open;
  }

  get isPacketFull(): boolean {
    return this.count >= MAX_FRAMES_PER_PACKET;
  }

  /** Whether packets have to be acknowledged or lost before another one may be assembled. */
  get isFull(): boolean {
    return this.#tail - this.#head + MAX_FRAMES_PER_PACKET > MAX_FRAMES;
  }

  /** Allocated capacity in frames, for checks. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Number of recorded frames. */
  get size(): number {
    return this.#tail - this.#head;
  }

  add(listener: DeliveryListener, a = 0, b = 0, c = 0): void {
    if (this.#tail - this.#head === this.#capacity) {
      this.#resize(Math.max(FIRST_FRAME_CAPACITY, this.#capacity * 2));
    }
    const slot = this.#tail++ % this.#capacity;
    this.#listeners[slot] = listener;
    const rows = this.#rows;
    const at = slot * ROW;
    rows[at] = a;
    rows[at + 1] = b;
    rows[at + 2] = c;
  }

  /** Assigns the frames to the packet being sent: later ones belong to the next packet. */
  take(): void {
    this.#open = this.#tail;
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
      const slot = position % this.#capacity;
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
    for (let at = this.#head; at < position; at++) this.#listeners[at % this.#capacity] = undefined;
    this.#head = position;
    if (this.#head === this.#tail && this.#capacity > KEPT_CAPACITY) {
      this.#resize(FIRST_FRAME_CAPACITY);
    }
  }

  /** Shrinks the memory to what its frames need, after a burst. */
  trim(): void {
    let capacity = FIRST_FRAME_CAPACITY;
    while (capacity < this.size) capacity *= 2;
    if (capacity < this.#capacity) this.#resize(capacity);
  }

  /** Frees the memory once every frame was released; the next frame allocates it again. */
  free(): void {
    if (this.size === 0) this.#resize(0);
  }

  #resize(capacity: number): void {
    const listeners: (DeliveryListener | undefined)[] = Array.from({ length: capacity });
    const rows = new Float64Array(capacity * ROW);
    for (let position = this.#head; position < this.#tail; position++) {
      const from = position % this.#capacity;
      const to = position % capacity;
      listeners[to] = this.#listeners[from];
      rows.set(this.#rows.subarray(from * ROW, (from + 1) * ROW), to * ROW);
    }
    this.#listeners = listeners;
    this.#rows = rows;
    this.#capacity = capacity;
  }
}
