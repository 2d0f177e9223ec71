import type { RandomSource } from '../../crypto/random-source.ts';

/** Random bytes before each datagram. */
export const SALT_LENGTH = 8;

/**
 * Obfuscation of datagrams: BLAKE2b-256 of the password and a salt, repeated, is combined with the
 * datagram by XOR (extras/obfs/salamander.go). It hides QUIC from filters; it keeps no secret.
 * Implements `PacketObfuscation` of src/quic/obfuscation.ts.
 */
export declare class Salamander {
  readonly overhead: number;
  constructor(password: string, random: RandomSource);
  /** Writes the obfuscated `datagram` into `out` from `at`, and returns its length. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number;
  /** The datagram, in the memory of the argument; `undefined` when it is too short. */
  open(datagram: Uint8Array): Uint8Array | undefined;
}
