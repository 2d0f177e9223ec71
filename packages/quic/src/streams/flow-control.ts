import type { DeliveryListener, FrameLog, DeliveryOwner } from '../recovery/delivery.ts';

/**
 * A limit that this side grants the peer and raises. Only the newest value matters: a lost frame is retransmitted if it
 * had that value (RFC 9000 §13.3).
 */
export abstract class GrantedLimit implements DeliveryListener {
  /** The last limit that was sent to the peer. */
  announced: number;
  #isPending = false;

  /** @param announced the value in the transport parameters. */
  constructor(announced: number) {
    this.announced = announced;
  }

  /** The limit that `announce` would send. */
  abstract get next(): number;

  /** Whether `next` has to be sent, however little it exceeds the last limit. */
  protected get isPending(): boolean {
    return this.#isPending;
  }

  /** Called when the last limit blocks the peer: it gets a higher one, if any. */
  request(): void {
    if (this.next > this.announced) this.#isPending = true;
  }

  /** Returns the limit to write into a frame of the packet of `log`. */
  announce(log: FrameLog): number {
    this.announced = this.next;
    this.#isPending = false;
    log.add(this, this.announced);
    return this.announced;
  }

  onAcknowledged(): void {
    // Nothing depends on it.
  }

  onLost(limit: number): void {
    if (limit === this.announced) this.#isPending = true;
  }
}

/** The clock and the round-trip time on which the growth of windows depends, shared by all windows of a connection. */
export interface Pace {
  /** The time in milliseconds; set by `Streams.setPace`. */
  now: number;
  /** The smoothed RTT in milliseconds; `Infinity` while it is unknown. */
  roundTrip: number;
}

/**
 * Round trips that a sender needs to fill a window, at which the window stops growing: the path and not the window then
 * limits the rate.
 */
const ROUND_TRIPS_PER_WINDOW = 4;

/** The share of a window that a reader may leave unread and still be considered to keep up. */
const KEEPS_UP = 1 / 4;

/** Bytes of the connection's limit below which it is about to block the peer. */
const LOW_CREDIT = 16_384;

/**
 * Limits that are sent per window: often enough that the loss of one stalls nothing, and that little of the window
 * remains ungranted where gaps on a long path take up most of it.
 */
const UPDATES_PER_WINDOW = 8;

/**
 * A flow control window of this side (RFC 9000 §4). Its limit follows the bytes consumed, not those received, so a slow
 * reader stops its sender.
 *
 * The window doubles when a reader that keeps up has consumed half of it faster than at a rate of one window in
 * `ROUND_TRIPS_PER_WINDOW`. It thus follows the capacity of the path: a reader that stops later leaves that much
 * unread, rather than the largest window. The first step is larger, to `proven`.
 *
 * A reader keeps up when it reads nearly all that is readable, however much that was: a gap that is filled makes
 * megabytes readable at once, and bytes after a gap are not delayed by the reader.
 */
export class FlowControlWindow extends GrantedLimit {
  /** The current window size in bytes. */
  size: number;
  #max: number;
  readonly #proven: number;
  readonly #pace: Pace;
  /** The end of the bytes that were read, dropped, or credited back. */
  #released = 0;
  /** Bytes consumed since `#measuredFrom`: they decide whether the window grows. */
  #measured = 0;
  #measuredFrom: number;
  readonly #owner: DeliveryOwner | undefined;

  /**
   * @param proven the least size after the first step of growth.
   * @param owner the stream of a stream's window.
   */
  constructor(size: number, max: number, pace: Pace, proven = size, owner?: DeliveryOwner) {
    super(size);
    this.#owner = owner;
    this.size = size;
    this.#max = Math.max(size, max);
    this.#proven = proven;
    this.#pace = pace;
    this.#measuredFrom = pace.now;
  }

  /**
   * Whether a new limit should be sent to the peer.
   *
   * @param used bytes of the limit that the peer has used.
   * @param low with no more than this left, the peer gets a new limit however small the gain; -1 for never.
   */
  isUpdateDue(used: number, low: number): boolean {
    if (this.isPending) return true;
    const gain = this.next - this.announced;
    if (gain <= 0) return false;
    return gain >= this.size / UPDATES_PER_WINDOW || this.announced - used <= low;
  }

  /** Counts bytes that were read, dropped, or credited back: the peer may send as many more. */
  release(bytes: number): void {
    this.#released += bytes;
  }

  /**
   * Counts bytes that the application has read or dropped.
   *
   * @param readable bytes that are readable and not read yet.
   * @param room the largest window that the memory of the connection allows.
   */
  consumed(bytes: number, readable: number, room: number): void {
    if (this.size >= this.#max) return;
    this.#measured += bytes;
    if (readable <= this.size * KEEPS_UP) this.#grow(room);
  }

  /** Raises the size to at least `size`, and the largest size to `max`. */
  enlarge(size: number, max: number): void {
    this.size = Math.max(this.size, size);
    this.#max = Math.max(this.size, max);
    this.#measured = 0;
    this.#measuredFrom = this.#pace.now;
  }

  override get next(): number {
    return this.#released + this.size;
  }

  override onLost(limit: number): void {
    super.onLost(limit);
    this.#owner?.onDelivery();
  }

  #grow(room: number): void {
    const windows = this.#measured / this.size;
    if (windows < 0.5) return;
    const { now, roundTrip } = this.#pace;
    const elapsed = now - this.#measuredFrom;
    this.#measured = 0;
    this.#measuredFrom = now;
    if (elapsed >= windows * ROUND_TRIPS_PER_WINDOW * roundTrip) return;
    const twice = this.size * 2;
    const wanted = Math.max(twice, this.#proven);
    const next = Math.min(this.#max, wanted <= room ? wanted : twice);
    if (next <= room) this.size = next;
  }
}

/** Bounds in bytes of the stream data of the peer that a connection holds. */
export interface ReceiveMemory {
  /** Bytes that the peer may send ahead of those received: initial and largest value. */
  readonly window: number;
  readonly maxWindow: number;
  /** Total unread bytes of all streams. */
  readonly unread: number;
  /** Bytes by which the windows of all streams together may exceed their initial size. */
  readonly growth: number;
}

/**
 * The part of the growth that one stream may use alone. The second stream may use half of that, the third a third, so
 * that readers that start after many others have stopped still get some.
 */
const GROWTH_OF_ONE = 1 / 2;

/**
 * The window of a connection, for all its streams together: MAX_DATA (RFC 9000 §4.1).
 *
 * Streams that are not read must not stop the others, however many they are: their bytes are credited back
 * when they arrive, and the peer may always send a window more. What the streams hold is bounded by their own
 * windows instead. Those start small and grow out of a shared budget (`growthRoom`), so that only far more
 * streams than peers have open reach the bound of all unread bytes; at that bound nothing is credited.
 */
export class ConnectionReceiveWindow {
  readonly #window: FlowControlWindow;
  #memory: ReceiveMemory;
  #received = 0;
  #consumed = 0;
  /** The bytes among `unread` that are in order and thus readable. */
  #readable = 0;
  /** Total growth of the windows of all streams, in bytes. */
  growth = 0;
  /** Streams whose windows have grown. */
  #grownStreams = 0;
  #released = 0;

  constructor(memory: ReceiveMemory, pace: Pace) {
    this.#memory = memory;
    this.#window = new FlowControlWindow(memory.window, memory.maxWindow, pace);
  }

  /** Raises the bounds. */
  enlarge(memory: ReceiveMemory): void {
    this.#memory = memory;
    this.#window.enlarge(memory.window, memory.maxWindow);
    this.#settle();
  }

  /** Number of bytes that were received and not read, with the gaps between them. */
  get unread(): number {
    return this.#received - this.#consumed;
  }

  /**
   * Returns the number of bytes by which a stream's window may exceed its initial size.
   *
   * @param own its present excess.
   */
  growthRoom(own: number): number {
    const { growth } = this.#memory;
    const others = own > 0 ? this.#grownStreams - 1 : this.#grownStreams;
    return Math.min((growth * GROWTH_OF_ONE) / (others + 1), growth - this.growth + own);
  }

  /** Records a change of the growth of a stream's window; to 0 when the stream has ended. */
  grown(before: number, now: number): void {
    this.growth += now - before;
    if (before === 0 && now > 0) this.#grownStreams++;
    if (before > 0 && now === 0) this.#grownStreams--;
  }

  /** Whether MAX_DATA is due. At the bound of unread bytes every byte read is granted at once. */
  get isUpdateDue(): boolean {
    return this.#window.isUpdateDue(this.#received, LOW_CREDIT);
  }

  request(): void {
    this.#window.request();
  }

  /** Whether the limit allows the peer to have sent this many further bytes. */
  allows(bytes: number): boolean {
    return this.#received + bytes <= this.#window.announced;
  }

  arrived(bytes: number): void {
    this.#received += bytes;
    this.#settle();
  }

  /** Counts bytes of a stream that have become readable. */
  ordered(bytes: number): void {
    this.#readable += bytes;
  }

  /**
   * Counts consumed bytes.
   * @param readable the number of these bytes that were readable.
   */
  consumed(bytes: number, readable: number): void {
    this.#consumed += bytes;
    this.#readable -= readable;
    // Whether or not they were credited back, the window grows with the pace of the readers.
    this.#window.consumed(bytes, this.#readable, Infinity);
    this.#settle();
  }

  /** The limit that `announce` would send. */
  get next(): number {
    return this.#window.next;
  }

  announce(log: FrameLog): number {
    return this.#window.announce(log);
  }

  #settle(): void {
    const credited = Math.min(this.unread, this.#memory.unread - this.#window.size);
    const released = this.#consumed + credited;
    // The limit may fall, but never by more than the window has grown.
    this.#window.release(released - this.#released);
    this.#released = released;
  }
}

/** A limit that the peer grants this side, in bytes or in streams (RFC 9000 §4). */
export class SendCredit implements DeliveryListener {
  readonly #owner: DeliveryOwner | undefined;
  limit = 0;
  used = 0;
  /** The limit of the last *_BLOCKED frame; -1 for none. */
  #blockedAt = -1;

  /** @param owner the stream of a stream's credit. */
  constructor(owner?: DeliveryOwner) {
    this.#owner = owner;
  }

  get available(): number {
    return this.limit - this.used;
  }

  /** Sets a new limit; one that does not raise it MUST be ignored (§4.1). Returns whether it is higher. */
  raise(limit: number): boolean {
    if (limit <= this.limit) return false;
    this.limit = limit;
    return true;
  }

  use(amount: number): void {
    this.used += amount;
  }

  /** Whether a *_BLOCKED frame is due: once for each limit. */
  get isBlockedUnreported(): boolean {
    return this.used === this.limit && this.#blockedAt !== this.limit;
  }

  /** Returns the limit to write into a frame of the packet of `log`. */
  reportBlocked(log: FrameLog): number {
    this.#blockedAt = this.limit;
    log.add(this, this.limit);
    return this.limit;
  }

  onAcknowledged(): void {
    // Nothing depends on it.
  }

  /** Requests the frame again if its limit still holds (§13.3). */
  onLost(limit: number): void {
    if (limit !== this.#blockedAt) return;
    this.#blockedAt = -1;
    this.#owner?.onDelivery();
  }
}
