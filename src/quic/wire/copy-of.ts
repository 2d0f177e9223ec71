/**
 * A copy of a part of a datagram, whose memory is reused. Not `slice`: datagrams are Buffers, of which it returns
 * a view.
 */
export const copyOf = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  new Uint8Array(bytes.subarray(start, end));
