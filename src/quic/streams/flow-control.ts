import { CREDITED_WINDOWS } from './limits.ts';

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
 * leaves that much unread, and not as much as the largest window.
 *
 * A reader keeps up when it gets to the end of what it can read, however much that was: a gap that is
 * filled makes megabytes readable at once, and what waits behind a gap is not its delay.
 */
export class ReceiveWindow {
  #size: number;
  readonly #max: number;
  readonly #pace: Pace;
  /** The end of what may be forgotten here: read, dropped, or credited back. */
  #released = 0;
  #announced: number;
  /** Bytes consumed since `#measuredFrom`, which decide whether the window grows. */
  #measured = 0;
  #measuredFrom: number;
  #isPending = false;

  constructor(size: number, max: number, pace: Pace) {
    this.#size = size;
    this.#max = Math.max(size, max);
    this.#pace = pace;
    this.#measuredFrom = pace.now;
    this.#announced = size;
  }

  /** The window at present, in bytes. */
  get size(): number {
    return this.#size;
  }

  /** The last limit that was given to the peer. */
  get announced(): number {
    return this.#announced;
  }

  /**
   * Whether the peer should get a new limit by now.
   *
   * @param used what the peer has used of the limits so far.
   * @param low when it has no more left than that, it gets whatever there is; -1 for never.
   */
  isUpdateDue(used: number, low: number): boolean {
    if (this.#isPending) return true;
    if (this.#gain <= 0) return false;
    return this.#gain >= this.#size / UPDATES_PER_WINDOW || this.#announced - used <= low;
  }

  /** The frame with a limit was lost: it is due again if that limit still holds (§13.3). */
  lost(limit: number): void {
    if (limit === this.#announced) this.#isPending = true;
  }

  /** The peer says that it is blocked: it gets what there is. */
  request(): void {
    if (this.#gain > 0) this.#isPending = true;
  }

  /** As many bytes more may be forgotten, which the peer may then send anew. */
  release(bytes: number): void {
    this.#released += bytes;
  }

  /**
   * The application has taken bytes, or dropped them.
   *
   * @param readable bytes that it could take and has not taken yet.
   * @param mayGrow whether there is memory for a larger window.
   */
  consumed(bytes: number, readable: number, mayGrow: boolean): void {
    if (this.#size >= this.#max) return;
    this.#measured += bytes;
    if (mayGrow && readable <= this.#size * KEEPS_UP) this.#grow();
  }

  /** The limit that `announce` would give. */
  get next(): number {
    return this.#released + this.#size;
  }

  /** The limit to give to the peer now. */
  announce(): number {
    this.#announced += this.#gain;
    this.#isPending = false;
    return this.#announced;
  }

  #grow(): void {
    const windows = this.#measured / this.#size;
    if (windows < 0.5) return;
    const { now, roundTrip } = this.#pace;
    const elapsed = now - this.#measuredFrom;
    this.#measured = 0;
    this.#measuredFrom = now;
    if (elapsed >= windows * ROUND_TRIPS_PER_WINDOW * roundTrip) return;
    this.#size = Math.min(this.#max, this.#size * 2);
  }

  /** What a new limit would allow beyond the last one. */
  get #gain(): number {
    return this.#released + this.#size - this.#announced;
  }
}

/**
 * The window of all streams of a connection together.
 *
 * The peer's bytes count against it from their arrival until they are read, so a few streams that are
 * not read would fill it and stop the others. Therefore only a share of what each stream holds
 * counts in the long run: the excess over it is credited back, up to a bound that follows the window.
 */
export class ConnectionReceiveWindow {
  readonly #window: ReceiveWindow;
  #received = 0;
  #consumed = 0;
  /** The bytes among `unread` that no gap keeps from being read. */
  #readable = 0;
  /** The sum of what the streams hold beyond their share. */
  #excess = 0;
  #released = 0;

  constructor(size: number, max: number, pace: Pace) {
    this.#window = new ReceiveWindow(size, max, pace);
  }

  /** Bytes that have come and have not been read, with the gaps between them. */
  get unread(): number {
    return this.#received - this.#consumed;
  }

  /** The most that `unread` can be at present. */
  get unreadLimit(): number {
    return this.#window.size * (1 + CREDITED_WINDOWS);
  }

  /** Whether there is memory to spare, so that the windows of streams may grow. */
  get hasReserve(): boolean {
    return this.unread <= this.#window.size;
  }

  /**
   * Whether MAX_DATA is due. Unread streams may hold nearly all of the window: what little is read of
   * others must then be granted at once, or they would wait for ever.
   */
  get isUpdateDue(): boolean {
    return this.#window.isUpdateDue(this.#received, LOW_CREDIT);
  }

  lost(limit: number): void {
    this.#window.lost(limit);
  }

  request(): void {
    this.#window.request();
  }

  /** Whether the peer may send as many bytes more. */
  allows(bytes: number): boolean {
    return this.#received + bytes <= this.#window.announced;
  }

  /** @param excess by how much the excess of the stream has grown. */
  arrived(bytes: number, excess: number): void {
    this.#received += bytes;
    this.#excess += excess;
    this.#settle();
  }

  /** As many bytes of a stream have become readable. */
  ordered(bytes: number): void {
    this.#readable += bytes;
  }

  /**
   * @param excess by how much the excess of the stream has shrunk.
   * @param readable how many of the bytes were readable.
   */
  consumed(bytes: number, excess: number, readable: number): void {
    this.#consumed += bytes;
    this.#excess -= excess;
    this.#readable -= readable;
    // Credited back or not: the pace of the readers is what counts.
    this.#window.consumed(bytes, this.#readable, true);
    this.#settle();
  }

  /** The limit that `announce` would give. */
  get next(): number {
    return this.#window.next;
  }

  announce(): number {
    return this.#window.announce();
  }

  #settle(): void {
    const credited = Math.min(this.#excess, this.#window.size * CREDITED_WINDOWS);
    const released = this.#consumed + credited;
    // Never less than before: reading takes at most as much from the excess as it consumes.
    this.#window.release(released - this.#released);
    this.#released = released;
  }
}

/** What the peer grants this side, in bytes or in streams. */
export class SendCredit {
  #limit = 0;
  #used = 0;
  /** The limit that the peer was told to be too low. */
  #blockedAt = -1;

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

  /** The frame has been written. */
  reportBlocked(): number {
    this.#blockedAt = this.#limit;
    return this.#limit;
  }

  /** The frame that named a limit was lost: it is sent again if that limit still holds. */
  blockedLost(limit: number): void {
    if (limit === this.#blockedAt) this.#blockedAt = -1;
  }
}
