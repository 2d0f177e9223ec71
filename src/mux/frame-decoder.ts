import { ByteQueue } from '../net/byte-queue.ts';
import { ProtocolError } from '../net/errors.ts';
import { decodeHead, HEAD_LIMIT, type FrameHead } from './frame.ts';

/** What a stream of frames consists of. */
export type FrameEvent =
  /** A frame begins; `length` bytes of data follow, 0 when it has none. */
  | { readonly kind: 'head'; readonly head: FrameHead; readonly length: number }
  /** The next bytes of the frame's data; `last` when they complete it. */
  | { readonly kind: 'data'; readonly bytes: Uint8Array; readonly last: boolean };

const LENGTH_BYTES = 2;

/**
 * Takes frames apart as their bytes come. Data is given out in the pieces that it came in, so that
 * a stream needs no frame to be whole and nothing but heads is ever kept.
 */
export class FrameDecoder {
  readonly #queue = new ByteQueue();
  #head: FrameHead | undefined;
  /** Bytes of data that are still to come. */
  #left = 0;

  /**
   * What is known with this chunk. The events must be taken to the end before the next chunk.
   * @throws {ProtocolError} when the stream is none of frames.
   */
  *decode(chunk: Uint8Array): Generator<FrameEvent, void, void> {
    this.#queue.push(chunk);
    for (;;) {
      const event = this.#left > 0 ? this.#data() : this.#frame();
      if (!event) return;
      yield event;
    }
  }

  #data(): FrameEvent | undefined {
    const bytes = this.#queue.takeSome(this.#left);
    if (!bytes) return undefined;
    this.#left -= bytes.length;
    return { kind: 'data', bytes, last: this.#left === 0 };
  }

  #frame(): FrameEvent | undefined {
    this.#head ??= this.#takeHead();
    const head = this.#head;
    if (!head) return undefined;
    if (head.hasData) {
      const length = this.#queue.take(LENGTH_BYTES);
      if (!length) return undefined;
      this.#left = readLength(length);
    }
    this.#head = undefined;
    return { kind: 'head', head, length: this.#left };
  }

  #takeHead(): FrameHead | undefined {
    const prefix = this.#queue.peek(LENGTH_BYTES);
    if (!prefix) return undefined;
    const length = readLength(prefix);
    if (length > HEAD_LIMIT)
      throw new ProtocolError(`mux: the head of a frame has ${length} bytes`);
    const bytes = this.#queue.take(LENGTH_BYTES + length);
    return bytes && decodeHead(bytes.subarray(LENGTH_BYTES));
  }
}

const readLength = ([high = 0, low = 0]: Uint8Array): number => (high << 8) | low;
