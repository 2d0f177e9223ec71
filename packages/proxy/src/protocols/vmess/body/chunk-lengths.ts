import {
  createOpener,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
} from '@weir/crypto/aead';
import { Shake128Stream } from '@weir/crypto/hash/shake128';
import { ChunkNonce, type BodyKeys } from './body-keys.ts';

/** Bytes below which the padding of a chunk remains. */
export const CHUNK_PADDING_LIMIT = 64;

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
export interface ChunkShape {
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
export interface ChunkLength {
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
