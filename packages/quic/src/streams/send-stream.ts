import { freeChunk } from '@weir/io/links';
import {
  DeliveryFlag,
  type DeliveryListener,
  type DeliveryOwner,
  type FrameLog,
} from '../recovery/delivery.ts';
import {
  fittingSize,
  resetStreamSize,
  streamHeaderSize,
  twoNumbersSize,
  writeResetStream,
  writeStreamHeader,
  writeTwoNumbers,
} from '../wire/frame-writers.ts';
import { FrameType } from '../wire/frame-types.ts';
import { copyBytes, RangeSet } from '@weir/base/bytes';
import { Fifo } from '@weir/base/collections';
import { SendCredit } from './flow-control.ts';
import { SEND_HIGH_WATER, SEND_LEAST, SEND_LOW_WATER, SEND_SHARED } from '../limits.ts';

/** The states of the sending part of a stream (RFC 9000 §3.1). */
type SendState =
  | 'ready'
  | 'sending'
  | 'data-sent'
  | 'data-acknowledged'
  | 'reset-sent'
  | 'reset-acknowledged';

interface Chunk {
  /** The chunk's offset in the stream. */
  readonly start: number;
  readonly bytes: Uint8Array;
  /** Whether the stream owns the memory of the chunk, and frees it once acknowledged. */
  readonly isOwned: boolean;
}

/** Total unsent bytes of all streams of a connection. */
export interface QueuedBytes {
  total: number;
}

/** Bytes below which a part of a stream is not worth a frame at the end of a packet. */
const MIN_PART = 32;

/** The sending part of a stream (RFC 9000 §3.1): chunks until they are acknowledged, lost ranges, FIN, reset. */
export class SendStream implements DeliveryListener {
  readonly #id: number;
  readonly #owner: DeliveryOwner;
  readonly #credit: SendCredit;
  readonly #shared: QueuedBytes;
  readonly #chunks = new Fifo<Chunk>();
  #state: SendState = 'ready';
  /** Every byte below this offset was acknowledged. */
  #base = 0;
  /** The end of the queued bytes. */
  #end = 0;
  /** Ranges acknowledged above `#base`, and lost ones; created when first needed. */
  #acknowledged: RangeSet | undefined;
  #lost: RangeSet | undefined;
  #isFinished = false;
  #finSent = false;
  #finLost = false;
  #finAcknowledged = false;
  #writerWaits = false;
  #resetCode = 0;
  /** The delivery of RESET_STREAM. */
  #reset: DeliveryFlag | undefined;
  /** Bytes of data in the frame that was written last. */
  written = 0;

  /** @param shared the count of all streams of the connection. */
  constructor(id: number, limit: number, shared: QueuedBytes, owner: DeliveryOwner) {
    this.#id = id;
    this.#owner = owner;
    this.#shared = shared;
    this.#credit = new SendCredit(owner);
    this.#credit.raise(limit);
  }

  get state(): SendState {
    return this.#reset?.isDelivered === true ? 'reset-acknowledged' : this.#state;
  }

  /** Whether the application may still write. */
  get isOpen(): boolean {
    return (this.#state === 'ready' || this.#state === 'sending') && !this.#isFinished;
  }

  /** Whether the sending part has ended: all data was acknowledged, or the reset was. */
  get isDone(): boolean {
    return this.#state === 'data-acknowledged' || this.#reset?.isDelivered === true;
  }

  /** Number of queued bytes that were never sent. */
  get queued(): number {
    return this.#end - this.#credit.used;
  }

  /** Number of bytes from the first unacknowledged one on; 0 once that does not matter. */
  get undelivered(): number {
    return this.#state === 'reset-sent' || this.isDone ? 0 : this.#end - this.#base;
  }

  /** The end of the bytes that were sent. */
  get sent(): number {
    return this.#credit.used;
  }

  /** Whether there is data that needs no flow control credit: lost ranges, or FIN alone. */
  get hasRepair(): boolean {
    if (this.#lost && this.#lost.size > 0) return true;
    return this.#finLost || this.#isFinAloneDue();
  }

  /** Whether there are new bytes that the stream's own limit allows to be sent. */
  get hasFresh(): boolean {
    return this.queued > 0 && this.#credit.available > 0;
  }

  /** Whether new bytes wait for the stream's own limit. */
  get isBlocked(): boolean {
    return this.queued > 0 && this.#credit.available === 0;
  }

  /**
   * Queues a chunk. Returns whether the writer may continue at once.
   *
   * @param isOwned whether the stream takes over the memory of the chunk; see `OWNED` of a `ByteLink`.
   */
  write(chunk: Uint8Array, isOwned: boolean): boolean {
    if (chunk.length > 0) {
      this.#chunks.push({ start: this.#end, bytes: chunk, isOwned });
      this.#end += chunk.length;
      this.#shared.total += chunk.length;
    }
    if (this.queued >= this.#mostQueued()) this.#writerWaits = true;
    return !this.#writerWaits;
  }

  /** Whether a writer for which `write` returned false may write again; true once. */
  takeWritable(): boolean {
    if (!this.#writerWaits || !this.isOpen) return false;
    if (this.queued > Math.min(SEND_LOW_WATER, this.#mostQueued())) return false;
    this.#writerWaits = false;
    return true;
  }

  /** Returns the number of unsent bytes from which on the writer has to wait. */
  #mostQueued(): number {
    if (this.#shared.total > SEND_SHARED) return SEND_LEAST;
    return Math.min(SEND_HIGH_WATER, Math.max(SEND_LEAST, this.#credit.available));
  }

  finish(): void {
    if (this.isOpen) this.#isFinished = true;
  }

  /** Drops queued data and requests RESET_STREAM. Returns false if the sending part has ended or is already reset. */
  reset(code: number): boolean {
    if (this.isDone || this.#state === 'reset-sent') return false;
    this.#state = 'reset-sent';
    this.#resetCode = code;
    this.#reset = new DeliveryFlag(this.#owner);
    this.#reset.request();
    this.#shared.total -= this.queued;
    this.#end = this.#credit.used;
    while (this.#chunks.size > 0) this.#dropChunk();
    this.#lost = undefined;
    this.#acknowledged = undefined;
    this.#isFinished = false;
    this.#finLost = false;
    return true;
  }

  /** Handles MAX_STREAM_DATA (§19.10). Returns whether it raises the limit. */
  raiseLimit(limit: number): boolean {
    return this.#credit.raise(limit);
  }

  /** Whether a control frame is due. */
  get hasControl(): boolean {
    return this.#reset?.isDue === true || this.#isBlockedDue();
  }

  /** Writes RESET_STREAM (§19.4) or STREAM_DATA_BLOCKED (§19.13), if it is due and fits. */
  writeControl(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const id = this.#id;
    if (log.isPacketFull) return at;
    if (this.#reset?.isDue === true) {
      const finalSize = this.#credit.used;
      if (at + resetStreamSize(id, this.#resetCode, finalSize) > limit) return at;
      this.#reset.onSent(log);
      return writeResetStream(out, at, id, this.#resetCode, finalSize);
    }
    if (!this.#isBlockedDue() || at + twoNumbersSize(id, this.#credit.limit) > limit) return at;
    const blockedAt = this.#credit.reportBlocked(log);
    return writeTwoNumbers(out, at, FrameType.STREAM_DATA_BLOCKED, id, blockedAt);
  }

  #isBlockedDue(): boolean {
    return this.queued > 0 && this.#credit.isBlockedUnreported;
  }

  /** Writes the first lost range as far as it fits, or FIN alone. Returns `at` when nothing fits. */
  writeRepair(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const lost = this.#lost;
    if (!lost || lost.size === 0) {
      return this.#writeRange(out, at, limit, this.#end, 0, log);
    }
    const start = lost.start(0);
    const wanted = lost.end(0) - start;
    const next = this.#writeRange(out, at, limit, start, wanted, log);
    if (next > at) lost.remove(start, start + this.written);
    return next;
  }

  /**
   * Writes new bytes, as many as fit and both limits allow. Returns `at` when nothing fits; `written` is the number of
   * bytes.
   *
   * @param credit bytes that the connection's limit allows.
   */
  writeFresh(out: Uint8Array, at: number, limit: number, credit: number, log: FrameLog): number {
    const wanted = Math.min(this.queued, this.#credit.available, credit);
    const next = this.#writeRange(out, at, limit, this.#credit.used, wanted, log);
    if (next > at) {
      this.#credit.use(this.written);
      this.#shared.total -= this.written;
      if (this.#state === 'ready') this.#state = 'sending';
      this.#noteAllSent();
    }
    return next;
  }

  /** Called when a STREAM frame was acknowledged. @param fin 1 with FIN, otherwise 0. */
  onAcknowledged(offset: number, size: number, fin: number): void {
    if (this.#state === 'reset-sent' || this.isDone) return;
    const end = offset + size;
    this.#lost?.remove(offset, end);
    if (offset <= this.#base) this.#advance(end);
    else (this.#acknowledged ??= new RangeSet()).add(offset, end);
    if (fin === 1) {
      this.#finAcknowledged = true;
      this.#finLost = false;
    }
    if (!this.#finAcknowledged || this.#base !== this.#end) return;
    this.#state = 'data-acknowledged';
    this.#owner.onDelivery();
  }

  /**
   * Called when a STREAM frame was lost: its unacknowledged part is retransmitted.
   *
   * @param fin 1 with FIN, otherwise 0.
   */
  onLost(offset: number, size: number, fin: number): void {
    if (this.#state === 'reset-sent' || this.isDone) return;
    const start = Math.max(offset, this.#base);
    const end = offset + size;
    if (start < end) {
      const lost = (this.#lost ??= new RangeSet());
      lost.add(start, end);
      const acknowledged = this.#acknowledged;
      if (acknowledged) {
        for (let i = acknowledged.find(start); i < acknowledged.size; i++) {
          if (acknowledged.start(i) >= end) break;
          lost.remove(acknowledged.start(i), acknowledged.end(i));
        }
      }
    }
    if (fin === 1 && !this.#finAcknowledged) this.#finLost = true;
    this.#owner.onDelivery();
  }

  #isFinAloneDue(): boolean {
    return this.#isFinished && !this.#finSent && this.queued === 0;
  }

  #noteAllSent(): void {
    if (this.#finSent && this.queued === 0) this.#state = 'data-sent';
  }

  #advance(end: number): void {
    if (end <= this.#base) return;
    this.#base = end;
    const acknowledged = this.#acknowledged;
    if (acknowledged && acknowledged.size > 0) {
      // The acknowledged range that contains or touches `end`.
      const next = acknowledged.find(end - 1);
      if (next < acknowledged.size && acknowledged.start(next) <= end) {
        this.#base = acknowledged.end(next);
      }
      acknowledged.remove(0, this.#base);
    }
    let chunk = this.#chunks.peek();
    while (chunk && chunk.start + chunk.bytes.length <= this.#base) {
      this.#dropChunk();
      chunk = this.#chunks.peek();
    }
  }

  #dropChunk(): void {
    const chunk = this.#chunks.shift();
    if (chunk?.isOwned) freeChunk(chunk.bytes);
  }

  #writeRange(
    out: Uint8Array,
    at: number,
    limit: number,
    start: number,
    wanted: number,
    log: FrameLog,
  ): number {
    const room = limit - at - streamHeaderSize(this.#id, start, -1);
    const size = fittingSize(room, wanted);
    if (size < 0 || (size < wanted && size < MIN_PART)) return at;
    const fin = this.#isFinished && start + size === this.#end;
    const dataAt = writeStreamHeader(out, at, this.#id, start, size, fin);
    this.#copy(start, size, out, dataAt);
    log.add(this, start, size, fin ? 1 : 0);
    this.written = size;
    if (fin) {
      this.#finSent = true;
      this.#finLost = false;
      this.#noteAllSent();
    }
    return dataAt + size;
  }

  /** Copies bytes of the stream, which may lie in several chunks. */
  #copy(start: number, size: number, out: Uint8Array, at: number): void {
    if (size === 0) return;
    let low = 0;
    let high = this.#chunks.size - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#chunks.at(middle) as Chunk).start <= start) low = middle;
      else high = middle - 1;
    }
    for (let done = 0; done < size; low++) {
      const chunk = this.#chunks.at(low) as Chunk; // up to the end of what was queued
      const from = start + done - chunk.start;
      const count = Math.min(size - done, chunk.bytes.length - from);
      copyBytes(chunk.bytes, from, count, out, at + done);
      done += count;
    }
  }
}
