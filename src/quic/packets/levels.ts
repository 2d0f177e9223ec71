import { Space } from '../recovery/space.ts';
import type { TlsLevel } from '../connection/tls-handshake.ts';

/** The level of TLS whose CRYPTO data the packets of a space carry. */
export const levelOf = (space: Space): TlsLevel =>
  space === Space.APPLICATION ? 'application' : space === Space.HANDSHAKE ? 'handshake' : 'initial';
