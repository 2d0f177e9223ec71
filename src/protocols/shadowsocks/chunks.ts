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
import { PieceReader } from '../../net/piece-reader.ts';
import { ownChunk } from '../../net/spent-chunk.ts';
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

/** A piece of payload that came whole, and the nonce that it was sealed with. */
interface SealedPayload {
  readonly sealed: Uint8Array;
  readonly nonce: number;
}

const NOTHING = new Uint8Array(0);

/**
 * Opens the chunks of one stream, whatever pieces they arrive in. At most one chunk is kept.
 */
export class ChunkOpener implements Disposable {
  readonly #opener: Opener;
  readonly #nonce: NonceCounter;
  readonly #maxChunk: number;
  readonly #length = Buffer.alloc(2);
  readonly #pieces = new PieceReader();
  /** Sealed pieces so far, lengths and payload alike. */
  #count = 0;
  /** Of the payload that comes next; `undefined` where a length does. */
  #expected: number | undefined;

  constructor({ aead, maxChunk }: Method, subkey: Uint8Array) {
    this.#opener = createOpener(aead, subkey);
    this.#nonce = new NonceCounter(AEAD_SHAPES[aead].nonceLength);
    this.#maxChunk = maxChunk;
  }

  /** Whether the stream may end here: between two chunks. */
  get atBoundary(): boolean {
    return this.#expected === undefined && this.#pieces.held === 0;
  }

  /**
   * Opens one piece that stands on its own (a header).
   * @throws {ProtocolError} when it is not authentic.
   */
  piece(sealed: Uint8Array): Buffer {
    const plain = Buffer.allocUnsafe(Math.max(0, sealed.length - TAG_LENGTH));
    this.#open(sealed, this.#count++, plain);
    return plain;
  }

  /** Says that the next piece is payload of that length: it was told in a header. */
  expectPayload(length: number): void {
    this.#expected = length;
  }

  /**
   * The payload that is whole with these bytes: nothing when they only begin a chunk.
   * @throws {ProtocolError} when a chunk is not authentic, or longer than the method allows.
   */
  push(input: Uint8Array): Uint8Array {
    this.#pieces.feed(input);
    const payloads: SealedPayload[] = [];
    let total = 0;
    for (;;) {
      this.#expected ??= this.#takeLength();
      if (this.#expected === undefined) break;
      const sealed = this.#pieces.take(this.#expected + TAG_LENGTH);
      if (!sealed) break;
      payloads.push({ sealed, nonce: this.#count++ });
      total += this.#expected;
      this.#expected = undefined;
    }
    const payload = this.#openAll(payloads, total);
    this.#pieces.keep();
    return payload;
  }

  [Symbol.dispose](): void {
    this.#opener[Symbol.dispose]();
  }

  /** Opens payload into one buffer, of exactly its size: what follows moves and frees it as one. */
  #openAll(payloads: readonly SealedPayload[], total: number): Uint8Array {
    const out = total === 0 ? NOTHING : ownChunk(total);
    let filled = 0;
    for (const { sealed, nonce } of payloads) {
      const end = filled + sealed.length - TAG_LENGTH;
      this.#open(sealed, nonce, out.subarray(filled, end));
      filled = end;
    }
    return out;
  }

  #takeLength(): number | undefined {
    const sealed = this.#pieces.take(LENGTH_CHUNK);
    if (!sealed) return undefined;
    this.#open(sealed, this.#count++, this.#length);
    const length = this.#length.readUInt16BE();
    if (length > this.#maxChunk) {
      throw new ProtocolError(`shadowsocks: a chunk of ${length} bytes is too long`);
    }
    return length;
  }

  #open(sealed: Uint8Array, nonce: number, out: Uint8Array): void {
    if (!this.#opener.open(this.#nonce.at(nonce), sealed, out)) {
      throw new ProtocolError('shadowsocks: a chunk is not authentic');
    }
  }
}
