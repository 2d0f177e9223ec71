import type { DeliveryListener, DeliveryOwner, FrameLog } from '../recovery/delivery.ts';
import { GrantedLimit } from './granted-limit.ts';

/** What growing windows know of time; shared by all windows of a connection. */
export interface Pace {
  /** Milliseconds, as of the last call that brought the time along. */
  now: number;
  /** Milliseconds; `Infinity` as long as it is unknown. */
  roundTrip: number;
}

/**
 * A window grows until a sender that fills it needs this many round trips for it: then the path and not
 * the window is what holds it back.
 */
const ROUND_TRIPS_PER_WINDOW = 4;

/** The share of a window that a reader which keeps up may leave unread at times. */
const KEEPS_UP = 1 / 4;

/** Bytes of the connection's limit below which a peer is about to be blocked by it. */
const LOW_CREDIT = 16_384;

/** A new limit is given for every quarter of a window: often enough that its loss is no stall. */
const UPDATES_PER_WINDOW = 4;

/**
 * What this side grants the peer (RFC 9000 §4): bytes, or streams. The limit follows what is consumed
 * and not what arrives, so a slow reader stops its sender.
 *
 * A window doubles when half of it was consumed, by a reader that keeps up, in less time than the round
 * trips that a window is to last for. So it follows what the path can hold: a reader that stops later
 * leaves that much unread, and not as much as the largest window. The first step is a larger one: to
 * what a reader gets that has shown that it reads.
 *
 * A reader keeps up when it gets to the end of what it can read, however much that was: a gap that is
 * filled makes megabytes readable at once, and what waits behind a gap is not its delay.
 */
export class FlowControlWindow extends GrantedLimit {
  #size: number;
  #max: number;
  readonly #proven: number;
  readonly #pace: Pace;
  /** The end of what may be forgotten here: read, dropped, or credited back. */
  #released = 0;
  /** Bytes consumed since `#measuredFrom`, which decide whether the window grows. */
  #measured = 0;
  #measuredFrom: number;
  readonly #owner: DeliveryOwner | undefined;

  /**
   * @param proven what the window grows to at least, in its first step.
   * @param owner of a stream's window: the stream.
   */
  constructor(size: number, max: number, pace: Pace, proven = size, owner?: DeliveryOwner) {
    super(size);
    this.#owner = owner;
    this.#size = size;
    this.#max = Math.max(size, max);
    this.#proven = proven;
    this.#pace = pace;
    this.#measuredFrom = pace.now;
  }

  /** The window at present, in bytes. */
  get size(): number {
    return this.#size;
  }

  /**
   * Whether the peer should get a new limit by now.
   *
   * @param used what the peer has used of the limits so far.
   * @param low when it has no more left than that, it gets whatever there is; -1 for never.
   */
  isUpdateDue(used: number, low: number): boolean {
    if (this.isPending) return true;
    const gain = this.next - this.announced;
    if (gain <= 0) return false;
    return gain >= this.#size / UPDATES_PER_WINDOW || this.announced - used <= low;
  }

  /** As many bytes more may be forgotten, which the peer may then send anew. */
  release(bytes: number): void {
    this.#released += bytes;
  }

  /**
   * The application has taken bytes, or dropped them.
   *
   * @param readable bytes that it could take and has not taken yet.
   * @param room the largest window that there is memory for.
   */
  consumed(bytes: number, readable: number, room: number): void {
    if (this.#size >= this.#max) return;
    this.#measured += bytes;
    if (readable <= this.#size * KEEPS_UP) this.#grow(room);
  }

  /** The window has at least this size from now on, and may grow to `max`. */
  enlarge(size: number, max: number): void {
    this.#size = Math.max(this.#size, size);
    this.#max = Math.max(this.#size, max);
    this.#measured = 0;
    this.#measuredFrom = this.#pace.now;
  }

  override get next(): number {
    return this.#released + this.#size;
  }

  override onLost(limit: number): void {
    super.onLost(limit);
    this.#owner?.onDelivery();
  }

  #grow(room: number): void {
    const windows = this.#measured / this.#size;
    if (windows < 0.5) return;
    const { now, roundTrip } = this.#pace;
    const elapsed = now - this.#measuredFrom;
    this.#measured = 0;
    this.#measuredFrom = now;
    if (elapsed >= windows * ROUND_TRIPS_PER_WINDOW * roundTrip) return;
    const twice = this.#size * 2;
    const wanted = Math.max(twice, this.#proven);
    const next = Math.min(this.#max, wanted <= room ? wanted : twice);
    if (next <= room) this.#size = next;
  }
}

/** What a connection may hold of what its peer sends. In bytes. */
export interface ReceiveMemory {
  /** Ahead of what has come: at first, and at most. */
  readonly window: number;
  readonly maxWindow: number;
  /** Unread, on all streams together. */
  readonly unread: number;
  /** By how much the windows of all streams together may exceed their first size. */
  readonly growth: number;
}

/**
 * The part of the growth that one stream may have alone. The second one may have half of that, the third a
 * third, so that the readers that come after many that have stopped still find something.
 */
const GROWTH_OF_ONE = 1 / 2;

/**
 * The window of all streams of a connection together.
 *
 * A stream that is not read must not stop the others, however many there are of its kind: so its bytes are
 * credited back when they arrive, and the peer may always send a window more. What the streams hold is
 * bounded by their own windows instead. Those start small, and grow out of a memory that they share
 * (`room`), so that the bound for all unread bytes is met by far more streams than peers have open; at that
 * bound nothing is credited any more.
 */
export class ConnectionReceiveWindow {
  readonly #window: FlowControlWindow;
  #memory: ReceiveMemory;
  #received = 0;
  #consumed = 0;
  /** The bytes among `unread` that no gap keeps from being read. */
  #readable = 0;
  /** The sum of what the streams' windows have grown by. */
  #growth = 0;
  /** The streams whose windows have grown. */
  #grownStreams = 0;
  #released = 0;

  constructor(memory: ReceiveMemory, pace: Pace) {
    this.#memory = memory;
    this.#window = new FlowControlWindow(memory.window, memory.maxWindow, pace);
  }

  /** There is more memory from now on. */
  enlarge(memory: ReceiveMemory): void {
    this.#memory = memory;
    this.#window.enlarge(memory.window, memory.maxWindow);
    this.#settle();
  }

  /** Bytes that have come and have not been read, with the gaps between them. */
  get unread(): number {
    return this.#received - this.#consumed;
  }

  /** The most that `unread` can be. */
  get unreadLimit(): number {
    return this.#memory.unread;
  }

  /** By how much the windows of all streams together have grown. */
  get growth(): number {
    return this.#growth;
  }

  /** By how much a stream's window may exceed its first size. @param own by how much it does so already. */
  growthRoom(own: number): number {
    const { growth } = this.#memory;
    const others = own > 0 ? this.#grownStreams - 1 : this.#grownStreams;
    return Math.min((growth * GROWTH_OF_ONE) / (others + 1), growth - this.#growth + own);
  }

  /** The growth of a stream's window has changed; it is 0 when the stream has ended. */
  grown(before: number, now: number): void {
    this.#growth += now - before;
    if (before === 0 && now > 0) this.#grownStreams++;
    if (before > 0 && now === 0) this.#grownStreams--;
  }

  /** Whether MAX_DATA is due. At the bound of unread bytes, what little is read is granted at once. */
  get isUpdateDue(): boolean {
    return this.#window.isUpdateDue(this.#received, LOW_CREDIT);
  }

  request(): void {
    this.#window.request();
  }

  /** Whether the peer may send as many bytes more. */
  allows(bytes: number): boolean {
    return this.#received + bytes <= this.#window.announced;
  }

  arrived(bytes: number): void {
    this.#received += bytes;
    this.#settle();
  }

  /** As many bytes of a stream have become readable. */
  ordered(bytes: number): void {
    this.#readable += bytes;
  }

  /** @param readable how many of the bytes were readable. */
  consumed(bytes: number, readable: number): void {
    this.#consumed += bytes;
    this.#readable -= readable;
    // Credited back or not: the pace of the readers is what counts.
    this.#window.consumed(bytes, this.#readable, Infinity);
    this.#settle();
  }

  /** The limit that `announce` would give. */
  get next(): number {
    return this.#window.next;
  }

  announce(log: FrameLog): number {
    return this.#window.announce(log);
  }

  #settle(): void {
    const credited = Math.min(this.unread, this.#memory.unread - this.#window.size);
    const released = this.#consumed + credited;
    // Less than before when the window has grown, and never by more than that.
    this.#window.release(released - this.#released);
    this.#released = released;
  }
}

/** What the peer grants this side, in bytes or in streams. */
export class SendCredit implements DeliveryListener {
  readonly #owner: DeliveryOwner | undefined;
  #limit = 0;
  #used = 0;
  /** The limit that the peer was told to be too low. */
  #blockedAt = -1;

  /** @param owner of a stream's credit: the stream. */
  constructor(owner?: DeliveryOwner) {
    this.#owner = owner;
  }

  get limit(): number {
    return this.#limit;
  }

  get used(): number {
    return this.#used;
  }

  get available(): number {
    return this.#limit - this.#used;
  }

  /** Takes a new limit; lower ones are ignored (§4.1). Returns whether it is higher. */
  raise(limit: number): boolean {
    if (limit <= this.#limit) return false;
    this.#limit = limit;
    return true;
  }

  use(amount: number): void {
    this.#used += amount;
  }

  /** Whether a frame should say that there is more than the limit allows: once for each limit. */
  get isBlockedUnreported(): boolean {
    return this.#used === this.#limit && this.#blockedAt !== this.#limit;
  }

  /** Returns the limit to write into a frame of the packet of `log`. */
  reportBlocked(log: FrameLog): number {
    this.#blockedAt = this.#limit;
    log.add(this, this.#limit);
    return this.#limit;
  }

  onAcknowledged(): void {
    // Nothing was waiting for it.
  }

  /** The frame is sent again if its limit still holds (§13.3). */
  onLost(limit: number): void {
    if (limit !== this.#blockedAt) return;
    this.#blockedAt = -1;
    this.#owner?.onDelivery();
  }
}
