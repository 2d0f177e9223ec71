import { ProtocolError } from '@weir/io';
import { ownChunk } from '@weir/io/links';
import {
  createOpener,
  TAG_LENGTH,
  type Opener,
  createSealer,
  type Sealer,
} from '@weir/crypto/aead';
import { ChunkNonce, type BodyKeys } from './body-keys.ts';
import {
  LengthReader,
  type ChunkLength,
  LengthWriter,
  CHUNK_PADDING_LIMIT,
  type ChunkShape,
} from './chunk-lengths.ts';
import { PieceReader } from '@weir/base/bytes';
import type { RandomSource } from '@weir/base/random';

/** The receiving half of a body. */
export interface PayloadDecoder extends Disposable {
  /**
   * Decodes bytes of the carrier and returns the payload that they complete, which may be empty.
   *
   * @param ends receives the offset in the payload after each chunk.
   * @throws {ProtocolError} when the bytes are not authentic.
   */
  push(bytes: Uint8Array, ends?: number[]): Uint8Array;
  /** Number of chunks opened so far. */
  readonly chunks: number;
  /** Whether the empty chunk that ends the body was received. */
  readonly ended: boolean;
  /** Whether the carrier may end here: some peers send no empty chunk. */
  readonly mayEnd: boolean;
}

const NOTHING = new Uint8Array(0);

/**
 * Opens the chunks of one direction of a body, whatever the boundaries of received pieces. Holds at most one chunk of
 * 64 KiB.
 */
export class BodyOpener implements PayloadDecoder {
  readonly #lengths: LengthReader;
  readonly #nonce: ChunkNonce;
  readonly #opener: Opener;
  readonly #pieces = new PieceReader();
  chunks = 0;
  #chunk: ChunkLength | undefined;
  #ended = false;

  constructor(keys: BodyKeys) {
    this.#lengths = new LengthReader(keys);
    this.#nonce = new ChunkNonce(keys.iv);
    this.#opener = createOpener(keys.cipher, keys.key);
  }

  get ended(): boolean {
    return this.#ended;
  }

  get mayEnd(): boolean {
    return this.#chunk === undefined && this.#pieces.held === 0;
  }

  push(bytes: Uint8Array, ends?: number[]): Uint8Array {
    if (this.#ended) return NOTHING;
    this.#pieces.feed(bytes);
    const chunks: Uint8Array[] = [];
    let total = 0;
    for (;;) {
      this.#chunk ??= this.#readLength();
      if (!this.#chunk) break;
      const { length, padding } = this.#chunk;
      const chunk = this.#pieces.take(length);
      if (!chunk) break;
      this.#chunk = undefined;
      const payload = length - padding - TAG_LENGTH;
      chunks.push(chunk.subarray(0, length - padding));
      total += payload;
      if (payload === 0) break;
    }
    const payload = this.#open(chunks, total, ends);
    if (!this.#ended) this.#pieces.keep();
    return payload;
  }

  /** Opens chunks into one buffer of exactly their size, so that it is passed on as one chunk. */
  #open(chunks: readonly Uint8Array[], total: number, ends: number[] | undefined): Uint8Array {
    const out = total === 0 ? NOTHING : ownChunk(total);
    let filled = 0;
    for (const sealed of chunks) {
      const end = filled + sealed.length - TAG_LENGTH;
      if (!this.#opener.open(this.#nonce.next(), sealed, out.subarray(filled, end))) {
        throw new ProtocolError('a chunk of the VMess body is not authentic');
      }
      // The empty chunk is authenticated: a forged length alone cannot end the body.
      if (end === filled) this.#ended = true;
      else ends?.push(end);
      filled = end;
    }
    this.chunks += chunks.length;
    return out;
  }

  #readLength(): ChunkLength | undefined {
    const field = this.#pieces.take(this.#lengths.field);
    if (!field) return undefined;
    const chunk = this.#lengths.read(field);
    if (!chunk || chunk.length - chunk.padding < TAG_LENGTH) {
      throw new ProtocolError('the length of a chunk of the VMess body is wrong');
    }
    return chunk;
  }

  [Symbol.dispose](): void {
    this.#lengths[Symbol.dispose]();
    this.#opener[Symbol.dispose]();
  }
}

/** The longest chunk of a stream in bytes, padding included, that every peer accepts (2^14). */
const STREAM_CHUNK = 16_384;
/** The largest length that 16 bits can express. */
const LONGEST_CHUNK = 0xffff;

/** The payload of the longest chunk, in bytes. */
const STREAM_PIECE = STREAM_CHUNK - TAG_LENGTH - CHUNK_PADDING_LIMIT;
export const LONGEST_DATAGRAM = LONGEST_CHUNK - TAG_LENGTH - CHUNK_PADDING_LIMIT;

/** Seals payload as the chunks of one direction of a body. */
export class BodySealer implements Disposable {
  readonly #lengths: LengthWriter;
  readonly #nonce: ChunkNonce;
  readonly #sealer: Sealer;
  readonly #random: RandomSource;
  readonly #terminated: boolean;

  constructor(keys: BodyKeys, random: RandomSource) {
    this.#lengths = new LengthWriter(keys);
    this.#nonce = new ChunkNonce(keys.iv);
    this.#sealer = createSealer(keys.cipher, keys.key);
    this.#random = random;
    this.#terminated = keys.terminated;
  }

  /** Seals a piece of a stream, which must not be empty, as chunks after `preface`. */
  stream(payload: Uint8Array, preface?: Uint8Array): Uint8Array {
    return this.#seal(payload, STREAM_PIECE, preface);
  }

  /** Seals a datagram of 1 to `LONGEST_DATAGRAM` bytes as one chunk after `preface`. */
  datagram(payload: Uint8Array, preface?: Uint8Array): Uint8Array {
    return this.#seal(payload, LONGEST_DATAGRAM, preface);
  }

  /** Seals the end of the body after `preface`: an empty chunk, or nothing. */
  end(preface?: Uint8Array): Uint8Array {
    if (!this.#terminated) return preface ?? new Uint8Array(0);
    return this.#seal(new Uint8Array(0), STREAM_PIECE, preface);
  }

  #seal(payload: Uint8Array, longest: number, preface: Uint8Array | undefined): Uint8Array {
    const { field } = this.#lengths;
    const shapes: ChunkShape[] = [];
    let total = (preface?.length ?? 0) + payload.length;
    for (let left = payload.length; shapes.length === 0 || left > 0; left -= longest) {
      const shape = this.#lengths.shape();
      shapes.push(shape);
      total += field + TAG_LENGTH + shape.padding;
    }
    // One buffer of exactly the size of all chunks, so that it can be freed as a whole.
    const out = ownChunk(total);
    let at = 0;
    if (preface) {
      out.set(preface);
      at = preface.length;
    }
    let from = 0;
    for (const shape of shapes) {
      const piece = shapes.length === 1 ? payload : payload.subarray(from, from + longest);
      from += longest;
      const sealed = piece.length + TAG_LENGTH;
      this.#lengths.write(sealed + shape.padding, shape, out.subarray(at, at + field));
      at += field;
      this.#sealer.seal(this.#nonce.next(), piece, out.subarray(at, at + sealed));
      at += sealed;
      if (shape.padding > 0) this.#random.fill(out.subarray(at, at + shape.padding));
      at += shape.padding;
    }
    return out;
  }

  [Symbol.dispose](): void {
    this.#lengths[Symbol.dispose]();
    this.#sealer[Symbol.dispose]();
  }
}
