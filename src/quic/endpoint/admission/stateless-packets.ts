import type { RandomSource } from '../../../crypto/random-source.ts';
import { initialKeys } from '../../protection/initial-secrets.ts';
import { TAG_SIZE } from '../../protection/packet-keys.ts';
import { writeRetryTag } from '../../protection/retry-integrity.ts';
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
} from '../../wire/packet-header.ts';
import { writePacketNumber } from '../../wire/packet-number.ts';
import { LOCAL_ID_SIZE, MAX_RESET_SIZE } from '../limits.ts';

/*
 * Packets that belong to no connection. Each is written at the beginning of `out`, and its length is
 * returned. `header` is that of the packet that they respond to: its ids go back, exchanged.
 */

const NOTHING = new Uint8Array(0);

const destinationIdOf = (bytes: Uint8Array, header: PacketHeader): Uint8Array =>
  bytes.subarray(header.destinationIdOffset, header.destinationIdOffset + header.destinationIdSize);

const sourceIdOf = (bytes: Uint8Array, header: PacketHeader): Uint8Array =>
  bytes.subarray(header.sourceIdOffset, header.sourceIdOffset + header.sourceIdSize);

/** The versions that are spoken here (RFC 9000 §6.1), for a packet of another one. */
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

/** A Retry packet (§17.2.5). @param retryId the id that the client has to use from now on. */
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

/** Bytes of the packet number of the one packet that a refused connection gets. */
const NUMBER_SIZE = 4;

/** An Initial packet with CONNECTION_CLOSE, instead of a connection (§5.2.2). */
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
  // Known before the packet is sealed, because its header is authenticated.
  writeLength(out, numberAt, end + TAG_SIZE);
  const sealed = sealer.seal(out, 0, numberAt, NUMBER_SIZE, end, 0);
  sealer.protectHeaders();
  return sealed;
}

/**
 * A stateless reset (§10.3) for a packet to an id that is unknown here; 0 when there can be none.
 * It is shorter than the packet, so that two endpoints which have both forgotten a connection do not
 * go on for ever (§10.3.3), and looks like the packets of any connection.
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
