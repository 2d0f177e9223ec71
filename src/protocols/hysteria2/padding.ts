import type { RandomSource } from '../../crypto/random-source.ts';

/** Lengths from `min` to `limit` - 1, evenly distributed. */
export interface PaddingRange {
  readonly min: number;
  readonly limit: number;
}

/** The ranges of the reference (core/internal/protocol/padding.go), so that lengths are alike. */
export const PADDING = {
  authentication: { min: 256, limit: 2048 },
  tcpRequest: { min: 64, limit: 512 },
  tcpResponse: { min: 128, limit: 1024 },
} as const satisfies Record<string, PaddingRange>;

const CHARACTERS = Buffer.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789');

/** Letters and digits, as the reference pads. */
export function padding({ min, limit }: PaddingRange, random: RandomSource): Buffer {
  const bytes = random.bytes(min + random.below(limit - min));
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = CHARACTERS[(bytes[at] as number) % CHARACTERS.length] as number; // in range
  }
  return bytes;
}
