/**
 * Transforms UDP payloads so that they do not look like QUIC. It is applied to every datagram of an endpoint,
 * in both directions.
 */
export interface PacketObfuscation {
  /** Bytes that obfuscation adds to each datagram; they are subtracted from the MTU of QUIC. */
  readonly overhead: number;
  /** Writes the obfuscated `datagram` into `out` from `at` on, and returns its length. The two do not overlap. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number;
  /**
   * Recovers the payload, in the memory of the argument, which is changed in place; `undefined` when it cannot be a
   * datagram of this obfuscation.
   */
  open(datagram: Uint8Array): Uint8Array | undefined;
}
