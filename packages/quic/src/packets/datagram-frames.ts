import { QuicError, TransportErrorCode } from '../errors.ts';
import { copyBytes } from '@weir/base/bytes';
import { Fifo } from '@weir/base/collections';
import { MAX_QUEUED_DATAGRAM_BYTES, MAX_QUEUED_DATAGRAMS } from '../limits.ts';
import { datagramHeaderSize, fittingSize, writeDatagramHeader } from '../wire/frame-writers.ts';
import { FrameType, type FrameError } from '../wire/frame-types.ts';

/** Payloads in order, bounded in number and bytes; at the bound the newest is dropped. */
class DatagramQueue {
  readonly #payloads = new Fifo<Uint8Array>();
  #bytes = 0;
  dropped = 0;

  get size(): number {
    return this.#payloads.size;
  }

  /** Whether a payload of this size may be pushed; if not, it is counted as dropped. */
  admits(size: number): boolean {
    const isFull =
      this.#payloads.size >= MAX_QUEUED_DATAGRAMS || this.#bytes + size > MAX_QUEUED_DATAGRAM_BYTES;
    if (isFull) this.dropped++;
    return !isFull;
  }

  push(payload: Uint8Array): void {
    this.#payloads.push(payload);
    this.#bytes += payload.length;
  }

  peek(): Uint8Array | undefined {
    return this.#payloads.peek();
  }

  shift(): Uint8Array | undefined {
    const payload = this.#payloads.shift();
    if (payload) this.#bytes -= payload.length;
    return payload;
  }

  drop(): void {
    this.shift();
    this.dropped++;
  }
}

/**
 * DATAGRAM frames of a connection (RFC 9221), bounded in both directions. They are not retransmitted,
 * and are subject to congestion control but not to flow control (§5.3, §5.4).
 */
export class DatagramFrames {
  readonly #outgoing = new DatagramQueue();
  readonly #incoming = new DatagramQueue();
  readonly #maxFrameSize: number;
  /** The largest payload that `send` accepts now; 0 when the peer accepts none. */
  maxSize = 0;

  /** @param maxFrameSize the max_datagram_frame_size that this side announces; 0 accepts none. */
  constructor(maxFrameSize: number) {
    this.#maxFrameSize = maxFrameSize;
  }

  /**
   * Sets the largest size of a frame.
   *
   * @param peerFrameSize the peer's max_datagram_frame_size, with type and length; 0 for none (§3).
   * @param room bytes for frames in a packet of the path's current datagram size.
   */
  setLimits(peerFrameSize: number, room: number): void {
    const frameSize = Math.min(peerFrameSize, room);
    this.maxSize = Math.max(0, fittingSize(frameSize - 1, frameSize));
  }

  /** Queues a payload, which must no longer be changed; returns false when it was dropped: too large or full. */
  send(data: Uint8Array): boolean {
    if (data.length > this.maxSize || this.maxSize === 0) return false;
    if (!this.#outgoing.admits(data.length)) return false;
    this.#outgoing.push(data);
    return true;
  }

  /** Number of frames queued for sending. */
  get queued(): number {
    return this.#outgoing.size;
  }

  /** Number of received payloads not yet taken by `next`. */
  get waiting(): number {
    return this.#incoming.size;
  }

  /**
   * Number of payloads dropped in either direction: a queue was full, or the datagram size of the path has decreased.
   */
  get dropped(): number {
    return this.#outgoing.dropped + this.#incoming.dropped;
  }

  /** Whether `writeFrames` would write a frame into an empty packet. */
  get hasFrames(): boolean {
    this.#dropTooLarge();
    return this.#outgoing.size > 0;
  }

  /** Writes as many frames as fit. Returns the offset after them. */
  writeFrames(out: Uint8Array, at: number, limit: number): number {
    let next = at;
    for (;;) {
      this.#dropTooLarge();
      const payload = this.#outgoing.peek();
      if (!payload) return next;
      const size = payload.length;
      if (next + datagramHeaderSize(size) + size > limit) return next;
      const dataAt = writeDatagramHeader(out, next, size);
      copyBytes(payload, 0, size, out, dataAt);
      next = dataAt + size;
      this.#outgoing.shift();
    }
  }

  /**
   * Queues the payload of a received frame; its bytes are copied. A frame larger than announced is a PROTOCOL_VIOLATION
   * (§3).
   */
  datagram(bytes: Uint8Array, at: number, size: number): FrameError {
    // The size of the length field is ignored here: a frame may have none.
    if (this.#maxFrameSize === 0 || size + 1 > this.#maxFrameSize) {
      return new QuicError(
        TransportErrorCode.PROTOCOL_VIOLATION,
        'a datagram beyond what was announced',
        FrameType.DATAGRAM,
      );
    }
    if (!this.#incoming.admits(size)) return undefined;
    const payload = Buffer.allocUnsafe(size);
    copyBytes(bytes, at, size, payload, 0);
    this.#incoming.push(payload);
    return undefined;
  }

  /** Returns the next received payload, which the caller then owns. */
  next(): Uint8Array | undefined {
    return this.#incoming.shift();
  }

  /** Drops payloads that were queued before the datagram size of the path decreased. */
  #dropTooLarge(): void {
    let payload = this.#outgoing.peek();
    while (payload && payload.length > this.maxSize) {
      this.#outgoing.drop();
      payload = this.#outgoing.peek();
    }
  }
}
