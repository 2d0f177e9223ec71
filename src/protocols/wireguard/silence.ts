import type { WireGuardSettings } from './settings.ts';

/**
 * Why a peer with which there was no session yet may be silent: it ignores handshakes that are made
 * with other keys than it has.
 */
export const causesOfSilence = ({
  presharedKey,
}: Pick<WireGuardSettings, 'presharedKey'>): string =>
  presharedKey === undefined
    ? 'private_key or peer_public_key may not be those that the peer expects, or it has a preshared key, which is not set here'
    : 'private_key, peer_public_key or preshared_key may not be those that the peer expects';
