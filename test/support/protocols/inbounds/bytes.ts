/** Bytes from hexadecimal text with blanks, and from text in quotes: `05 01 03 'a.example' 0050`. */
export function bytes(notation: string): Buffer {
  const parts = notation.match(/'[^']*'|[0-9a-fA-F]+/g) ?? [];
  return Buffer.concat(
    parts.map((part) =>
      part.startsWith("'") ? Buffer.from(part.slice(1, -1)) : Buffer.from(part, 'hex'),
    ),
  );
}
