import type { PeerConnectionIds } from './path/connection-ids.ts';
import { RESET_TOKEN_SIZE } from './protection/tokens.ts';

/** The shortest datagram that may be a stateless reset: 5 bytes before its token (RFC 9000 §10.3). */
const SHORTEST_RESET = 5 + RESET_TOKEN_SIZE;

/** Whether a datagram ends with the reset token of the peer (§10.3.1). */
export const endsWithResetTokenOf = (
  peerIds: PeerConnectionIds,
  bytes: Uint8Array,
  offset: number,
  length: number,
): boolean =>
  length >= SHORTEST_RESET && peerIds.isResetToken(bytes, offset + length - RESET_TOKEN_SIZE);
