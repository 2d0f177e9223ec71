import { randomBytes, randomInt } from 'node:crypto';

/** Where salts, ids and padding come from. Tests put a known sequence in its place. */
export interface Randomness {
  bytes(length: number): Buffer;
  /** A whole number from 0 up to, and without, `limit`. */
  below(limit: number): number;
}

export const systemRandomness: Randomness = {
  bytes: (length) => randomBytes(length),
  below: (limit) => randomInt(limit),
};
