import { AEAD_SHAPES, createOpener, type Opener, TAG_LENGTH } from '@weir/crypto/aead';
import { decodeAddressField, SOCKS_ADDRESS } from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import type { KnownUsers } from '../../users/known-users.ts';
import { RejectedClientError } from '../../inbounds/handshake.ts';
import type { UserSearch } from '../../users/user-search.ts';
import { ChunkOpener, ChunkSealer, LENGTH_CHUNK, sealPieces } from '../chunks.ts';
import { subkeyOf } from '../keys.ts';
import type { Method } from '../methods.ts';
import { pushFirst, readAtLeast, type Request, type RequestSource } from '../request.ts';
import type { SaltFilter } from '../salts.ts';
import type { StreamOpener, StreamSealer } from '../stream-link.ts';
import type { KeyedUser } from '../shadowsocks-users.ts';

/** Finds the user of a stream by trial of the keys. */
export interface UserTrial {
  readonly known: KnownUsers<KeyedUser>;
  readonly search: UserSearch<KeyedUser>;
  /** The client's address. */
  readonly source: string | undefined;
}

const NOTHING = new Uint8Array(0);

/** The length of an address field with the longest name. */
const LONGEST_ADDRESS = 1 + 1 + 255 + 2;

/**
 * Reads the request of a SIP004 stream: a salt, then chunks that begin with the destination.
 *
 * @throws {ProtocolError} for an unauthenticated client, a replay and an invalid request.
 */
export async function readLegacyRequest(
  reader: RequestSource,
  trial: UserTrial,
  salts: SaltFilter,
): Promise<Request> {
  const { method } = reader.users;
  const first = method.keyLength + LENGTH_CHUNK;
  const head = await readAtLeast(reader, first);
  const salt = Buffer.from(head.subarray(0, method.keyLength));
  // Before any key is tried: a replay must not cost a search.
  if (salts.has(salt)) throw new ProtocolError('shadowsocks: a repeated salt');
  const found = await findUser(reader, trial, salt, head.subarray(method.keyLength, first));
  if (!found) throw new RejectedClientError('shadowsocks: no user has a matching key');
  const { user } = found;
  const opener = new ChunkOpener(method, found.opener);
  try {
    if (!salts.add(salt)) throw new ProtocolError('shadowsocks: a repeated salt');
    trial.known.remember(trial.source, user);
    let payload = pushFirst(reader, opener, head.subarray(method.keyLength));
    for (;;) {
      const field = decodeAddressField(payload, 0, SOCKS_ADDRESS);
      if (field) {
        if (!field.endpoint) throw new ProtocolError('the destination has an invalid host name');
        const rest = payload.subarray(field.end);
        return { user, salt, destination: field.endpoint, payload: rest, opener };
      }
      if (payload.length > LONGEST_ADDRESS)
        throw new ProtocolError('shadowsocks: the request has no address');
      const more = pushFirst(reader, opener, await readAtLeast(reader, 1));
      payload = Buffer.concat([payload, more]);
    }
  } catch (error) {
    opener[Symbol.dispose]();
    throw error;
  }
}

/** The user of a stream, and a cipher under the subkey of the user's key and the salt. */
interface Found {
  readonly user: KeyedUser;
  readonly opener: Opener;
}

/** Tries to open the first chunk with the key of each user; one context is rekeyed. */
async function findUser(
  reader: RequestSource,
  { search, source }: UserTrial,
  salt: Uint8Array,
  sealed: Uint8Array,
): Promise<Found | undefined> {
  const { method } = reader.users;
  const nonce = new Uint8Array(AEAD_SHAPES[method.aead].nonceLength);
  const out = Buffer.allocUnsafe(Math.max(0, sealed.length - TAG_LENGTH));
  let opener: Opener | undefined;
  const fits = (user: KeyedUser): boolean => {
    const subkey = subkeyOf(method, user.key, salt);
    if (opener) opener.rekey(subkey);
    else opener = createOpener(method.aead, subkey);
    return opener.open(nonce, sealed, out);
  };
  let user: KeyedUser | undefined;
  try {
    user = await search.find(source, fits, reader);
  } finally {
    if (!user) opener?.[Symbol.dispose]();
  }
  // The search ends with the matching user, whose subkey is the last key.
  return user && opener && { user, opener };
}

/** The sending half of a SIP004 stream: salt, then chunks; `header` is the first payload. */
export class LegacyStreamSealer implements StreamSealer {
  readonly #sealer: ChunkSealer;
  #salt: Uint8Array | undefined;
  #header: Uint8Array | undefined;

  constructor(method: Method, key: Uint8Array, salt: Uint8Array, header?: Uint8Array) {
    this.#sealer = new ChunkSealer(method, subkeyOf(method, key, salt));
    this.#salt = salt;
    this.#header = header;
  }

  seal(pieces: readonly Uint8Array[]): Buffer {
    const prefix = this.#salt ? [this.#salt] : [];
    this.#salt = undefined;
    return sealPieces(this.#sealer, prefix, this.#withHeader(pieces));
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }

  /** Prepends the header to the first payload: a chunk of its own would reveal its length. */
  #withHeader(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
    const header = this.#header;
    if (!header) return pieces;
    this.#header = undefined;
    const [first, ...rest] = pieces;
    return first ? [Buffer.concat([header, first]), ...rest] : [header];
  }
}

/** The receiving half of a client's SIP004 stream; a server has to find the key first. */
export class LegacyStreamOpener implements StreamOpener {
  readonly #method: Method;
  readonly #key: Uint8Array;
  /** The part of the salt that has arrived. */
  #head: Uint8Array = NOTHING;
  #opener: ChunkOpener | undefined;

  constructor(method: Method, key: Uint8Array) {
    this.#method = method;
    this.#key = key;
  }

  get chunks(): number {
    return this.#opener?.chunks ?? 0;
  }

  get atBoundary(): boolean {
    return this.#opener?.atBoundary ?? this.#head.length === 0;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.#opener) return this.#opener.push(bytes);
    const method = this.#method;
    const { keyLength } = method;
    const head =
      this.#head.length > 0 || bytes.length < keyLength
        ? Buffer.concat([this.#head, bytes])
        : bytes;
    if (head.length < keyLength) {
      this.#head = head;
      return NOTHING;
    }
    this.#head = NOTHING;
    const subkey = subkeyOf(method, this.#key, head.subarray(0, keyLength));
    this.#opener = new ChunkOpener(method, createOpener(method.aead, subkey));
    return this.#opener.push(head.subarray(keyLength));
  }

  [Symbol.dispose](): void {
    this.#opener?.[Symbol.dispose]();
  }
}
