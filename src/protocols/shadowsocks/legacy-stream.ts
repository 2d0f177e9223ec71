import { ChunkOpener, ChunkSealer } from './chunks.ts';
import { subkeyOf } from './keys.ts';
import type { Method } from './methods.ts';
import type { Incoming, Outgoing } from './stream-link.ts';

/** The sending half of a SIP004 stream: its salt, then chunks; `header` is its first payload. */
export class LegacyOutgoing implements Outgoing {
  readonly #sealer: ChunkSealer;
  #salt: Uint8Array | undefined;
  #header: Uint8Array | undefined;

  constructor(method: Method, key: Uint8Array, salt: Uint8Array, header?: Uint8Array) {
    this.#sealer = new ChunkSealer(method, subkeyOf(method, key, salt));
    this.#salt = salt;
    this.#header = header;
  }

  wrap(pieces: readonly Uint8Array[]): Buffer {
    const salt = this.#salt;
    const payload = this.#withHeader(pieces);
    let length = salt?.length ?? 0;
    for (const piece of payload) length += this.#sealer.sealedLength(piece.length);
    const out = Buffer.allocUnsafeSlow(length);
    if (salt) out.set(salt);
    let offset = salt?.length ?? 0;
    for (const piece of payload) offset = this.#sealer.payload(piece, out, offset);
    this.#salt = undefined;
    return out;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }

  /** The header shares a chunk with the first payload: a chunk of its own would tell its length. */
  #withHeader(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
    const header = this.#header;
    if (!header) return pieces;
    this.#header = undefined;
    const [first, ...rest] = pieces;
    return first ? [Buffer.concat([header, first]), ...rest] : [header];
  }
}

/** The receiving half of a SIP004 stream whose key is known: a client's. */
export class LegacyIncoming implements Incoming {
  readonly #method: Method;
  readonly #key: Uint8Array;
  #head: Buffer = Buffer.alloc(0);
  #opener: ChunkOpener | undefined;

  constructor(method: Method, key: Uint8Array) {
    this.#method = method;
    this.#key = key;
  }

  get atBoundary(): boolean {
    return this.#opener?.atBoundary ?? this.#head.length === 0;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.#opener) return this.#opener.push(bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const { keyLength } = this.#method;
    if (this.#head.length < keyLength) return new Uint8Array(0);
    const salt = this.#head.subarray(0, keyLength);
    this.#opener = new ChunkOpener(this.#method, subkeyOf(this.#method, this.#key, salt));
    return this.#opener.push(this.#head.subarray(keyLength));
  }

  [Symbol.dispose](): void {
    this.#opener?.[Symbol.dispose]();
  }
}
