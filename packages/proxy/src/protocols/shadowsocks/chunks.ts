import {
  AEAD_SHAPES,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
  NonceCounter,
} from '@weir/crypto/aead';
import { ProtocolError } from '@weir/io';
import { PieceReader } from '@weir/base/bytes';
import { ownChunk } from '@weir/io/links';
import type { Method } from './methods.ts';

/** The size in bytes of a sealed length: two bytes and their tag. */
export const LENGTH_CHUNK = 2 + TAG_LENGTH;

/** The length of a chunk while it is sealed or opened: that takes no turn of the event loop, so all streams share it. */
const LENGTH = Buffer.alloc(2);

/** Seals the chunks of one stream under one subkey, with a counter as the nonce. */
export class ChunkSealer implements Disposable {
  readonly #sealer: Sealer;
  readonly #nonce: NonceCounter;
  readonly #maxChunk: number;

  constructor({ aead, maxChunk }: Method, subkey: Uint8Array) {
    this.#sealer = createSealer(aead, subkey);
    this.#nonce = new NonceCounter(AEAD_SHAPES[aead].nonceLength);
    this.#maxChunk = maxChunk;
  }

  /** Seals a single piece, such as a header, to `out` at `offset`. @returns the offset after it. */
  piece(plain: Uint8Array, out: Buffer, offset: number): number {
    const end = offset + plain.length + TAG_LENGTH;
    this.#sealer.seal(this.#nonce.bytes, plain, out.subarray(offset, end));
    this.#nonce.next();
    return end;
  }

  /** Returns the length in bytes of `payload` bytes when sealed as chunks. */
  sealedLength(payload: number): number {
    return payload + Math.ceil(payload / this.#maxChunk) * (LENGTH_CHUNK + TAG_LENGTH);
  }

  /** Seals payload as chunks to `out` at `offset`. @returns the offset after them. */
  payload(plain: Uint8Array, out: Buffer, offset: number): number {
    for (let at = 0; at < plain.length; at += this.#maxChunk) {
      const part = plain.length <= this.#maxChunk ? plain : plain.subarray(at, at + this.#maxChunk);
      LENGTH.writeUInt16BE(part.length);
      offset = this.piece(LENGTH, out, offset);
      offset = this.piece(part, out, offset);
    }
    return offset;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }
}

/** A complete sealed piece of payload, and the number of its nonce. */
interface SealedPayload {
  readonly sealed: Uint8Array;
  readonly nonce: number;
}

const NOTHING = new Uint8Array(0);

/** Opens the chunks of one stream, whatever the boundaries of received pieces. Holds at most one chunk. */
export class ChunkOpener implements Disposable {
  readonly #opener: Opener;
  readonly #nonce: NonceCounter;
  readonly #maxChunk: number;
  readonly #pieces = new PieceReader();
  /** The number of the next nonce: the count of opened pieces so far, including lengths. */
  #count = 0;
  /** The length of the payload that is expected next; `undefined` when a length is expected. */
  #expected: number | undefined;

  /** @param opener a cipher under the subkey of the stream; disposed of with this. */
  constructor({ aead, maxChunk }: Method, opener: Opener) {
    this.#opener = opener;
    this.#nonce = new NonceCounter(AEAD_SHAPES[aead].nonceLength);
    this.#maxChunk = maxChunk;
  }

  /** Number of chunks whose payload was opened. */
  chunks = 0;

  /** Whether the stream may end here: between two chunks. */
  get atBoundary(): boolean {
    return this.#expected === undefined && this.#pieces.held === 0;
  }

  /**
   * Opens a single piece, such as a header.
   *
   * @throws {ProtocolError} when it is not authentic.
   */
  piece(sealed: Uint8Array): Buffer {
    const plain = Buffer.allocUnsafe(Math.max(0, sealed.length - TAG_LENGTH));
    this.#open(sealed, this.#count++, plain);
    return plain;
  }

  /** Sets that payload is expected next, without a length chunk: a header has stated its length. */
  expectPayload(length: number): void {
    this.#expected = length;
  }

  /**
   * Returns the payload that these bytes complete; empty when they complete no chunk.
   *
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

  /** Opens payload into one buffer of exactly its size, which is passed on and freed as a whole. */
  #openAll(payloads: readonly SealedPayload[], total: number): Uint8Array {
    const out = total === 0 ? NOTHING : ownChunk(total);
    let filled = 0;
    for (const { sealed, nonce } of payloads) {
      const end = filled + sealed.length - TAG_LENGTH;
      this.#open(sealed, nonce, out.subarray(filled, end));
      filled = end;
    }
    this.chunks += payloads.length;
    return out;
  }

  #takeLength(): number | undefined {
    const sealed = this.#pieces.take(LENGTH_CHUNK);
    if (!sealed) return undefined;
    this.#open(sealed, this.#count++, LENGTH);
    const length = LENGTH.readUInt16BE();
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

/** Seals pieces as chunks after a prefix that is already sealed. */
export function sealPieces(
  sealer: ChunkSealer,
  prefix: readonly Uint8Array[],
  pieces: readonly Uint8Array[],
): Buffer {
  let length = 0;
  for (const part of prefix) length += part.length;
  for (const piece of pieces) length += sealer.sealedLength(piece.length);
  const out = ownChunk(length);
  let offset = 0;
  for (const part of prefix) {
    out.set(part, offset);
    offset += part.length;
  }
  for (const piece of pieces) offset = sealer.payload(piece, out, offset);
  return out;
}
