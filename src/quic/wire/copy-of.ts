/**
 * A copy of a part of a datagram, which outlives it: the memory of a received datagram is used again.
 * `slice` does not do: of a Buffer, which datagrams come in, it is a view.
 */
export const copyOf = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  new Uint8Array(bytes.subarray(start, end));
