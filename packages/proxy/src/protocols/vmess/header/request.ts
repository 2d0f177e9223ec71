import type { Clock } from '@weir/io/time';
import type { BoundedReader, ByteLink } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import { TAG_LENGTH } from '@weir/crypto/aead';
import type { RandomSource } from '@weir/base/random';
import {
  AUTH_ID_RANDOM,
  AuthIdMaker,
  openHeader,
  openLength,
  requestBox,
  sealHeader,
  sealLength,
} from './header-seal.ts';
import {
  AUTH_ID_LENGTH,
  CONNECTION_NONCE_LENGTH,
  decodeRequest,
  encodeRequest,
  MAX_HEADER,
  MAX_HEADER_PADDING,
  type RequestHeader,
  SEALED_LENGTH,
} from '../wire.ts';
import { readOrDrain } from '../../inbounds/handshake.ts';

/** Bytes that `readRequest` may have to buffer. */
export const MAX_REQUEST =
  AUTH_ID_LENGTH + SEALED_LENGTH + CONNECTION_NONCE_LENGTH + MAX_HEADER + TAG_LENGTH;

/** Seals the requests of one user. */
export class RequestSealer {
  readonly #key: Uint8Array;
  readonly #authIds: AuthIdMaker;
  readonly #random: RandomSource;

  constructor(userKey: Uint8Array, random: RandomSource) {
    this.#key = userKey;
    this.#authIds = new AuthIdMaker(userKey);
    this.#random = random;
  }

  /**
   * Seals the start of a connection: auth id, sealed length, nonce, sealed header. `undefined` when the destination
   * does not fit.
   *
   * @param seconds the Unix time.
   */
  seal(header: RequestHeader, seconds: number): Buffer | undefined {
    const random = this.#random;
    const padding = random.bytes((random.bytes(1)[0] ?? 0) & MAX_HEADER_PADDING);
    const plain = encodeRequest(header, padding);
    if (!plain) return undefined;
    const authId = this.#authIds.make(seconds, random.bytes(AUTH_ID_RANDOM));
    const nonce = random.bytes(CONNECTION_NONCE_LENGTH);
    const box = requestBox(this.#key, authId, nonce);
    return Buffer.concat([authId, sealLength(box, plain.length), nonce, sealHeader(box, plain)]);
  }
}

/** Finds the key of the user that created an auth id. @throws {ProtocolError} for an invalid id. */
export type Identify = (authId: Uint8Array) => Promise<Uint8Array>;

/**
 * Reads the start of a connection.
 * @throws {ProtocolError} when it is not an authentic request.
 */
export async function readRequest(
  reader: BoundedReader,
  identify: Identify,
): Promise<RequestHeader> {
  const authId = await reader.bytes(AUTH_ID_LENGTH);
  const userKey = await identify(authId);
  const sealedLength = await reader.bytes(SEALED_LENGTH);
  const box = requestBox(userKey, authId, await reader.bytes(CONNECTION_NONCE_LENGTH));
  const length = openLength(box, sealedLength);
  if (length === undefined || length > MAX_HEADER) {
    throw new ProtocolError('the length of the VMess request is not authentic, or too long');
  }
  const header = openHeader(box, await reader.bytes(length + TAG_LENGTH));
  if (!header) throw new ProtocolError('the header of the VMess request is not authentic');
  return decodeRequest(header);
}

/**
 * Reads the request of a connection. Bytes after it are put back into the link.
 *
 * A rejected client cannot observe at which byte or why it was rejected: its bytes are read and discarded until the
 * time limit of the request, as if the request were incomplete, or until the client closes. The promise then rejects
 * with the reason, with which `onRefusal` was called at once.
 *
 * @throws {ProtocolError} when it is not an authentic request.
 * @throws {DeadlineError} when it is not complete in time.
 */
export const receiveRequest = (
  link: ByteLink,
  clock: Clock,
  identify: (authId: Uint8Array, signal: AbortSignal) => ReturnType<Identify>,
  onRefusal: (error: unknown) => void,
): Promise<RequestHeader> =>
  readOrDrain(
    link,
    clock,
    {
      limit: MAX_REQUEST,
      what: 'the VMess request',
      read: (reader, signal) => readRequest(reader, (authId) => identify(authId, signal)),
    },
    onRefusal,
  );
