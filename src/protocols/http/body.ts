import { ChunkedDecoder, frameChunk, frameLastChunk } from './chunked.ts';
import { MessageError } from './errors.ts';
import type { Field } from './fields.ts';

/** How the end of a message body is told (RFC 9112 §6.3). */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

/** Takes the framing off a body, chunk by chunk, without copying and without keeping any of it. */
export interface BodyDecoder {
  readonly done: boolean;
  /** Complete once `done`. */
  readonly trailers: readonly Field[];
  /**
   * Appends the payload in `chunk` to `out`, as views, and gives the number of bytes that belong to
   * the body; what follows them is the next message's.
   *
   * @throws {MessageError} 400 when the framing is broken.
   */
  push(chunk: Uint8Array, out: Uint8Array[]): number;
  /**
   * The peer has closed.
   * @throws {MessageError} when the body is not complete by that.
   */
  end(): void;
}

export function createDecoder(framing: Framing): BodyDecoder {
  if (framing.kind === 'chunked') return new ChunkedDecoder();
  if (framing.kind === 'until-close') return new UntilCloseDecoder();
  return new LengthDecoder(framing.kind === 'length' ? framing.length : 0);
}

class LengthDecoder implements BodyDecoder {
  readonly trailers = [];
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  push(chunk: Uint8Array, out: Uint8Array[]): number {
    const piece = chunk.length <= this.#left ? chunk : chunk.subarray(0, this.#left);
    if (piece.length > 0) out.push(piece);
    this.#left -= piece.length;
    return piece.length;
  }

  end(): void {
    if (!this.done) {
      throw new MessageError(400, `the peer closed ${this.#left} bytes before the end of its body`);
    }
  }
}

class UntilCloseDecoder implements BodyDecoder {
  readonly trailers = [];
  #done = false;

  get done(): boolean {
    return this.#done;
  }

  push(chunk: Uint8Array, out: Uint8Array[]): number {
    if (chunk.length > 0) out.push(chunk);
    return chunk.length;
  }

  end(): void {
    this.#done = true;
  }
}

/** Puts a framing around payload that was taken out of another one. */
export interface BodyEncoder {
  /** The bytes to send for some payload, at least one byte of it. */
  frame(pieces: readonly Uint8Array[]): readonly Uint8Array[];
  /** The bytes to send after the last payload. */
  finish(trailers: readonly Field[]): readonly Uint8Array[];
}

export const plainEncoder: BodyEncoder = {
  frame: (pieces) => pieces,
  finish: () => [],
};

// Above this many pieces one copy is cheaper than a system call with as many buffers: a body of
// one-byte chunks must not cost the proxy more than its sender.
const GATHER_LIMIT = 16;

/** `keepTrailer` chooses the trailer lines that are sent on. */
export function chunkedEncoder(keepTrailer: (trailer: Field) => boolean): BodyEncoder {
  return {
    frame: (pieces) => frameChunk(pieces.length > GATHER_LIMIT ? [Buffer.concat(pieces)] : pieces),
    finish: (trailers) => [frameLastChunk(trailers.filter(keepTrailer))],
  };
}
