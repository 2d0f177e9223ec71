/** Returned by `PrefixInteger.read` if the bytes end within the integer. */
export const TRUNCATED = -1;

/** Returned by `PrefixInteger.read` for an integer above 2^53 - 1, or with more than OCTET_LIMIT octets. */
export const TOO_LARGE = Infinity;

/** Limit of octets after the prefix: eight hold 56 bits, more than any accepted integer. */
const OCTET_LIMIT = 8;

/**
 * An integer with an N-bit prefix (RFC 9204 §4.1.1, RFC 7541 §5.1). The object is
 * reused: `read` overwrites it.
 */
export class PrefixInteger {
  /** The integer, TRUNCATED or TOO_LARGE. */
  value = 0;
  /** The offset after the integer, unless it is TRUNCATED or TOO_LARGE. */
  next = 0;

  /** Reads the integer whose prefix is the `prefix` low bits of the octet at `offset`. */
  read(bytes: Uint8Array, offset: number, end: number, prefix: number): number {
    if (offset >= end) return (this.value = TRUNCATED);
    const mask = (1 << prefix) - 1;
    const first = (bytes[offset] as number) & mask; // below `end`
    this.next = offset + 1;
    if (first < mask) return (this.value = first);
    let value = mask;
    let scale = 1;
    for (let count = 0; count < OCTET_LIMIT; count++) {
      if (this.next >= end) return (this.value = TRUNCATED);
      const octet = bytes[this.next++] as number; // below `end`
      value += (octet & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) return (this.value = TOO_LARGE);
      if (octet < 0x80) return (this.value = value);
      scale *= 128;
    }
    return (this.value = TOO_LARGE);
  }
}

/**
 * Writes an integer from 0 to 2^53 - 1 with an N-bit prefix. `flags` are the bits of the first octet above the prefix.
 * Returns the offset after the integer.
 */
export function writePrefixInteger(
  out: Uint8Array,
  offset: number,
  value: number,
  prefix: number,
  flags: number,
): number {
  const mask = (1 << prefix) - 1;
  if (value < mask) {
    out[offset] = flags | value;
    return offset + 1;
  }
  out[offset] = flags | mask;
  let to = offset + 1;
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) out[to++] = 0x80 | (rest % 128);
  out[to++] = rest;
  return to;
}
