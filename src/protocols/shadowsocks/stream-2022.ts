import type { RandomSource } from '../../crypto/random-source.ts';
import { TAG_LENGTH } from '../../crypto/aead.ts';
import type { Clock } from '../../net/clock.ts';
import { ProtocolError } from '../../net/errors.ts';
import { ChunkOpener, ChunkSealer } from './chunks.ts';
import { BlockCipher, identityOf, identitySubkeyOf, subkeyOf } from './keys.ts';
import type { Method } from './methods.ts';
import type { SaltPool } from './salts.ts';
import type { Incoming, Outgoing } from './stream-link.ts';
import {
  decodeResponseFixed,
  encodeRequestFixed,
  encodeRequestVariable,
  encodeResponseFixed,
  MAX_PADDING,
  responseFixed,
} from './wire-2022.ts';

/** What a stream is made with. */
export interface StreamDeps {
  readonly method: Method;
  readonly clock: Clock;
  readonly random: RandomSource;
}

const NOTHING = new Uint8Array(0);

/** Seals pieces as chunks behind a prefix that is there already. */
function wrapPieces(
  sealer: ChunkSealer,
  prefix: readonly Uint8Array[],
  pieces: readonly Uint8Array[],
): Buffer {
  let length = 0;
  for (const part of prefix) length += part.length;
  for (const piece of pieces) length += sealer.sealedLength(piece.length);
  const out = Buffer.allocUnsafeSlow(length);
  let offset = 0;
  for (const part of prefix) {
    out.set(part, offset);
    offset += part.length;
  }
  for (const piece of pieces) offset = sealer.payload(piece, out, offset);
  return out;
}

/** Seals one header on its own. */
function sealPiece(sealer: ChunkSealer, plain: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(plain.length + TAG_LENGTH);
  sealer.piece(plain, out, 0);
  return out;
}

/** The identity headers of a chain of keys (SIP023): one for each key but the last. */
export function identityHeaders(keys: readonly Uint8Array[], salt: Uint8Array): Buffer[] {
  return keys.slice(1).map((next, index) => {
    const key = keys[index] ?? NOTHING; // there is one before each
    return new BlockCipher(identitySubkeyOf(key, salt)).encrypt(identityOf(next));
  });
}

/** The sending half of a request stream (SIP022 §3.1): all headers go with the first payload. */
export class RequestOutgoing implements Outgoing {
  readonly salt: Uint8Array;
  readonly #deps: StreamDeps;
  readonly #keys: readonly Uint8Array[];
  readonly #address: Uint8Array;
  readonly #sealer: ChunkSealer;
  #begun = false;

  /** `keys` is a chain, the user's own last. */
  constructor(deps: StreamDeps, keys: readonly Uint8Array[], address: Uint8Array) {
    const { method, random } = deps;
    this.#deps = deps;
    this.#keys = keys;
    this.#address = address;
    this.salt = random.bytes(method.keyLength);
    this.#sealer = new ChunkSealer(method, subkeyOf(method, keys.at(-1) ?? NOTHING, this.salt));
  }

  wrap(pieces: readonly Uint8Array[]): Buffer {
    if (this.#begun) return wrapPieces(this.#sealer, [], pieces);
    this.#begun = true;
    const { method, clock, random } = this.#deps;
    const [first = NOTHING, ...rest] = pieces;
    const padding = first.length > 0 ? NOTHING : random.bytes(1 + random.below(MAX_PADDING));
    const room = method.maxChunk - this.#address.length - 2 - padding.length;
    const initial = first.subarray(0, room);
    const variable = encodeRequestVariable(this.#address, padding, initial);
    const prefix = [
      this.salt,
      ...identityHeaders(this.#keys, this.salt),
      sealPiece(this.#sealer, encodeRequestFixed(clock.wall(), variable.length)),
      sealPiece(this.#sealer, variable),
    ];
    return wrapPieces(this.#sealer, prefix, [first.subarray(initial.length), ...rest]);
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }
}

/** The sending half of a response stream: its header is the length chunk of the first payload. */
export class ResponseOutgoing implements Outgoing {
  readonly #deps: StreamDeps;
  readonly #requestSalt: Uint8Array;
  readonly #salt: Uint8Array;
  readonly #sealer: ChunkSealer;
  #begun = false;

  constructor(deps: StreamDeps, key: Uint8Array, requestSalt: Uint8Array) {
    const { method, random } = deps;
    this.#deps = deps;
    this.#requestSalt = requestSalt;
    this.#salt = random.bytes(method.keyLength);
    this.#sealer = new ChunkSealer(method, subkeyOf(method, key, this.#salt));
  }

  wrap(pieces: readonly Uint8Array[]): Buffer {
    if (this.#begun) return wrapPieces(this.#sealer, [], pieces);
    this.#begun = true;
    const { method, clock } = this.#deps;
    const [first = NOTHING, ...rest] = pieces;
    const initial = first.subarray(0, method.maxChunk);
    const fixed = encodeResponseFixed(clock.wall(), this.#requestSalt, initial.length);
    const prefix = [this.#salt, sealPiece(this.#sealer, fixed), sealPiece(this.#sealer, initial)];
    return wrapPieces(this.#sealer, prefix, [first.subarray(initial.length), ...rest]);
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }
}

/** The receiving half of a client: the response to the request with that salt. */
export class ResponseIncoming implements Incoming {
  readonly #deps: StreamDeps;
  readonly #key: Uint8Array;
  readonly #requestSalt: Uint8Array;
  readonly #salts: SaltPool;
  #head: Buffer = Buffer.alloc(0);
  #opener: ChunkOpener | undefined;

  constructor(deps: StreamDeps, key: Uint8Array, requestSalt: Uint8Array, salts: SaltPool) {
    this.#deps = deps;
    this.#key = key;
    this.#requestSalt = requestSalt;
    this.#salts = salts;
  }

  get atBoundary(): boolean {
    return this.#opener?.atBoundary ?? this.#head.length === 0;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.#opener) return this.#opener.push(bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const { method, clock } = this.#deps;
    const { keyLength } = method;
    const end = keyLength + responseFixed(keyLength) + TAG_LENGTH;
    if (this.#head.length < end) return NOTHING;
    const salt = this.#head.subarray(0, keyLength);
    const opener = new ChunkOpener(method, subkeyOf(method, this.#key, salt));
    this.#opener = opener;
    const fixed = opener.piece(this.#head.subarray(keyLength, end));
    opener.expectPayload(decodeResponseFixed(fixed, clock.wall(), this.#requestSalt));
    if (!this.#salts.add(salt)) throw new ProtocolError('shadowsocks-2022: a repeated salt');
    const rest = this.#head.subarray(end);
    this.#head = Buffer.alloc(0);
    return opener.push(rest);
  }

  [Symbol.dispose](): void {
    this.#opener?.[Symbol.dispose]();
  }
}
