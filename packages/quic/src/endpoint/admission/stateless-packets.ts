import type { RandomSource } from '@weir/base/random';
import { initialKeys, writeRetryTag } from '../../protection/initial-secrets.ts';
import { TAG_SIZE } from '../../protection/packet-keys.ts';
import type { ResetTokens } from '../../protection/tokens.ts';
import { writeConnectionClose } from '../../wire/frame-writers.ts';
import {
  PacketType,
  VERSION_1,
  writeLength,
  writeLongHeader,
  writeRetry,
  writeVersionNegotiation,
  type PacketHeader,
  RESET_TOKEN_SIZE,
  writePacketNumber,
} from '../../wire/packet-header.ts';
import { LOCAL_ID_SIZE, MAX_RESET_SIZE } from '../../limits.ts';

/*
 * Packets without a connection. Each is written at the beginning of `out`, and its length is returned.
 * `header` is that of the packet that is responded to; the response has its ids swapped.
 */

const NOTHING = new Uint8Array(0);

const destinationIdOf = (bytes: Uint8Array, header: PacketHeader): Uint8Array =>
  bytes.subarray(header.destinationIdOffset, header.destinationIdOffset + header.destinationIdSize);

const sourceIdOf = (bytes: Uint8Array, header: PacketHeader): Uint8Array =>
  bytes.subarray(header.sourceIdOffset, header.sourceIdOffset + header.sourceIdSize);

/** Version Negotiation with the supported versions (RFC 9000 §6.1), in response to another version. */
export const negotiateVersion = (
  out: Uint8Array,
  bytes: Uint8Array,
  header: PacketHeader,
  random: RandomSource,
): number =>
  writeVersionNegotiation(
    out,
    0,
    sourceIdOf(bytes, header),
    destinationIdOf(bytes, header),
    [VERSION_1],
    random.below(0x40),
  );

/**
 * Writes a Retry packet (§17.2.5). @param retryId the source id of the Retry, which the client uses as destination id.
 */
export function retry(
  out: Uint8Array,
  bytes: Uint8Array,
  header: PacketHeader,
  retryId: Uint8Array,
  token: Uint8Array,
  random: RandomSource,
): number {
  const end = writeRetry(out, 0, sourceIdOf(bytes, header), retryId, token, random.below(0x10));
  return writeRetryTag(out, 0, end, destinationIdOf(bytes, header));
}

/** Bytes of the packet number in a packet that refuses a connection. */
const NUMBER_SIZE = 4;

/** Writes an Initial packet with CONNECTION_CLOSE, instead of a connection (§5.2.2). */
export function refuse(
  out: Uint8Array,
  bytes: Uint8Array,
  header: PacketHeader,
  code: number,
): number {
  const destinationId = destinationIdOf(bytes, header);
  const keys = initialKeys(destinationId, 'server');
  using sealer = keys.sealer;
  using opener = keys.opener;
  void opener;
  const numberAt = writeLongHeader(
    out,
    0,
    PacketType.INITIAL,
    NUMBER_SIZE,
    sourceIdOf(bytes, header),
    destinationId,
    NOTHING,
  );
  const frameAt = writePacketNumber(out, numberAt, 0, NUMBER_SIZE);
  const end = writeConnectionClose(out, frameAt, code, 0, NOTHING);
  // Written before the packet is sealed, because the header is authenticated.
  writeLength(out, numberAt, end + TAG_SIZE);
  const sealed = sealer.seal(out, 0, numberAt, NUMBER_SIZE, end, 0);
  sealer.protectHeaders();
  return sealed;
}

/**
 * Writes a stateless reset (§10.3) in response to a packet with an unknown id; 0 when the packet is too short for
 * one. The reset is smaller than the packet, so that two endpoints that have both forgotten a connection do not loop
 * (§10.3.3), and is not distinguishable from packets of a connection.
 */
export function reset(
  out: Uint8Array,
  bytes: Uint8Array,
  offset: number,
  length: number,
  tokens: ResetTokens,
  random: RandomSource,
): number {
  const size = Math.min(length - 1, MAX_RESET_SIZE);
  const tokenAt = size - RESET_TOKEN_SIZE;
  if (tokenAt < 5 || length < 1 + LOCAL_ID_SIZE) return 0;
  random.fill(out.subarray(0, tokenAt));
  out[0] = 0x40 | ((out[0] as number) & 0x3f);
  out.set(tokens.tokenFor(bytes.subarray(offset + 1, offset + 1 + LOCAL_ID_SIZE)), tokenAt);
  return size;
}
