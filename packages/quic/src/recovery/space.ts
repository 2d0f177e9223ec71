/** Packet number spaces (RFC 9000 §12.3), in the order in which they come into use. */
export const Space = {
  INITIAL: 0,
  HANDSHAKE: 1,
  APPLICATION: 2,
} as const;
export type Space = (typeof Space)[keyof typeof Space];

export const SPACES: readonly Space[] = [Space.INITIAL, Space.HANDSHAKE, Space.APPLICATION];
