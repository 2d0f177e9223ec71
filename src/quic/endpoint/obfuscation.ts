/**
 * What is done to UDP payloads below QUIC, so that they do not look like QUIC. Every datagram of an
 * endpoint passes through it, in both directions.
 */
export interface PacketObfuscation {
  /** Bytes by which each datagram grows: QUIC has that much less of the path's MTU. */
  readonly overhead: number;
  /** Writes the obfuscated `datagram` into `out` from `at` on, and returns its length. They do not overlap. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number;
  /**
   * The payload, in the memory of the argument, which is changed in place; `undefined` when it cannot be
   * a datagram of this obfuscation.
   */
  open(datagram: Uint8Array): Uint8Array | undefined;
}
