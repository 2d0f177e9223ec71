import {
  createOpener,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
} from '../../crypto/aead.ts';
import { AEAD_SHAPES } from '../../crypto/aead.ts';
import { NonceCounter } from '../../crypto/nonce-counter.ts';
import { ProtocolError } from '../../net/errors.ts';
import type { Method } from './methods.ts';

/** A sealed length: two bytes and their tag. */
export const LENGTH_CHUNK = 2 + TAG_LENGTH;

/** Seals the chunks of one stream under one subkey, with a nonce that counts. */
export class ChunkSealer implements Disposable {
  readonly #sealer: Sealer;
  readonly #nonce: NonceCounter;
  readonly #maxChunk: number;
  readonly #length = Buffer.alloc(2);

  constructor({ aead, maxChunk }: Method, subkey: Uint8Array) {
    this.#sealer = createSealer(aead, subkey);
    this.#nonce = new NonceCounter(AEAD_SHAPES[aead].nonceLength);
    this.#maxChunk = maxChunk;
  }

  /** Seals one piece on its own (a header) to `out` at `offset`; the offset after it. */
  piece(plain: Uint8Array, out: Buffer, offset: number): number {
    const end = offset + plain.length + TAG_LENGTH;
    this.#sealer.seal(this.#nonce.bytes, plain, out.subarray(offset, end));
    this.#nonce.next();
    return end;
  }

  /** Bytes that `payload` bytes of one write become. */
  sealedLength(payload: number): number {
    return payload + Math.ceil(payload / this.#maxChunk) * (LENGTH_CHUNK + TAG_LENGTH);
  }

  /** Seals payload as chunks of length and data to `out` at `offset`; the offset after them. */
  payload(plain: Uint8Array, out: Buffer, offset: number): number {
    for (let at = 0; at < plain.length; at += this.#maxChunk) {
      const part = plain.length <= this.#maxChunk ? plain : plain.subarray(at, at + this.#maxChunk);
      this.#length.writeUInt16BE(part.length);
      offset = this.piece(this.#length, out, offset);
      offset = this.piece(part, out, offset);
    }
    return offset;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }
}

/** What a stream waits for next. */
type Expected = { readonly kind: 'length' } | { readonly kind: 'payload'; readonly length: number };

const LENGTH: Expected = { kind: 'length' };
const NOTHING = Buffer.alloc(0);

/**
 * Opens the chunks of one stream, whatever pieces they arrive in. At most one chunk is kept.
 */
export class ChunkOpener implements Disposable {
  readonly #opener: Opener;
  readonly #nonce: NonceCounter;
  readonly #maxChunk: number;
  readonly #length = Buffer.alloc(2);
  #expected: Expected = LENGTH;
  /** The start of a piece that has not come whole, and how much of it is there. */
  #partial: Buffer = NOTHING;
  #have = 0;

  /** Takes over `opener`, keyed; `used` pieces were opened with it already. */
  constructor({ aead, maxChunk }: Method, subkey: Uint8Array) {
    this.#opener = createOpener(aead, subkey);
    this.#nonce = new NonceCounter(AEAD_SHAPES[aead].nonceLength);
    this.#maxChunk = maxChunk;
  }

  /** Whether the stream may end here: between two chunks. */
  get atBoundary(): boolean {
    return this.#expected.kind === 'length' && this.#have === 0;
  }

  /**
   * Opens one piece that stands on its own (a header).
   * @throws {ProtocolError} when it is not authentic.
   */
  piece(sealed: Uint8Array): Buffer {
    const plain = Buffer.allocUnsafe(Math.max(0, sealed.length - TAG_LENGTH));
    this.#open(sealed, plain);
    return plain;
  }

  /** Says that the next piece is payload of that length: it was told in a header. */
  expectPayload(length: number): void {
    this.#expected = { kind: 'payload', length };
  }

  /**
   * The payload that is whole with these bytes: nothing when they only begin a chunk.
   * @throws {ProtocolError} when a chunk is not authentic, or longer than the method allows.
   */
  push(input: Uint8Array): Uint8Array {
    // Payload is never longer than what it came in.
    const out = Buffer.allocUnsafe(this.#have + input.length);
    let filled = 0;
    let at = 0;
    for (;;) {
      const needed = this.#needed();
      let sealed: Uint8Array;
      if (this.#have > 0) {
        const missing = Math.min(needed - this.#have, input.length - at);
        this.#partial.set(input.subarray(at, at + missing), this.#have);
        this.#have += missing;
        at += missing;
        if (this.#have < needed) break;
        sealed = this.#partial.subarray(0, needed);
        this.#have = 0;
      } else {
        if (input.length - at < needed) {
          this.#keep(input.subarray(at), needed);
          break;
        }
        sealed = input.subarray(at, at + needed);
        at += needed;
      }
      filled += this.#take(sealed, out.subarray(filled));
    }
    return filled === out.length ? out : out.subarray(0, filled);
  }

  [Symbol.dispose](): void {
    this.#opener[Symbol.dispose]();
  }

  #needed(): number {
    return this.#expected.kind === 'length' ? LENGTH_CHUNK : this.#expected.length + TAG_LENGTH;
  }

  /** Opens one whole piece; how many bytes of payload it gave. */
  #take(sealed: Uint8Array, out: Buffer): number {
    if (this.#expected.kind === 'payload') {
      const { length } = this.#expected;
      this.#open(sealed, out);
      this.#expected = LENGTH;
      return length;
    }
    this.#open(sealed, this.#length);
    const length = this.#length.readUInt16BE();
    if (length > this.#maxChunk) {
      throw new ProtocolError(`shadowsocks: a chunk of ${length} bytes is too long`);
    }
    this.#expected = { kind: 'payload', length };
    return 0;
  }

  #keep(rest: Uint8Array, needed: number): void {
    if (rest.length === 0) return;
    if (this.#partial.length < needed) this.#partial = Buffer.allocUnsafeSlow(needed);
    this.#partial.set(rest);
    this.#have = rest.length;
  }

  #open(sealed: Uint8Array, out: Uint8Array): void {
    if (!this.#opener.open(this.#nonce.bytes, sealed, out)) {
      throw new ProtocolError('shadowsocks: a chunk is not authentic');
    }
    this.#nonce.next();
  }
}
