import { huffmanSize, writeHuffman } from './huffman.ts';
import { writePrefixInteger } from './prefix-integer.ts';

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
