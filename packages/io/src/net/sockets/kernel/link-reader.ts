import { SystemError } from '../../../platform/sockets/errno.ts';
import type { Resumable } from '../../../platform/sockets/poller.ts';
import { AGAIN, type StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import { LinkClosedError } from '../../errors.ts';
import { abortReason } from '../../time/clock.ts';
import { ownChunk, PendingRead } from '../../links/read-queue.ts';
import type { HalfOwner, HalfPump } from './link-half.ts';

/** Reads of one link in one turn of the event loop; further ones are deferred to the next turn. */
const READS_A_TURN = 4;

/** The result of a receive without data. */
const NOTHING_YET = Symbol('nothing to read yet');
const FAILED = Symbol('the link failed');

/**
 * The receiving half of a kernel link. Bytes are received only for a pending read, so that only chunks that were put
 * back are queued here.
 */
export class LinkReader implements Resumable {
  readonly socket: StreamSocket;
  readonly owner: HalfOwner;
  bytesRead = 0;
  /** Moves bytes from this half while it is set. */
  source: HalfPump | undefined;
  /** Whether unread data is to be dropped. */
  isDropped = false;
  /** Chunks that were put back, the next one first. */
  #front: Uint8Array[] = [];
  /**
   * The pending read; created by the first read that waits: flows that the kernel relays need none, and use less
   * memory.
   */
  #pending: PendingRead<Uint8Array> | undefined;
  #ended = false;
  #error: Error | undefined;
  /** The failure of the connection, while bytes received before remain unread. */
  #failure: Error | undefined;
  /** The turn in which this link last read, and the number of its reads. */
  #turn = -1;
  #reads = 0;
  /** Bytes read since the socket was last empty. */
  #readAtOnce = 0;
  #deferred = false;

  constructor(socket: StreamSocket, owner: HalfOwner) {
    this.socket = socket;
    this.owner = owner;
  }

  /** Whether the peer's end of stream has been read. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The error that reads reject with. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** The failure that is reported at the end of the received bytes. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Whether bytes received before a failure of the connection remain. */
  get mayHaveMore(): boolean {
    if (this.#ended) return false;
    return this.socket.unread() > 0 || this.source?.isWaiting === false;
  }

  /** Whether chunks were put back, which precede the bytes of the socket. */
  get hasFront(): boolean {
    return this.#front.length > 0;
  }

  /** Whether a read or a transfer is pending. */
  get isInUse(): boolean {
    return this.#isPending() || this.source !== undefined;
  }

  /** Whether this half waits for an event of the poller. */
  get isWaiting(): boolean {
    return (this.#isPending() && !this.#deferred) || (this.source?.isWaiting ?? false);
  }

  read(signal: AbortSignal | undefined): Promise<Uint8Array | undefined> {
    if (this.isInUse) return Promise.reject(new LinkClosedError('a read is already pending'));
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.#front.length > 0) return Promise.resolve(this.#front.shift());
    if (this.#error) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(undefined);
    const mayRead = this.#mayRead();
    if (mayRead) {
      // Receives before each wait, so that the wait is only for bytes that arrive later.
      const chunk = this.#receive();
      if (chunk === FAILED) return Promise.reject(this.#error ?? new LinkClosedError());
      if (chunk !== NOTHING_YET) return Promise.resolve(chunk);
    }
    const chunk = (this.#pending ??= new PendingRead()).wait(signal);
    if (mayRead) this.owner.waits();
    else this.#defer();
    return chunk;
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#front.unshift(chunk);
  }

  /** Returns the next chunk that was put back. */
  takeFront(): Uint8Array | undefined {
    return this.#front.shift();
  }

  /** Called when the socket is readable. */
  onReadable(): void {
    if (this.source) this.source.pump();
    else if (this.#isPending()) this.#receiveForRead();
  }

  /** Continues a read that was deferred to this turn. */
  resume(): void {
    this.#deferred = false;
    if (!this.#isPending()) return;
    this.#receiveForRead();
    if (this.#isPending()) this.owner.waits();
  }

  /** Ends this half after the peer's end of stream. */
  end(): void {
    this.#ended = true;
    this.owner.halfEnded();
  }

  /** Drops chunks that were put back, since the link is destroyed. */
  drop(): void {
    this.isDropped = true;
    this.#front = [];
  }

  /** Rejects the pending read, and every later one for which no chunk was put back. */
  fail(reason: Error): void {
    this.#error ??= reason;
    this.#pending?.reject(reason);
    this.source?.fail(reason, 'from');
  }

  /**
   * Keeps a failure for the end of the data: the kernel reports it once, and the end then looks like that of the
   * stream.
   */
  failAtEnd(error: Error): void {
    this.#failure ??= error;
    this.source?.sourceFailed(error);
  }

  #isPending(): boolean {
    return this.#pending?.isPending ?? false;
  }

  /** Counts a read of this turn; returns false when the share of the link or of the thread is used up. */
  #mayRead(): boolean {
    const { poller } = this.socket.io;
    if (this.#turn !== poller.turn) {
      this.#turn = poller.turn;
      this.#reads = 0;
    }
    return poller.mayMove && this.#reads++ < READS_A_TURN;
  }

  #defer(): void {
    if (this.#deferred) return;
    this.#deferred = true;
    this.socket.io.poller.later(this, this.#readAtOnce);
  }

  /** Returns the next chunk, `undefined` at the end. After FAILED the link is closed. */
  #receive(): Uint8Array | undefined | typeof NOTHING_YET | typeof FAILED {
    const { io } = this.socket;
    const count = this.socket.receive();
    if (count > 0) {
      this.bytesRead += count;
      this.#readAtOnce += count;
      io.poller.moved(count);
      const chunk = ownChunk(count);
      io.scratch.bytes.copy(chunk, 0, 0, count);
      return chunk;
    }
    if (count === AGAIN) {
      this.#readAtOnce = 0;
      return NOTHING_YET;
    }
    if (count === 0 && !this.#failure) {
      this.end();
      return undefined;
    }
    this.owner.fail(this.#failure ?? new SystemError('read', -count));
    return FAILED;
  }

  #receiveForRead(): void {
    if (!this.#mayRead()) {
      this.#defer();
      return;
    }
    const chunk = this.#receive();
    if (chunk === NOTHING_YET || chunk === FAILED) return;
    this.#pending?.resolve(chunk);
  }
}
