import { parseField, type FieldLine, MessageError } from './message.ts';
import type { Framing } from './head.ts';
import { CHUNK_LINE_LIMIT, FIELD_LINE_LIMIT, TRAILER_LIMIT } from '../limits.ts';

/** Removes the framing of a body as data arrives, without buffering. */
export interface BodyDecoder {
  readonly done: boolean;
  /** Number of chunks read so far: small chunks cost more than their bytes. */
  readonly chunks: number;
  /** The trailer fields, complete once `done` is set. */
  readonly trailers: readonly FieldLine[];
  /**
   * Appends the payload in `chunk` to `out`, as views or joined, and returns the number of bytes
   * that belong to the body; the rest belongs to the next message.
   *
   * @throws {MessageError} 400 if the framing is invalid.
   */
  push(chunk: Uint8Array, out: Uint8Array[]): number;
  /**
   * Called when the stream has ended.
   * @throws {MessageError} if the body is incomplete.
   */
  end(): void;
}

/** Creates the decoder of a body with this framing (RFC 9112 §6.3); it buffers no payload. */
export function createDecoder(framing: Framing): BodyDecoder {
  if (framing.kind === 'chunked') return new ChunkedDecoder();
  if (framing.kind === 'until-close') return new UntilCloseDecoder();
  return new LengthDecoder(framing.kind === 'length' ? framing.length : 0);
}

class LengthDecoder implements BodyDecoder {
  readonly chunks = 0;
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
  readonly chunks = 0;
  readonly trailers = [];
  done = false;

  push(chunk: Uint8Array, out: Uint8Array[]): number {
    if (chunk.length > 0) out.push(chunk);
    return chunk.length;
  }

  end(): void {
    this.done = true;
  }
}

/** Adds the framing of a body to its payload. */
export interface BodyEncoder {
  /** Returns the bytes to send for payload of at least one byte. */
  frame(pieces: readonly Uint8Array[]): readonly Uint8Array[];
  /** Returns the bytes to send after the last payload. */
  finish(trailers: readonly FieldLine[]): readonly Uint8Array[];
}

/** The encoder of a body whose length is announced, or that ends with its connection: it adds nothing. */
export const plainEncoder: BodyEncoder = {
  frame: (pieces) => pieces,
  finish: () => [],
};

// Beyond this number of pieces one copy is cheaper than a system call with one buffer per piece: a body of one-byte
// chunks must not cost the proxy more than its sender.
const GATHER_LIMIT = 16;

/** Creates an encoder of the chunked coding. `keepTrailer` selects the trailer fields to forward. */
export function chunkedEncoder(keepTrailer: (trailer: FieldLine) => boolean): BodyEncoder {
  return {
    frame: (pieces) => frameChunk(pieces.length > GATHER_LIMIT ? [Buffer.concat(pieces)] : pieces),
    finish: (trailers) => [frameLastChunk(trailers.filter(keepTrailer))],
  };
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const SEMICOLON = 0x3b;
const DEL = 0x7f;
/** Limit of hexadecimal digits of a chunk size: 13 digits are below 2^53. */
const MOST_DIGITS = 13;

/** The value of each hexadecimal digit; 16 for every other byte. */
const DIGIT = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? 16 : value;
});

/**
 * The parts of the line before a chunk: `digits [blanks] [; extensions] CR LF`. The grammar does not allow blanks
 * without an extension, but old servers pad sizes with them, and all recipients read the same size.
 */
const SizePart = { digits: 0, blanks: 1, extensions: 2, lf: 3 } as const;

type State = 'size' | 'data' | 'data-end' | 'trailers' | 'done';

const badSize = (): MessageError => new MessageError(400, 'the size of a chunk is invalid');
const badLineEnd = (): MessageError =>
  new MessageError(400, 'a line of a chunked body does not end in CR LF');

/**
 * Decodes the chunked coding (RFC 9112 §7.1), whatever the boundaries of the received pieces. Extensions are ignored,
 * trailers are kept. Lines must end in CR LF: recipients differ in how they treat a bare LF.
 *
 * Lines are read byte by byte, without a string or a view for each: a body of one-byte chunks has a line
 * for every byte.
 */
export class ChunkedDecoder implements BodyDecoder {
  chunks = 0;
  #state: State = 'size';
  /** Number of bytes left of the chunk; while its line is read, the size so far. */
  #left = 0;
  /** State within the line of a chunk: the part, digits without leading zeros, whether there was a digit, bytes. */
  #part: number = SizePart.digits;
  #digits = 0;
  #hasDigit = false;
  #lineBytes = 0;
  /** Whether the CR after a chunk was read. */
  #hasCr = false;
  /** The trailer line read so far. */
  #line = '';
  #trailerBytes = 0;
  readonly trailers: FieldLine[] = [];
  readonly #joiner = new PieceJoiner();

  get done(): boolean {
    return this.#state === 'done';
  }

  push(chunk: Uint8Array, out: Uint8Array[]): number {
    let at = 0;
    while (at < chunk.length && this.#state !== 'done') {
      if (this.#state === 'size') at = this.#readSize(chunk, at);
      else if (this.#state === 'data') at = this.#readData(chunk, at, out);
      else if (this.#state === 'data-end') at = this.#readDataEnd(chunk, at);
      else at = this.#readTrailer(chunk, at);
    }
    this.#joiner.end(out);
    return at;
  }

  end(): void {
    if (!this.done) throw new MessageError(400, 'the peer closed in the middle of a chunked body');
  }

  /** Reads the received part of the line before a chunk. Returns the offset after it. */
  #readSize(chunk: Uint8Array, offset: number): number {
    for (let at = offset; at < chunk.length; at++) {
      const byte = chunk[at] as number; // below the length
      if (++this.#lineBytes > CHUNK_LINE_LIMIT) {
        throw new MessageError(400, 'a line of a chunked body is too long');
      }
      if (this.#part === SizePart.lf) {
        if (byte !== LF) throw badSize();
        this.#part = SizePart.digits;
        this.#digits = 0;
        this.#hasDigit = false;
        this.#lineBytes = 0;
        this.chunks++;
        this.#state = this.#left === 0 ? 'trailers' : 'data';
        return at + 1;
      }
      if (byte === LF) throw badLineEnd();
      if (this.#part === SizePart.digits) {
        const digit = DIGIT[byte] as number; // one for each byte
        if (digit < 16) {
          this.#addDigit(digit);
          continue;
        }
        if (!this.#hasDigit) throw badSize();
      }
      this.#endDigits(byte);
    }
    return chunk.length;
  }

  #addDigit(digit: number): void {
    this.#hasDigit = true;
    if (digit === 0 && this.#digits === 0) return;
    if (++this.#digits > MOST_DIGITS) throw badSize();
    this.#left = this.#left * 16 + digit;
  }

  /** Processes a byte other than LF after the digits of a size. */
  #endDigits(byte: number): void {
    if (byte === CR) {
      this.#part = SizePart.lf;
    } else if (this.#part === SizePart.extensions) {
      if ((byte < SPACE && byte !== TAB) || byte === DEL) throw badSize();
    } else if (byte === SEMICOLON) {
      this.#part = SizePart.extensions;
    } else if (byte === SPACE || byte === TAB) {
      this.#part = SizePart.blanks;
    } else {
      throw badSize();
    }
  }

  #readData(chunk: Uint8Array, at: number, out: Uint8Array[]): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#joiner.add(chunk, at, end, out);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = 'data-end';
    return end;
  }

  /**
   * Reads the CR LF after a chunk. Excess data is detected at its first byte, since the end of the line may never
   * arrive.
   */
  #readDataEnd(chunk: Uint8Array, at: number): number {
    if (chunk[at] !== (this.#hasCr ? LF : CR)) {
      throw new MessageError(400, 'a chunk is longer than its size');
    }
    if (this.#hasCr) this.#state = 'size';
    this.#hasCr = !this.#hasCr;
    return at + 1;
  }

  /** Reads a trailer line up to its end. */
  #readTrailer(chunk: Uint8Array, at: number): number {
    const end = chunk.indexOf(LF, at);
    const stop = end < 0 ? chunk.length : end + 1;
    this.#line += Buffer.from(chunk.buffer, chunk.byteOffset + at, stop - at).toString('latin1');
    if (this.#line.length > TRAILER_LIMIT - this.#trailerBytes) {
      throw new MessageError(400, 'a line of a chunked body is too long');
    }
    if (end >= 0) this.#endTrailer();
    return stop;
  }

  #endTrailer(): void {
    const line = this.#line;
    this.#line = '';
    if (!line.endsWith('\r\n')) throw badLineEnd();
    if (line.length === 2) {
      this.#state = 'done';
      return;
    }
    this.#trailerBytes += line.length;
    if (this.trailers.length >= FIELD_LINE_LIMIT)
      throw new MessageError(400, 'too many trailer lines');
    this.trailers.push(parseField(line.slice(0, -2)));
  }
}

/** Pieces below this size are copied together, which costs less than a view and a system-call buffer for each. */
const SMALL_PIECE = 256;
const JOINED_BYTES = 16 << 10;

/** Joins consecutive small pieces of a chunk; returns larger ones as views. */
class PieceJoiner {
  #memory: Buffer | undefined;
  /** The bounds of the current piece in the memory. */
  #from = 0;
  #to = 0;

  add(chunk: Uint8Array, at: number, end: number, out: Uint8Array[]): void {
    const length = end - at;
    if (length >= SMALL_PIECE) {
      this.#flush(out);
      out.push(chunk.subarray(at, end));
      return;
    }
    if (!this.#memory || this.#to + length > this.#memory.length) {
      this.#flush(out);
      // The payload of the chunk is not longer than this.
      this.#memory = Buffer.allocUnsafe(
        Math.min(Math.max(length, chunk.length - at), JOINED_BYTES),
      );
      this.#from = this.#to = 0;
    }
    const memory = this.#memory;
    let to = this.#to;
    for (let i = at; i < end; i++) memory[to++] = chunk[i] as number; // below the length
    this.#to = to;
  }

  /** Called at the end of the chunk. */
  end(out: Uint8Array[]): void {
    if (!this.#memory) return;
    this.#flush(out);
    this.#memory = undefined;
    this.#from = this.#to = 0;
  }

  #flush(out: Uint8Array[]): void {
    if (this.#memory && this.#to > this.#from)
      out.push(this.#memory.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}

const CRLF = Buffer.from('\r\n');

/** Frames the given pieces, which together have at least one byte, as one chunk. */
function frameChunk(pieces: readonly Uint8Array[]): Uint8Array[] {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return [Buffer.from(`${length.toString(16)}\r\n`, 'latin1'), ...pieces, CRLF];
}

/** Returns the last chunk followed by the trailer section. */
function frameLastChunk(trailers: readonly FieldLine[]): Uint8Array {
  const lines = trailers.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`0\r\n${lines}\r\n`, 'latin1');
}
