import { CREDITED_WINDOWS } from './limits.ts';

/** A new limit is given for every quarter of a window: often enough that its loss is no stall. */
const UPDATES_PER_WINDOW = 4;

/**
 * What this side grants the peer (RFC 9000 §4): bytes, or streams. The limit follows what is consumed
 * and not what arrives, so a slow reader stops its sender.
 *
 * A window doubles for every half of it that is consumed by a reader that keeps up. It needs no
 * measured round trip for that: a window that is larger than the path needs costs no memory as long
 * as its reader keeps up, and does not grow when it does not.
 */
export class ReceiveWindow {
  #size: number;
  readonly #max: number;
  /** The end of what may be forgotten here: read, dropped, or credited back. */
  #released = 0;
  #announced: number;
  #sinceGrowth = 0;
  #isPending = false;

  constructor(size: number, max: number) {
    this.#size = size;
    this.#max = Math.max(size, max);
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

  /** Whether the peer should get a new limit by now. */
  get isUpdateDue(): boolean {
    if (this.#isPending) return true;
    return this.#gain > 0 && this.#gain >= this.#size / UPDATES_PER_WINDOW;
  }

  /** The frame with a limit was lost: it is due again if that limit still holds (§13.3). */
  lost(limit: number): void {
    if (limit === this.#announced) this.#isPending = true;
  }

  /** The peer says that it is blocked: it gets what there is. */
  request(): void {
    if (this.#gain > 0) this.#isPending = true;
  }

  /** @param keepsUp whether the reader leaves nearly nothing, so that the window may grow. */
  release(bytes: number, keepsUp: boolean): void {
    this.#released += bytes;
    if (!keepsUp || this.#size >= this.#max) return;
    this.#sinceGrowth += bytes;
    if (this.#sinceGrowth < this.#size / 2) return;
    this.#sinceGrowth = 0;
    this.#size = Math.min(this.#max, this.#size * 2);
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
  /** The sum of what the streams hold beyond their share. */
  #excess = 0;
  #released = 0;

  constructor(size: number, max: number) {
    this.#window = new ReceiveWindow(size, max);
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

  get isUpdateDue(): boolean {
    return this.#window.isUpdateDue;
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
    this.#settle(false);
  }

  /** @param excess by how much the excess of the stream has shrunk. */
  consumed(bytes: number, excess: number): void {
    this.#consumed += bytes;
    this.#excess -= excess;
    this.#settle(this.unread <= this.#window.size / 4);
  }

  /** The limit that `announce` would give. */
  get next(): number {
    return this.#window.next;
  }

  announce(): number {
    return this.#window.announce();
  }

  #settle(keepsUp: boolean): void {
    const credited = Math.min(this.#excess, this.#window.size * CREDITED_WINDOWS);
    const released = this.#consumed + credited;
    // Never less than before: reading takes at most as much from the excess as it consumes.
    this.#window.release(released - this.#released, keepsUp);
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
