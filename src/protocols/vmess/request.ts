import type { BoundedReader } from '../../net/bounded-reader.ts';
import { ProtocolError } from '../../net/errors.ts';
import { createAuthId, AUTH_ID_RANDOM } from './auth-id.ts';
import { TAG_LENGTH } from '../../crypto/aead.ts';
import { openHeader, openLength, requestBox, sealHeader, sealLength } from './header-box.ts';
import type { Random } from './random.ts';
import {
  decodeRequest,
  encodeRequest,
  MAX_HEADER,
  MAX_PADDING,
  type RequestHeader,
} from './request-header.ts';
import { AUTH_ID_LENGTH, CONNECTION_NONCE_LENGTH, SEALED_LENGTH } from './wire.ts';

/** What `readRequest` may have to hold. */
export const MAX_REQUEST =
  AUTH_ID_LENGTH + SEALED_LENGTH + CONNECTION_NONCE_LENGTH + MAX_HEADER + TAG_LENGTH;

/**
 * What a connection begins with: auth id, sealed length, nonce, sealed header.
 * `seconds` are Unix time. `undefined` when the destination does not fit.
 */
export function sealRequest(
  userKey: Uint8Array,
  header: RequestHeader,
  seconds: number,
  random: Random,
): Buffer | undefined {
  const padding = random.bytes((random.bytes(1)[0] ?? 0) & MAX_PADDING);
  const plain = encodeRequest(header, padding);
  if (!plain) return undefined;
  const authId = createAuthId(userKey, seconds, random.bytes(AUTH_ID_RANDOM));
  const nonce = random.bytes(CONNECTION_NONCE_LENGTH);
  const box = requestBox(userKey, authId, nonce);
  return Buffer.concat([authId, sealLength(box, plain.length), nonce, sealHeader(box, plain)]);
}

/** Gives the key of the user whose auth id it is. @throws {ProtocolError} */
export type Identify = (authId: Uint8Array) => Promise<Uint8Array>;

/**
 * Reads what a connection begins with.
 * @throws {ProtocolError} for what is no such thing.
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
