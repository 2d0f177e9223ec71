import { LinkClosedError } from '@weir/io';
import { type ByteLink, ReadQueue } from '@weir/io/links';
import type { Clock, Timer } from '@weir/io/time';
import { encodeEnd, encodeStreamHeader } from './frame.ts';
import type { Outlet } from './outlet.ts';

/**
 * Data of one frame. Frames of several flows alternate on the carrier, and v2ray reads any length
 * up to 65,535.
 */
const FRAME_BYTES = 16 * 1024;

/**
 * Milliseconds by which an End with an error is delayed: v2ray's clients drop what is on the way to their applications
 * when it arrives, up to 5 KB.
 */
export const FAILED_END_PAUSE_MS = 100;

/** Memory in bytes of a queued piece beside its data. */
const PIECE_COST = 256;
const costOf = (piece: Uint8Array): number => piece.length + PIECE_COST;

/** Events that a stream reports to its carrier. */
export interface MuxStreamEvents {
  /** Called when the unread data has grown, by bytes of memory; negative when data was read. */
  readonly onQueued: (bytes: number) => void;
  /** Called when the flow has ended; its id is free. */
  readonly onClosed: () => void;
}

/**
 * The server's end of a TCP flow on a carrier.
 *
 * End closes one direction: the client has no more to send, and may still receive. Most clients mean
 * the whole flow by it and reply to later data with another End, which then ends the rest.
 */
export class MuxStream implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #id: number;
  readonly #outlet: Outlet;
  readonly #clock: Clock;
  readonly #events: MuxStreamEvents;
  readonly #queue = new ReadQueue<Uint8Array>();
  /** Short pieces, received after everything in the queue. */
  readonly #short = new ShortPieces();
  #queuedBytes = 0;
  #peerEnded = false;
  #writeClosed: Promise<void> | undefined;
  /** Whether the flow has ended; its id may be reused by now. */
  #left = false;
  #destroyed = false;
  #cause: Error | undefined;
  /** The failure of the client or of the carrier. */
  #failure: Error | undefined;
  /** The timer of `resetAfterData`, until its End is sent. */
  #pause: Timer | undefined;

  constructor(id: number, outlet: Outlet, clock: Clock, events: MuxStreamEvents) {
    this.#id = id;
    this.#outlet = outlet;
    this.#clock = clock;
    this.#events = events;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  /** Unread data, in bytes of memory. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Delivers bytes of the client; bytes after its End are dropped. */
  deliver(bytes: Uint8Array): void {
    if (this.#destroyed || this.#peerEnded) return;
    const short = bytes.length < SHORT_BYTES;
    if (short && !this.#queue.wanted) {
      this.#keepShort(bytes);
      return;
    }
    this.#flush();
    this.#queued(costOf(bytes));
    // A short piece is copied even so: its reader may keep it.
    this.#queue.push(short ? new Uint8Array(bytes) : bytes);
  }

  /** Handles the client's End: the first closes its direction, a second or a failed one everything. */
  end(failed: boolean): void {
    if (failed || this.#peerEnded) {
      this.abandon(new LinkClosedError('the client ended the flow'));
      return;
    }
    this.#peerEnded = true;
    if (this.#destroyed) return;
    this.#flush();
    this.#queue.end();
    this.#settle();
  }

  /** Ends both directions without an End to the client; data that it had sent can still be read. */
  abandon(cause: Error): void {
    if (this.#failure) return;
    this.#failure = cause;
    if (this.#destroyed) {
      this.#forget(cause);
      return;
    }
    this.#peerEnded = true;
    this.#flush();
    this.#queue.end(cause);
    this.#forget(cause);
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    this.#flush();
    const chunk = await this.#queue.take(signal);
    // A stream that was destroyed meanwhile has no queued data.
    if (chunk && !this.#destroyed) this.#queued(-costOf(chunk));
    return chunk;
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length === 0 || this.#destroyed) return;
    this.#queued(costOf(chunk));
    this.#queue.unshift(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.#destroyed || this.#failure || this.#writeClosed) {
      return Promise.reject(this.#closedError());
    }
    const pieces: Uint8Array[] = [];
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += FRAME_BYTES) {
        const data = chunk.subarray(at, at + FRAME_BYTES);
        pieces.push(encodeStreamHeader(this.#id, data.length), data);
      }
    }
    return pieces.length === 0 ? undefined : this.#outlet.write(this, pieces);
  }

  closeWrite(): Promise<void> {
    if (this.#writeClosed) return this.#writeClosed;
    if (this.#destroyed || this.#failure) return Promise.reject(this.#closedError());
    // In its turn, after earlier writes.
    const sent = this.#outlet.write(this, [encodeEnd(this.#id, false)]) ?? Promise.resolve();
    this.#writeClosed = sent.then(() => this.#settle());
    return this.#writeClosed;
  }

  destroy(cause?: Error): void {
    if (this.#destroyed && !cause) return;
    // After an End only a failure is sent: a second End would drop what the client has not read.
    const sendEnd = cause !== undefined || this.#writeClosed === undefined;
    this.#end(cause);
    if (this.#forget(cause) && sendEnd) this.#outlet.sendControl(encodeEnd(this.#id, true));
  }

  /**
   * Sends End after the data. The flow keeps its id until then, so that late frames of its client do not provoke
   * another End.
   */
  resetAfterData(cause: Error): void {
    if (this.#destroyed || this.#left) {
      this.destroy(cause);
      return;
    }
    this.#end(cause);
    this.#resolveClosed(cause);
    this.#pause = this.#clock.after(FAILED_END_PAUSE_MS, () => {
      // In its turn, after earlier writes.
      const sent = this.#outlet.write(this, [encodeEnd(this.#id, true)]) ?? Promise.resolve();
      sent.catch(() => undefined).finally(() => this.#leave(cause));
    });
  }

  /** Frees the id when both directions have ended, although data may be unread. */
  #settle(): void {
    if (this.#peerEnded && this.#writeClosed) this.#leave(undefined);
  }

  /** Leaves the carrier and discards queued writes. */
  #forget(cause: Error | undefined): boolean {
    this.#pause?.cancel();
    this.#outlet.forget(this, this.#closedError());
    return this.#leave(cause);
  }

  /** Resolves `closed` and frees the id; returns whether this was the first call. */
  #leave(cause: Error | undefined): boolean {
    if (this.#left) return false;
    this.#left = true;
    this.#events.onClosed();
    this.#resolveClosed(cause);
    return true;
  }

  #end(cause: Error | undefined): void {
    this.#destroyed = true;
    this.#cause ??= cause;
    this.#queue.fail(this.#closedError());
    this.#short.take();
    this.#queued(-this.#queuedBytes);
  }

  #keepShort(piece: Uint8Array): void {
    if (!this.#short.hasRoom(piece.length)) this.#flush();
    this.#queued(this.#short.empty ? costOf(piece) : piece.length);
    this.#short.add(piece);
  }

  /** Moves the short pieces into the queue, before later data. */
  #flush(): void {
    if (!this.#short.empty) this.#queue.push(this.#short.take());
  }

  #queued(bytes: number): void {
    this.#queuedBytes += bytes;
    this.#events.onQueued(bytes);
  }

  #closedError(): Error {
    return this.#cause ?? this.#failure ?? new LinkClosedError();
  }
}

/**
 * Shorter pieces are copied when they are queued: a view would keep its chunk of 64 KB alive, and costs
 * some 200 bytes as an object.
 */
export const SHORT_BYTES = 4096;
const NOTHING = new Uint8Array(0);

/** Short pieces, concatenated in memory of their own. */
class ShortPieces {
  #buffer: Uint8Array = NOTHING;
  #length = 0;

  get empty(): boolean {
    return this.#length === 0;
  }

  /** Whether `length` more bytes fit. */
  hasRoom(length: number): boolean {
    return this.#length + length <= this.#buffer.length;
  }

  /** Appends a piece that fits; to an empty buffer, one of less than SHORT_BYTES. */
  add(piece: Uint8Array): void {
    // Not from Node's pool, which a part would keep as a whole.
    if (this.empty) this.#buffer = Buffer.allocUnsafeSlow(SHORT_BYTES);
    this.#buffer.set(piece, this.#length);
    this.#length += piece.length;
  }

  /** Returns all pieces as one, which the caller owns. */
  take(): Uint8Array {
    const pieces = this.#buffer.subarray(0, this.#length);
    this.#buffer = NOTHING;
    this.#length = 0;
    return pieces;
  }
}
