import { createSealer, TAG_LENGTH, type Sealer } from '../../crypto/aead.ts';
import { ownChunk } from '../../net/spent-chunk.ts';
import type { BodyKeys } from './body-keys.ts';
import { LengthWriter, PADDING_LIMIT, type ChunkDraw } from './chunk-lengths.ts';
import { ChunkNonce } from './chunk-nonce.ts';
import type { Random } from './random.ts';

/** The longest chunk of a stream, padding included, that every peer takes (2^14). */
const STREAM_CHUNK = 16_384;
/** What 16 bits of length can say. */
const LONGEST_CHUNK = 0xffff;

/** Payload of the longest chunks. */
const STREAM_PIECE = STREAM_CHUNK - TAG_LENGTH - PADDING_LIMIT;
export const LONGEST_DATAGRAM = LONGEST_CHUNK - TAG_LENGTH - PADDING_LIMIT;

/** Turns payload into the chunks of one direction of a body. */
export class ChunkSealer implements Disposable {
  readonly #lengths: LengthWriter;
  readonly #nonce: ChunkNonce;
  readonly #sealer: Sealer;
  readonly #random: Random;
  readonly #terminated: boolean;

  constructor(keys: BodyKeys, random: Random) {
    this.#lengths = new LengthWriter(keys);
    this.#nonce = new ChunkNonce(keys.iv);
    this.#sealer = createSealer(keys.cipher, keys.key);
    this.#random = random;
    this.#terminated = keys.terminated;
  }

  /** A piece of a stream, not empty, as as many chunks as it takes, after `preface`. */
  stream(payload: Uint8Array, preface?: Uint8Array): Uint8Array {
    return this.#seal(payload, STREAM_PIECE, preface);
  }

  /** A datagram, not empty and at most `LONGEST_DATAGRAM`, as one chunk after `preface`. */
  datagram(payload: Uint8Array, preface?: Uint8Array): Uint8Array {
    return this.#seal(payload, LONGEST_DATAGRAM, preface);
  }

  /** What ends the body, after `preface`: an empty chunk, or nothing. */
  end(preface?: Uint8Array): Uint8Array {
    if (!this.#terminated) return preface ?? new Uint8Array(0);
    return this.#seal(new Uint8Array(0), STREAM_PIECE, preface);
  }

  #seal(payload: Uint8Array, longest: number, preface: Uint8Array | undefined): Uint8Array {
    const { field } = this.#lengths;
    const draws: ChunkDraw[] = [];
    let total = (preface?.length ?? 0) + payload.length;
    for (let left = payload.length; draws.length === 0 || left > 0; left -= longest) {
      const draw = this.#lengths.draw();
      draws.push(draw);
      total += field + TAG_LENGTH + draw.padding;
    }
    // One buffer for all chunks, of exactly their size, so that it can be freed once it was sent.
    const out = ownChunk(total);
    let at = 0;
    if (preface) {
      out.set(preface);
      at = preface.length;
    }
    let from = 0;
    for (const draw of draws) {
      const piece = draws.length === 1 ? payload : payload.subarray(from, from + longest);
      from += longest;
      const sealed = piece.length + TAG_LENGTH;
      this.#lengths.write(sealed + draw.padding, draw, out.subarray(at, at + field));
      at += field;
      this.#sealer.seal(this.#nonce.next(), piece, out.subarray(at, at + sealed));
      at += sealed;
      if (draw.padding > 0) this.#random.into(out.subarray(at, at + draw.padding));
      at += draw.padding;
    }
    return out;
  }

  [Symbol.dispose](): void {
    this.#lengths[Symbol.dispose]();
    this.#sealer[Symbol.dispose]();
  }
}
