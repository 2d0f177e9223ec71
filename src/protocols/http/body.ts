import type { Framing } from '../../http1/framing.ts';
import { MessageError } from '../../http1/message-error.ts';
import { hasControl } from '../../net/http-text.ts';
import { parseField, type Field } from '../../http1/fields.ts';
import { CHUNK_LINE_LIMIT, TRAILER_LIMIT } from './limits.ts';
import { FIELD_LIMIT } from '../../http1/limits.ts';

/** Removes the framing of a body, chunk by chunk, without copying or buffering. */
export interface BodyDecoder {
  readonly done: boolean;
  /** Complete once `done`. */
  readonly trailers: readonly Field[];
  /**
   * Appends the payload in `chunk` to `out`, as views, and returns the number of bytes that belong
   * to the body; those after them belong to the next message.
   *
   * @throws {MessageError} 400 when the framing is invalid.
   */
  push(chunk: Uint8Array, out: Uint8Array[]): number;
  /**
   * The stream has ended.
   * @throws {MessageError} when that truncates the body.
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

/** Adds a framing to payload. */
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

/** `keepTrailer` selects the trailer fields that are forwarded. */
export function chunkedEncoder(keepTrailer: (trailer: Field) => boolean): BodyEncoder {
  return {
    frame: (pieces) => frameChunk(pieces.length > GATHER_LIMIT ? [Buffer.concat(pieces)] : pieces),
    finish: (trailers) => [frameLastChunk(trailers.filter(keepTrailer))],
  };
}

const LF = 0x0a;
// 13 hexadecimal digits stay below 2^53.
const CHUNK_SIZE = /^0*([0-9A-Fa-f]{1,13})(?:[ \t]*;.*)?$/;

type State = 'size' | 'data' | 'data-end' | 'trailers' | 'done';

/**
 * Decodes the chunked coding (RFC 9112 §7.1), wherever its chunks are split. Extensions are ignored,
 * trailers are kept. Lines must end in CR LF: recipients differ in how they treat a bare LF.
 */
export class ChunkedDecoder implements BodyDecoder {
  #state: State = 'size';
  /** Bytes that remain of the chunk. */
  #left = 0;
  #line = '';
  #trailerBytes = 0;
  readonly #trailers: Field[] = [];

  get done(): boolean {
    return this.#state === 'done';
  }

  get trailers(): readonly Field[] {
    return this.#trailers;
  }

  push(chunk: Uint8Array, out: Uint8Array[]): number {
    let at = 0;
    while (at < chunk.length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const piece = chunk.subarray(at, at + this.#left);
        out.push(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#state = 'data-end';
        continue;
      }
      const end = chunk.indexOf(LF, at);
      const stop = end < 0 ? chunk.length : end + 1;
      this.#addToLine(chunk.subarray(at, stop));
      at = stop;
      if (end >= 0) this.#endLine();
    }
    return at;
  }

  end(): void {
    if (!this.done) throw new MessageError(400, 'the peer closed in the middle of a chunked body');
  }

  #addToLine(bytes: Uint8Array): void {
    this.#line += Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    // Excess data is detected before the end of its line, which may never arrive.
    if (this.#state === 'data-end' && !'\r\n'.startsWith(this.#line)) {
      throw new MessageError(400, 'a chunk is longer than its size');
    }
    if (this.#line.length > this.#lineLimit()) {
      throw new MessageError(400, 'a line of a chunked body is too long');
    }
  }

  #lineLimit(): number {
    if (this.#state === 'trailers') return TRAILER_LIMIT - this.#trailerBytes;
    return CHUNK_LINE_LIMIT;
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = '';
    if (!line.endsWith('\r\n')) {
      throw new MessageError(400, 'a line of a chunked body does not end in CR LF');
    }
    if (this.#state === 'size') this.#startChunk(line.slice(0, -2));
    else if (this.#state === 'data-end') this.#state = 'size';
    else this.#addTrailer(line.slice(0, -2), line.length);
  }

  #startChunk(line: string): void {
    const digits = CHUNK_SIZE.exec(line)?.[1];
    if (digits === undefined || hasControl(line)) {
      throw new MessageError(400, 'the size of a chunk is invalid');
    }
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'data';
  }

  #addTrailer(line: string, bytes: number): void {
    if (line === '') {
      this.#state = 'done';
      return;
    }
    this.#trailerBytes += bytes;
    if (this.#trailers.length >= FIELD_LIMIT) throw new MessageError(400, 'too many trailer lines');
    this.#trailers.push(parseField(line));
  }
}

const CRLF = Buffer.from('\r\n');

/** One chunk around the given pieces, which hold at least one byte in all. */
export function frameChunk(pieces: readonly Uint8Array[]): Uint8Array[] {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return [Buffer.from(`${length.toString(16)}\r\n`, 'latin1'), ...pieces, CRLF];
}

/** The last chunk with the trailer section after it. */
export function frameLastChunk(trailers: readonly Field[]): Uint8Array {
  const lines = trailers.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`0\r\n${lines}\r\n`, 'latin1');
}
