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

/**
 * The length in bits of each octet's code, and of EOS at the end (RFC 7541, appendix B). The code is
 * canonical (§5.2), so that the codes follow from their lengths.
 */
const CODE_LENGTHS: readonly number[] = (
  '13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28 ' +
  '6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10 ' +
  '13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6 ' +
  '15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28 ' +
  '20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24 ' +
  '22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23 ' +
  '26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27 ' +
  '20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26 ' +
  '30'
)
  .split(' ')
  .map(Number);

const EOS = 256;
const CODES = canonicalCodes(CODE_LENGTHS);

/**
 * Transitions of the decoder: one row for each state, one column for each value of the next four bits.
 * An entry has the next state in its upper half, and in its lower half the decoded octet or NO_OCTET;
 * FAILED marks an invalid code. Codes have at least five bits, so four bits complete at most one.
 */
const TRANSITIONS = new Int32Array(256 * 16);
const NO_OCTET = 0x100;
const FAILED = -1;
/** States in which a string may end: up to seven bits into a code, all of them ones (§5.2). */
const MAY_END = new Uint8Array(256);
buildDecoder();

/** Returns the length in bytes of the Huffman encoding of a latin1 text (RFC 7541 §5.2). */
export function huffmanSize(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) {
    bits += CODE_LENGTHS[text.charCodeAt(at) & 0xff] as number; // 257 lengths
  }
  return Math.ceil(bits / 8);
}

/** Writes the Huffman encoding of a latin1 text. Returns the offset of the byte after the encoding. */
export function writeHuffman(out: Uint8Array, offset: number, text: string): number {
  // Bits that do not fill an octet yet: up to seven, or 37 together with a code.
  let pending = 0;
  let bits = 0;
  let to = offset;
  for (let at = 0; at < text.length; at++) {
    const octet = text.charCodeAt(at) & 0xff;
    const length = CODE_LENGTHS[octet] as number; // 257 lengths
    pending = pending * 2 ** length + (CODES[octet] as number); // 257 codes
    bits += length;
    while (bits >= 8) {
      bits -= 8;
      const full = Math.floor(pending / 2 ** bits);
      out[to++] = full;
      pending -= full * 2 ** bits;
    }
  }
  // The padding is the most significant bits of EOS, which are ones (§5.2).
  if (bits > 0) out[to++] = (pending << (8 - bits)) | (0xff >> bits);
  return to;
}

/**
 * Reads a Huffman-encoded string (RFC 7541 §5.2) as latin1; `undefined` if it contains EOS, or if its padding is longer
 * than seven bits or is not a prefix of EOS.
 */
export function readHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  // The shortest code has five bits.
  const text = Buffer.allocUnsafe(Math.floor(((end - start) * 8) / 5));
  let length = 0;
  let state = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number; // below `end`
    for (let shift = 4; shift >= 0; shift -= 4) {
      const entry = TRANSITIONS[state * 16 + ((byte >> shift) & 0xf)] as number; // 256 rows of 16
      if (entry === FAILED) return undefined;
      state = entry >> 16;
      const octet = entry & 0xffff;
      if (octet !== NO_OCTET) text[length++] = octet;
    }
  }
  return MAY_END[state] === 1 ? text.toString('latin1', 0, length) : undefined;
}

/**
 * Assigns the codes: those of the same length are consecutive, in the order of the symbols, followed by longer ones.
 */
function canonicalCodes(lengths: readonly number[]): number[] {
  const codes = Array.from(lengths, () => 0);
  let next = 0;
  for (let length = 1; length <= 30; length++) {
    for (const [symbol, own] of lengths.entries()) if (own === length) codes[symbol] = next++;
    next *= 2;
  }
  return codes;
}

/** Builds the tree of codes, and computes the transitions from each inner node for four bits. */
function buildDecoder(): void {
  // The two children of each inner node: the number of a node, or the complement of a symbol.
  const children: [number, number][] = [[0, 0]];
  for (const [symbol, length] of CODE_LENGTHS.entries()) {
    let node = 0;
    for (let bit = length - 1; bit >= 0; bit--) {
      const way = (((CODES[symbol] as number) >> bit) & 1) as 0 | 1; // 257 codes
      const pair = children[node] as [number, number]; // made before it was linked
      if (bit === 0) pair[way] = ~symbol;
      else if (pair[way] === 0) pair[way] = children.push([0, 0]) - 1;
      node = pair[way];
    }
  }
  for (let state = 0; state < children.length; state++) {
    for (let bits = 0; bits < 16; bits++) {
      TRANSITIONS[state * 16 + bits] = step(children, state, bits);
    }
  }
  let node = 0;
  for (let ones = 0; ones < 8; ones++) {
    MAY_END[node] = 1;
    node = (children[node] as [number, number])[1]; // EOS has 30 ones
  }
}

function step(children: readonly [number, number][], state: number, bits: number): number {
  let node = state;
  let octet = NO_OCTET;
  for (let bit = 3; bit >= 0; bit--) {
    node = (children[node] as [number, number])[((bits >> bit) & 1) as 0 | 1]; // an inner node
    if (node >= 0) continue;
    if (~node === EOS) return FAILED;
    octet = ~node;
    node = 0;
  }
  return (node << 16) | octet;
}

/**
 * Writes a string literal (RFC 7541 §5.2, RFC 9204 §4.1.2) with an N-bit prefix of its length, in Huffman code if that
 * is shorter. The text is latin1; `flags` are the bits above the Huffman flag. Returns the offset after the literal.
 */
export function writeText(
  out: Uint8Array,
  offset: number,
  text: string,
  prefix: number,
  flags: number,
): number {
  const coded = huffmanSize(text);
  if (coded < text.length) {
    const at = writePrefixInteger(out, offset, coded, prefix, flags | (1 << prefix));
    return writeHuffman(out, at, text);
  }
  let at = writePrefixInteger(out, offset, text.length, prefix, flags);
  for (let index = 0; index < text.length; index++) out[at++] = text.charCodeAt(index);
  return at;
}

export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Reads the integers and string literals of a header block (RFC 7541 §5, RFC 9204 §4.1). */
export abstract class LiteralReader {
  protected bytes: Uint8Array;
  /** The offset of the next octet. */
  protected at = 0;
  readonly #integer = new PrefixInteger();

  constructor(bytes = NO_BYTES) {
    this.bytes = bytes;
  }

  /** Reads an integer with an N-bit prefix; `undefined` if it is truncated or too large. */
  protected readNumber(prefix: number): number | undefined {
    const value = this.#integer.read(this.bytes, this.at, this.bytes.length, prefix);
    if (value < 0 || value > Number.MAX_SAFE_INTEGER) return undefined;
    this.at = this.#integer.next;
    return value;
  }

  /** Reads a string literal with its Huffman flag above the prefix of its length; `undefined` if it is malformed. */
  protected readText(prefix: number): string | undefined {
    const isHuffman = ((this.bytes[this.at] ?? 0) & (1 << prefix)) !== 0;
    const length = this.readNumber(prefix);
    if (length === undefined || length > this.bytes.length - this.at) return undefined;
    const start = this.at;
    this.at += length;
    if (isHuffman) return readHuffman(this.bytes, start, this.at);
    const { buffer, byteOffset } = this.bytes;
    return Buffer.from(buffer, byteOffset + start, length).toString('latin1');
  }
}
