import { ByteQueue } from '@weir/base/bytes';
import { ProtocolError } from '@weir/io';
import { decodeHeader, HEADER_LIMIT, type FrameHeader } from './frame.ts';

/** A part of a stream of frames. */
export type MuxFrameEvent =
  /** The header of a frame; `length` bytes of data follow. */
  | { readonly kind: 'header'; readonly header: FrameHeader; readonly length: number }
  /** The next bytes of the frame's data; `last` when they complete it. */
  | { readonly kind: 'data'; readonly bytes: Uint8Array; readonly last: boolean };

const LENGTH_BYTES = 2;

/**
 * Decodes frames incrementally. Data is passed on in the pieces in which it was received, so that only
 * headers are kept.
 */
export class MuxFrameDecoder {
  readonly #queue = new ByteQueue();
  #header: FrameHeader | undefined;
  /** Bytes that remain of the current frame's data. */
  #left = 0;

  /**
   * Decodes a chunk. The generator must be exhausted before the next chunk.
   * @throws {ProtocolError} for an invalid frame.
   */
  *decode(chunk: Uint8Array): Generator<MuxFrameEvent, void, void> {
    this.#queue.push(chunk);
    for (;;) {
      const event = this.#left > 0 ? this.#data() : this.#frame();
      if (!event) return;
      yield event;
    }
  }

  #data(): MuxFrameEvent | undefined {
    const bytes = this.#queue.takeSome(this.#left);
    if (!bytes) return undefined;
    this.#left -= bytes.length;
    return { kind: 'data', bytes, last: this.#left === 0 };
  }

  #frame(): MuxFrameEvent | undefined {
    this.#header ??= this.#takeHeader();
    const header = this.#header;
    if (!header) return undefined;
    if (header.hasData) {
      const length = this.#queue.take(LENGTH_BYTES);
      if (!length) return undefined;
      this.#left = readLength(length);
    }
    this.#header = undefined;
    return { kind: 'header', header, length: this.#left };
  }

  #takeHeader(): FrameHeader | undefined {
    const prefix = this.#queue.peek(LENGTH_BYTES);
    if (!prefix) return undefined;
    const length = readLength(prefix);
    if (length > HEADER_LIMIT) throw new ProtocolError(`mux: a frame header has ${length} bytes`);
    const bytes = this.#queue.take(LENGTH_BYTES + length);
    return bytes && decodeHeader(bytes.subarray(LENGTH_BYTES));
  }
}

const readLength = ([high = 0, low = 0]: Uint8Array): number => (high << 8) | low;
