import { createOpener, TAG_LENGTH } from '@weir/crypto/aead';
import type { RandomSource } from '@weir/base/random';
import type { Clock } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import { RejectedClientError } from '../../inbounds/handshake.ts';
import { ChunkOpener, ChunkSealer, sealPieces } from '../chunks.ts';
import { subkeyOf } from '../keys.ts';
import type { Method } from '../methods.ts';
import { pushFirst, readAtLeast, type Request, type RequestSource } from '../request.ts';
import type { SaltPool } from '../salts.ts';
import type { StreamOpener, StreamSealer } from '../stream-link.ts';
import { IDENTITY_LENGTH, identityHeaders } from './identity.ts';
import {
  decodeRequestFixed,
  decodeRequestVariable,
  decodeResponseFixed,
  encodeRequestFixed,
  encodeRequestVariable,
  encodeResponseFixed,
  MAX_PADDING,
  REQUEST_FIXED,
  responseFixed,
} from './wire.ts';

/** Dependencies of the sealing of streams and datagrams. */
export interface SealingDeps {
  readonly method: Method;
  readonly clock: Clock;
  readonly random: RandomSource;
}

const NOTHING = new Uint8Array(0);

/**
 * Reads the request of a SIP022 stream. Salt and fixed header must be in the first read (§3.1.3): a
 * client that sends less at once is rejected.
 *
 * @throws {ProtocolError} for an unauthenticated client, a replay and an invalid request.
 */
export async function readRequest2022(
  reader: RequestSource,
  salts: SaltPool,
  clock: Clock,
): Promise<Request> {
  const { users } = reader;
  const { method } = users;
  const saltEnd = method.keyLength;
  const identityEnd = saltEnd + (users.identityKey ? IDENTITY_LENGTH : 0);
  const fixedEnd = identityEnd + REQUEST_FIXED + TAG_LENGTH;
  let head = await readAtLeast(reader, 1);
  if (head.length < fixedEnd) throw new ProtocolError('shadowsocks-2022: too short for a request');
  const salt = Buffer.from(head.subarray(0, saltEnd));
  const user = users.identityKey
    ? users.identifiedBy(head.subarray(saltEnd, identityEnd), salt)
    : users.all[0];
  if (!user) throw new RejectedClientError('shadowsocks-2022: no user has this identity');
  const cipher = createOpener(method.aead, subkeyOf(method, user.key, salt));
  const opener = new ChunkOpener(method, cipher);
  try {
    const fixed = openFixed(opener, head.subarray(identityEnd, fixedEnd));
    const { stamp, length } = decodeRequestFixed(fixed, clock.wall());
    if (!salts.add(salt, stamp)) throw new ProtocolError('shadowsocks-2022: a repeated salt');
    const variableEnd = fixedEnd + length + TAG_LENGTH;
    head = await readAtLeast(reader, variableEnd, head);
    const variable = opener.piece(head.subarray(fixedEnd, variableEnd));
    const { destination, payload } = decodeRequestVariable(variable);
    const more = pushFirst(reader, opener, head.subarray(variableEnd));
    return { user, salt, destination, payload: joined(payload, more), opener };
  } catch (error) {
    opener[Symbol.dispose]();
    throw error;
  }
}

/** Opens the fixed header, which authenticates the client. */
function openFixed(opener: ChunkOpener, sealed: Uint8Array): Buffer {
  try {
    return opener.piece(sealed);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new RejectedClientError('shadowsocks-2022: no user has a matching key', { cause: error });
  }
}

const joined = (first: Uint8Array, second: Uint8Array): Uint8Array =>
  second.length === 0 ? first : first.length === 0 ? second : Buffer.concat([first, second]);

/** Seals a header. */
function sealHeader(sealer: ChunkSealer, plain: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(plain.length + TAG_LENGTH);
  sealer.piece(plain, out, 0);
  return out;
}

/** The sending half of a client (SIP022 §3.1): all headers are sent with the first payload. */
export class RequestStreamSealer implements StreamSealer {
  readonly salt: Uint8Array;
  readonly #deps: SealingDeps;
  readonly #keys: readonly Uint8Array[];
  readonly #address: Uint8Array;
  readonly #sealer: ChunkSealer;
  #headersSent = false;

  /** @param keys a chain: identity keys first, the user's own key last. */
  constructor(deps: SealingDeps, keys: readonly Uint8Array[], address: Uint8Array) {
    const { method, random } = deps;
    this.#deps = deps;
    this.#keys = keys;
    this.#address = address;
    this.salt = random.bytes(method.keyLength);
    this.#sealer = new ChunkSealer(method, subkeyOf(method, keys.at(-1) ?? NOTHING, this.salt));
  }

  seal(pieces: readonly Uint8Array[]): Buffer {
    if (this.#headersSent) return sealPieces(this.#sealer, [], pieces);
    this.#headersSent = true;
    const { method, clock, random } = this.#deps;
    const [first = NOTHING, ...rest] = pieces;
    const padding = first.length > 0 ? NOTHING : random.bytes(1 + random.below(MAX_PADDING));
    const room = method.maxChunk - this.#address.length - 2 - padding.length;
    const initial = first.subarray(0, room);
    const variable = encodeRequestVariable(this.#address, padding, initial);
    const prefix = [
      this.salt,
      ...identityHeaders(this.#keys, this.salt),
      sealHeader(this.#sealer, encodeRequestFixed(clock.wall(), variable.length)),
      sealHeader(this.#sealer, variable),
    ];
    return sealPieces(this.#sealer, prefix, [first.subarray(initial.length), ...rest]);
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }
}

/**
 * The sending half of a server: the fixed header replaces the length chunk of the first payload.
 */
export class ResponseStreamSealer implements StreamSealer {
  readonly #deps: SealingDeps;
  readonly #requestSalt: Uint8Array;
  readonly #salt: Uint8Array;
  readonly #sealer: ChunkSealer;
  #headersSent = false;

  constructor(deps: SealingDeps, key: Uint8Array, requestSalt: Uint8Array) {
    const { method, random } = deps;
    this.#deps = deps;
    this.#requestSalt = requestSalt;
    this.#salt = random.bytes(method.keyLength);
    this.#sealer = new ChunkSealer(method, subkeyOf(method, key, this.#salt));
  }

  seal(pieces: readonly Uint8Array[]): Buffer {
    if (this.#headersSent) return sealPieces(this.#sealer, [], pieces);
    this.#headersSent = true;
    const { method, clock } = this.#deps;
    const [first = NOTHING, ...rest] = pieces;
    const initial = first.subarray(0, method.maxChunk);
    const fixed = encodeResponseFixed(clock.wall(), this.#requestSalt, initial.length);
    const prefix = [this.#salt, sealHeader(this.#sealer, fixed), sealHeader(this.#sealer, initial)];
    return sealPieces(this.#sealer, prefix, [first.subarray(initial.length), ...rest]);
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }
}

/** The receiving half of a client: accepts only the response to its request. */
export class ResponseStreamOpener implements StreamOpener {
  readonly #deps: SealingDeps;
  readonly #key: Uint8Array;
  readonly #requestSalt: Uint8Array;
  readonly #salts: SaltPool;
  #head: Buffer = Buffer.alloc(0);
  #opener: ChunkOpener | undefined;

  constructor(deps: SealingDeps, key: Uint8Array, requestSalt: Uint8Array, salts: SaltPool) {
    this.#deps = deps;
    this.#key = key;
    this.#requestSalt = requestSalt;
    this.#salts = salts;
  }

  get chunks(): number {
    return this.#opener?.chunks ?? 0;
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
    const cipher = createOpener(method.aead, subkeyOf(method, this.#key, salt));
    const opener = new ChunkOpener(method, cipher);
    this.#opener = opener;
    const fixed = opener.piece(this.#head.subarray(keyLength, end));
    const { stamp, length } = decodeResponseFixed(fixed, clock.wall(), this.#requestSalt);
    opener.expectPayload(length);
    if (!this.#salts.add(salt, stamp)) throw new ProtocolError('shadowsocks-2022: a repeated salt');
    const rest = this.#head.subarray(end);
    this.#head = Buffer.alloc(0);
    return opener.push(rest);
  }

  [Symbol.dispose](): void {
    this.#opener?.[Symbol.dispose]();
  }
}
