import { ClosedStreams } from './closed-streams.ts';
import { Http2ErrorCode, type Http2Error } from './errors.ts';
import type { LocalSettings } from './local-settings.ts';
import type { Sender } from './sender.ts';
import { afterEndReceived, afterEndSent, afterReset } from './stream-state.ts';
import type { Http2Stream, StreamEnd } from './stream.ts';

/** The largest stream id (RFC 9113 §5.1.1); a connection that has used it up takes no more requests. */
const LAST_STREAM_ID = 2 ** 31 - 1;

/**
 * A window is opened again once this share of it was read. That takes few more WINDOW_UPDATE frames
 * than half of it would, and the sender does not stall while the reader waits for its turn.
 */
const GRANTED_SHARE = 1 / 4;

/** The open streams of a connection: ids, state transitions, calls of readers, receive windows. */
export class OpenStreams {
  readonly #sender: Sender;
  readonly #local: LocalSettings;
  /** Ids of streams opened by this side, modulo 2. */
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

  /** @param onEnd is called whenever a stream has ended. */
  constructor(role: 'client' | 'server', sender: Sender, local: LocalSettings, onEnd: () => void) {
    this.#ownParity = role === 'client' ? 1 : 0;
    this.#nextId = role === 'client' ? 1 : 2;
    this.#sender = sender;
    this.#local = local;
    this.#onEnd = onEnd;
  }

  /** The highest id of a stream that the peer has opened. */
  get lastPeerId(): number {
    return this.#lastPeerId;
  }

  /** The peer opens a stream with a higher id than before. */
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

  /** The peer has reset a stream that is closed, so nothing of it is in flight any more. */
  resetClosed(id: number): void {
    this.#closed.add(id, 'RST_STREAM');
  }

  /** The error of HEADERS or DATA on a closed stream; `undefined` if they may have been in flight. */
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

  /** END_STREAM was sent. */
  endLocal(stream: Http2Stream): void {
    stream.state = afterEndSent(stream.state);
    if (stream.isClosed) this.#close(stream);
    stream.handler?.onEndSent();
  }

  /** END_STREAM was received. */
  endRemote(stream: Http2Stream): void {
    if (stream.isClosed || stream.remoteEnded) return;
    stream.state = afterEndReceived(stream.state);
    if (stream.isClosed) this.#close(stream);
    this.touch(stream);
  }

  /** Closes a stream at once. `isReported` is false when its user has reset it, and needs no `onAbort`. */
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
   * After GOAWAY: streams of this side above `lastId` were not processed, and end as refused. Another
   * GOAWAY only costs the streams that it refuses, however many are open.
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

  /** Adds a stream to those whose readers are called at the end of this receive. */
  touch(stream: Http2Stream): void {
    if (stream.isTouched) return;
    stream.isTouched = true;
    this.#touched.push(stream);
  }

  /** Calls the readers, and copies what they have not taken. */
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

  /** Counts a DATA frame of `length` bytes against the window of its stream; false when it exceeds it. */
  receive(stream: Http2Stream, length: number): boolean {
    // An empty frame is allowed whatever the window, which a smaller INITIAL_WINDOW_SIZE may have made
    // negative (RFC 9113 §6.9.1, §6.9.2).
    const allowed = length === 0 || length <= this.#local.window + stream.receiveCredit;
    stream.receiveCredit -= length;
    return allowed;
  }

  /** Opens the window of a stream by what was read, once that is GRANTED_SHARE of it. */
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
