import type { PacketOpener, PacketSealer } from './packet-keys.ts';

/** Both directions of one level. */
export interface LevelKeys {
  readonly sealer: PacketSealer;
  readonly opener: PacketOpener;
}

/**
 * The keys of Initial packets (RFC 9001 §5.2).
 *
 * @param destinationId of the client's first Initial packet, or of the one after a Retry.
 * @param side that uses them.
 */
export declare function initialKeys(
  destinationId: Uint8Array,
  side: 'client' | 'server',
): LevelKeys;
