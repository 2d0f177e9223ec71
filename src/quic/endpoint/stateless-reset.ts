import type { PeerConnectionIds } from '../path/connection-ids.ts';
import { SHORTEST_RESET } from '../protection/tokens.ts';
import { RESET_TOKEN_SIZE } from '../wire/packet-header.ts';

/** Whether a datagram ends with the reset token of the peer (§10.3.1). */
export const endsWithResetTokenOf = (
  peerIds: PeerConnectionIds,
  bytes: Uint8Array,
  offset: number,
  length: number,
): boolean =>
  length >= SHORTEST_RESET && peerIds.isResetToken(bytes, offset + length - RESET_TOKEN_SIZE);
