import {
  createOpener,
  createSealer,
  type Opener,
  type Sealer,
  TAG_LENGTH,
} from '@weir/crypto/aead';
import { Shake128Stream } from '@weir/crypto/hash/shake128';
import { ProtocolError } from '@weir/io';
import { ownChunk } from '@weir/io/links';
import { PieceReader } from '@weir/base/bytes';
import type { RandomSource } from '@weir/base/random';
import { type BodyKeys, ChunkNonce } from './body-keys.ts';

/** Bytes below which the padding of a chunk remains. */
const CHUNK_PADDING_LIMIT = 64;

const NOTHING = new Uint8Array(0);

/** The stream of 16-bit numbers that mask lengths and determine the length of padding. */
class Masks {
  readonly #stream: Shake128Stream;
  #block: Uint8Array = NOTHING;
  #at = 0;

  constructor(iv: Uint8Array) {
    this.#stream = new Shake128Stream(iv);
  }

  next(): number {
    if (this.#at === this.#block.length) {
      this.#block = this.#stream.next();
      this.#at = 0;
    }
    const high = this.#block[this.#at++] ?? 0;
    return (high << 8) | (this.#block[this.#at++] ?? 0);
  }
}

/** Values that both ends derive for a chunk before its length is known. */
interface ChunkShape {
  readonly padding: number;
  readonly mask: number;
}

/** The shapes of the chunks of one direction, in order. */
class ChunkShapes {
  readonly #masks: Masks | undefined;
  readonly #keys: BodyKeys;

  constructor(keys: BodyKeys) {
    this.#keys = keys;
    this.#masks = keys.masking ? new Masks(keys.iv) : undefined;
  }

  next(): ChunkShape {
    if (!this.#masks) return PLAIN_SHAPE;
    // Both ends take these numbers from one stream, in this order.
    const padding = this.#keys.padding ? this.#masks.next() % CHUNK_PADDING_LIMIT : 0;
    const mask = this.#keys.lengths ? 0 : this.#masks.next();
    return { padding, mask };
  }
}

const PLAIN_SHAPE: ChunkShape = { padding: 0, mask: 0 };

/** Returns the size in bytes of the length field of a chunk. */
const lengthFieldOf = ({ lengths }: BodyKeys): number => (lengths ? 2 + TAG_LENGTH : 2);

/** Writes the lengths of chunks, one after the other. */
export class LengthWriter implements Disposable {
  readonly field: number;
  readonly #shapes: ChunkShapes;
  readonly #nonce: ChunkNonce | undefined;
  readonly #sealer: Sealer | undefined;
  readonly #plain = new Uint8Array(2);

  constructor(keys: BodyKeys) {
    this.field = lengthFieldOf(keys);
    this.#shapes = new ChunkShapes(keys);
    if (keys.lengths) {
      this.#nonce = new ChunkNonce(keys.lengths.iv);
      this.#sealer = createSealer(keys.cipher, keys.lengths.key);
    }
  }

  /** Returns the shape of the next chunk. */
  shape(): ChunkShape {
    return this.#shapes.next();
  }

  /** Writes the length of a chunk (sealed bytes and padding) to `out`; must be called in the order of shapes. */
  write(length: number, { mask }: ChunkShape, out: Uint8Array): void {
    const plain = this.#sealer ? this.#plain : out;
    // A sealed length does not count the tag.
    const value = (this.#sealer ? length - TAG_LENGTH : length) ^ mask;
    plain[0] = value >> 8;
    plain[1] = value & 0xff;
    if (this.#nonce) this.#sealer?.seal(this.#nonce.next(), this.#plain, out);
  }

  [Symbol.dispose](): void {
    this.#sealer?.[Symbol.dispose]();
  }
}

/** The length of a chunk in bytes, and that of its padding. */
interface ChunkLength {
  readonly length: number;
  readonly padding: number;
}

/** Reads the lengths of chunks, one after the other. */
export class LengthReader implements Disposable {
  readonly field: number;
  readonly #shapes: ChunkShapes;
  readonly #nonce: ChunkNonce | undefined;
  readonly #opener: Opener | undefined;
  readonly #plain = new Uint8Array(2);

  constructor(keys: BodyKeys) {
    this.field = lengthFieldOf(keys);
    this.#shapes = new ChunkShapes(keys);
    if (keys.lengths) {
      this.#nonce = new ChunkNonce(keys.lengths.iv);
      this.#opener = createOpener(keys.cipher, keys.lengths.key);
    }
  }

  /** Decodes a length field; `undefined` when it is not authentic. */
  read(field: Uint8Array): ChunkLength | undefined {
    let plain = field;
    if (this.#nonce && this.#opener) {
      if (!this.#opener.open(this.#nonce.next(), field, this.#plain)) return undefined;
      plain = this.#plain;
    }
    const { padding, mask } = this.#shapes.next();
    const value = (((plain[0] ?? 0) << 8) | (plain[1] ?? 0)) ^ mask;
    return { length: this.#opener ? value + TAG_LENGTH : value, padding };
  }

  [Symbol.dispose](): void {
    this.#opener?.[Symbol.dispose]();
  }
}

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
