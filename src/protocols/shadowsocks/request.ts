import { createOpener, TAG_LENGTH } from '../../crypto/aead.ts';
import { AEAD_SHAPES } from '../../crypto/aead.ts';
import { decodeAddressField, SOCKS_ADDRESS } from '../../net/address-field.ts';
import type { Endpoint } from '../../net/address.ts';
import type { Clock } from '../../net/clock.ts';
import { ProtocolError } from '../../net/errors.ts';
import { GrowingBytes } from '../../net/growing-bytes.ts';
import type { ByteLink } from '../../net/link.ts';
import type { KnownUsers } from '../known-users.ts';
import { RejectedClientError } from '../rejected-client.ts';
import type { UserSearch } from '../user-search.ts';
import { ChunkOpener, LENGTH_CHUNK } from './chunks.ts';
import { subkeyOf } from './keys.ts';
import type { SaltFilter, SaltPool } from './salts.ts';
import type { User, Users } from './users.ts';
import { decodeRequestFixed, decodeRequestVariable, REQUEST_FIXED } from './wire-2022.ts';

/** What a client wants, with the stream opened as far as it was read. */
export interface Request {
  readonly user: User;
  readonly salt: Uint8Array;
  readonly destination: Endpoint;
  /** What came behind the destination. */
  readonly payload: Uint8Array;
  readonly opener: ChunkOpener;
}

export interface RequestReader {
  readonly link: ByteLink;
  readonly signal: AbortSignal;
  readonly users: Users;
}

/** How the user of a SIP004 stream is found: by trial. */
export interface UserTrial {
  readonly known: KnownUsers<User>;
  readonly search: UserSearch<User>;
  /** The client's address. */
  readonly source: string | undefined;
}

/** An address field with the longest name. */
const LONGEST_ADDRESS = 1 + 1 + 255 + 2;
const IDENTITY = 16;

/** Reads until there are `length` bytes, and what more came with them. */
async function atLeast(
  { link, signal }: RequestReader,
  head: Buffer,
  length: number,
): Promise<Buffer> {
  let held = head;
  let grown: GrowingBytes | undefined;
  while (held.length < length) {
    const chunk = await link.read(signal);
    if (!chunk) throw new ProtocolError('shadowsocks: the client closed within its request');
    if (held.length === 0) {
      held = viewOf(chunk);
      continue;
    }
    if (!grown) {
      grown = new GrowingBytes();
      grown.append(held);
    }
    grown.append(chunk);
    held = viewOf(grown.bytes);
  }
  return held;
}

const viewOf = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

/**
 * Reads the request of a SIP004 stream: a salt, then chunks that begin with the destination.
 * @throws {ProtocolError} for a stranger, a replay, or what is no request.
 */
export async function readLegacyRequest(
  reader: RequestReader,
  trial: UserTrial,
  salts: SaltFilter,
): Promise<Request> {
  const { method } = reader.users;
  const first = method.keyLength + LENGTH_CHUNK;
  const head = await atLeast(reader, Buffer.alloc(0), first);
  const salt = Buffer.from(head.subarray(0, method.keyLength));
  // Before any key is tried: a replay must not cost a search.
  if (salts.has(salt)) throw new ProtocolError('shadowsocks: a repeated salt');
  const user = await findUser(reader, trial, salt, head.subarray(method.keyLength, first));
  if (!user) throw new RejectedClientError('shadowsocks: the key of no user fits');
  if (!salts.add(salt)) throw new ProtocolError('shadowsocks: a repeated salt');
  trial.known.remember(trial.source, user);
  const opener = new ChunkOpener(method, subkeyOf(method, user.key, salt));
  try {
    let payload = opener.push(head.subarray(method.keyLength));
    for (;;) {
      const field = decodeAddressField(payload, 0, SOCKS_ADDRESS);
      if (field) {
        if (!field.endpoint) throw new ProtocolError('the destination has a name that is none');
        const rest = payload.subarray(field.end);
        return { user, salt, destination: field.endpoint, payload: rest, opener };
      }
      if (payload.length > LONGEST_ADDRESS) throw new ProtocolError('shadowsocks: no address');
      const more = opener.push(await atLeast(reader, Buffer.alloc(0), 1));
      payload = Buffer.concat([payload, more]);
    }
  } catch (error) {
    opener[Symbol.dispose]();
    throw error;
  }
}

/** Tries the first chunk with the key of each user, all with one context. */
async function findUser(
  client: RequestReader,
  { search, source }: UserTrial,
  salt: Uint8Array,
  sealed: Uint8Array,
): Promise<User | undefined> {
  const { method } = client.users;
  const nonce = new Uint8Array(AEAD_SHAPES[method.aead].nonceLength);
  const out = Buffer.allocUnsafe(Math.max(0, sealed.length - TAG_LENGTH));
  using opener = createOpener(method.aead, new Uint8Array(method.keyLength));
  const fits = (user: User): boolean => {
    opener.rekey(subkeyOf(method, user.key, salt));
    return opener.open(nonce, sealed, out);
  };
  return await search.find(source, fits, client);
}

/**
 * Reads the request of a SIP022 stream. The salt and the first header are taken from exactly one
 * read (§3.1.3): whoever sends less at once is no client.
 * @throws {ProtocolError} for a stranger, a replay, or what is no request.
 */
export async function readRequest2022(
  reader: RequestReader,
  salts: SaltPool,
  clock: Clock,
): Promise<Request> {
  const { users } = reader;
  const { method } = users;
  const saltEnd = method.keyLength;
  const identityEnd = saltEnd + (users.identityKey ? IDENTITY : 0);
  const fixedEnd = identityEnd + REQUEST_FIXED + TAG_LENGTH;
  let head = await atLeast(reader, Buffer.alloc(0), 1);
  if (head.length < fixedEnd) throw new ProtocolError('shadowsocks-2022: too short for a request');
  const salt = Buffer.from(head.subarray(0, saltEnd));
  const user = users.identityKey
    ? users.identifiedBy(head.subarray(saltEnd, identityEnd), salt)
    : users.all[0];
  if (!user) throw new RejectedClientError('shadowsocks-2022: an identity that no user has');
  const opener = new ChunkOpener(method, subkeyOf(method, user.key, salt));
  try {
    const fixed = openFirst(opener, head.subarray(identityEnd, fixedEnd));
    const length = decodeRequestFixed(fixed, clock.wall());
    if (!salts.add(salt)) throw new ProtocolError('shadowsocks-2022: a repeated salt');
    const variableEnd = fixedEnd + length + TAG_LENGTH;
    head = await atLeast(reader, head, variableEnd);
    const variable = opener.piece(head.subarray(fixedEnd, variableEnd));
    const { destination, payload } = decodeRequestVariable(variable);
    const more = opener.push(head.subarray(variableEnd));
    return { user, salt, destination, payload: joined(payload, more), opener };
  } catch (error) {
    opener[Symbol.dispose]();
    throw error;
  }
}

/** Opens what only the holder of the key can have sealed. */
function openFirst(opener: ChunkOpener, sealed: Uint8Array): Buffer {
  try {
    return opener.piece(sealed);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new RejectedClientError('shadowsocks-2022: the key of no user fits', { cause: error });
  }
}

const joined = (first: Uint8Array, second: Uint8Array): Uint8Array =>
  second.length === 0 ? first : first.length === 0 ? second : Buffer.concat([first, second]);
