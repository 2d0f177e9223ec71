import { ClosedStreams } from './closed-streams.ts';
import { Http2ErrorCode, type Http2Error } from './errors.ts';
import type { LocalSettings } from './local-settings.ts';
import type { Sender } from './sender.ts';
import { afterEndReceived, afterEndSent, afterReset } from './stream-state.ts';
import type { Http2Stream, StreamEnd } from './stream.ts';

/** Maximum stream id (RFC 9113 §5.1.1); a connection that has used it accepts no more requests. */
const LAST_STREAM_ID = 2 ** 31 - 1;

/**
 * The fraction of a window that must be read before the window is replenished. A quarter causes few more WINDOW_UPDATE
 * frames than a half, and the sender does not stall while the reader waits for its turn.
 */
const GRANTED_SHARE = 1 / 4;

/** The open streams of a connection: ids, state transitions, calls of readers, receive windows. */
export class OpenStreams {
  readonly #sender: Sender;
  readonly #local: LocalSettings;
  /** Parity of the stream ids of this side. */
  readonly #ownParity: number;
  readonly #onEnd: () => void;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #closed = new ClosedStreams();
  #lastPeerId = 0;
  #nextId: number;
  /** Streams whose readers are to be called. */
  #touched: Http2Stream[] = [];
  /** Streams of this side that were open at the peer's first GOAWAY, by ascending id. */
  #leftBehind: Http2Stream[] | undefined;

  /** @param onEnd called whenever a stream has ended. */
  constructor(role: 'client' | 'server', sender: Sender, local: LocalSettings, onEnd: () => void) {
    this.#ownParity = role === 'client' ? 1 : 0;
    this.#nextId = role === 'client' ? 1 : 2;
    this.#sender = sender;
    this.#local = local;
    this.#onEnd = onEnd;
  }

  /** The highest id of a stream opened by the peer. */
  get lastPeerId(): number {
    return this.#lastPeerId;
  }

  /** Called when the peer opens a stream, with a higher id than before. */
  takePeerId(id: number): void {
    this.#closed.skip(this.#lastPeerId, id);
    this.#lastPeerId = id;
  }

  get size(): number {
    return this.#streams.size;
  }

  get(id: number): Http2Stream | undefined {
    return this.#streams.get(id);
  }

  add(stream: Http2Stream): void {
    this.#streams.set(stream.id, stream);
  }

  [Symbol.iterator](): IterableIterator<Http2Stream> {
    return this.#streams.values();
  }

  isOwn(id: number): boolean {
    return id % 2 === this.#ownParity;
  }

  /** Whether a stream id has not been used yet (RFC 9113 §5.1.1). */
  isIdle(id: number): boolean {
    return this.isOwn(id) ? id >= this.#nextId : id > this.#lastPeerId;
  }

  /** Called when the peer has reset a closed stream, so that no more frames of it are in flight. */
  resetClosed(id: number): void {
    this.#closed.add(id, 'RST_STREAM');
  }

  /** Returns the error of HEADERS or DATA on a closed stream; `undefined` if they may have been in flight. */
  errorOfClosed(id: number): Http2Error | undefined {
    return this.#closed.errorOf(id);
  }

  /** Whether this side can open another stream. */
  get hasNextId(): boolean {
    return this.#nextId <= LAST_STREAM_ID;
  }

  takeNextId(): number {
    const id = this.#nextId;
    this.#nextId += 2;
    return id;
  }

  /** Called when END_STREAM was sent. */
  endLocal(stream: Http2Stream): void {
    stream.state = afterEndSent(stream.state);
    if (stream.isClosed) this.#close(stream);
    stream.handler?.onEndSent();
  }

  /** Called when END_STREAM was received. */
  endRemote(stream: Http2Stream): void {
    if (stream.isClosed || stream.remoteEnded) return;
    stream.state = afterEndReceived(stream.state);
    if (stream.isClosed) this.#close(stream);
    this.touch(stream);
  }

  /** Closes a stream at once. `isReported` is false if its user has reset it and needs no `onAbort`. */
  abort(stream: Http2Stream, end: StreamEnd, isReported: boolean): void {
    stream.state = afterReset(stream.state);
    this.#close(stream);
    if (end.by === 'peer') this.#closed.add(stream.id, 'RST_STREAM');
    if (isReported) stream.handler?.onAbort(end);
  }

  get touchedCount(): number {
    return this.#touched.length;
  }

  /**
   * Ends streams of this side above `lastId` as refused, since after GOAWAY they were not processed. A further GOAWAY
   * costs only the streams that it refuses, however many are open.
   */
  leaveBehind(lastId: number): void {
    this.#leftBehind ??= [...this.#streams.values()].filter(({ id }) => this.isOwn(id));
    const left = this.#leftBehind;
    for (let last = left.at(-1); last && last.id > lastId; last = left.at(-1)) {
      left.pop();
      if (!last.isClosed)
        this.abort(last, { by: 'peer', code: Http2ErrorCode.REFUSED_STREAM }, true);
    }
  }

  /** Adds a stream to those whose readers are called at the end of the current receive call. */
  touch(stream: Http2Stream): void {
    if (stream.isTouched) return;
    stream.isTouched = true;
    this.#touched.push(stream);
  }

  /** Calls the readers, and copies the data that they have not taken. */
  callReaders(): void {
    const touched = this.#touched;
    if (touched.length === 0) return;
    this.#touched = [];
    for (const stream of touched) {
      stream.isTouched = false;
      stream.handler?.onReadable();
      stream.received.settle();
    }
  }

  /** Counts a DATA frame of `length` bytes against the window of its stream; returns false if it exceeds the window. */
  receive(stream: Http2Stream, length: number): boolean {
    // An empty frame is always allowed, since a smaller INITIAL_WINDOW_SIZE may have made the window negative (RFC 9113
    // §6.9.1, §6.9.2).
    const allowed = length === 0 || length <= this.#local.window + stream.receiveCredit;
    stream.receiveCredit -= length;
    return allowed;
  }

  /** Replenishes the window of a stream by the bytes read, once they are GRANTED_SHARE of the window. */
  grant(stream: Http2Stream): boolean {
    if (stream.isClosed || stream.remoteEnded) return false;
    const { window, announcedWindow } = this.#local;
    const credit = window + stream.receiveCredit;
    const increment = announcedWindow - stream.received.length - credit;
    if (increment < announcedWindow * GRANTED_SHARE || increment === 0) return false;
    stream.receiveCredit += increment;
    this.#sender.windowUpdate(stream.id, increment);
    return true;
  }

  #close(stream: Http2Stream): void {
    this.#sender.forget(stream);
    if (stream.remoteEnded) this.#closed.add(stream.id, 'END_STREAM');
    if (this.#streams.delete(stream.id)) this.#onEnd();
  }
}
