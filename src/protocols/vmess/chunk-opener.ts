import { ProtocolError } from '../../net/errors.ts';
import { ownChunk } from '../../net/spent-chunk.ts';
import { createOpener, TAG_LENGTH, type Opener } from '../../crypto/aead.ts';
import type { BodyKeys } from './body-keys.ts';
import { LengthReader, type ChunkLength } from './chunk-lengths.ts';
import { ChunkNonce } from './chunk-nonce.ts';
import { PieceReader } from '../../net/piece-reader.ts';

/** The receiving half of a body. */
export interface BodyDecoder extends Disposable {
  /**
   * Takes bytes of the carrier and gives the payload in them, which may be none. With `ends` the
   * offset after each chunk is added to it.
   * @throws {ProtocolError} for what is not authentic.
   */
  push(bytes: Uint8Array, ends?: number[]): Uint8Array;
  /** Whether the empty chunk came: nothing more belongs to the body. */
  readonly ended: boolean;
  /** Whether the carrier may end here, as it does for peers that send no empty chunk. */
  readonly mayEnd: boolean;
}

const NOTHING = new Uint8Array(0);

/**
 * Turns the chunks of one direction of a body into payload, whatever pieces they come in. Holds at
 * most one chunk, which is 64 KiB.
 */
export class ChunkOpener implements BodyDecoder {
  readonly #lengths: LengthReader;
  readonly #nonce: ChunkNonce;
  readonly #opener: Opener;
  readonly #pieces = new PieceReader();
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

  /** Opens chunks into one buffer, of exactly their size: what follows moves it as one. */
  #open(chunks: readonly Uint8Array[], total: number, ends: number[] | undefined): Uint8Array {
    const out = total === 0 ? NOTHING : ownChunk(total);
    let filled = 0;
    for (const sealed of chunks) {
      const end = filled + sealed.length - TAG_LENGTH;
      if (!this.#opener.open(this.#nonce.next(), sealed, out.subarray(filled, end))) {
        throw new ProtocolError('a chunk of the VMess body is not authentic');
      }
      // A forged length alone ends nothing: the empty chunk was opened as well.
      if (end === filled) this.#ended = true;
      else ends?.push(end);
      filled = end;
    }
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
