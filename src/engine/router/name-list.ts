/**
 * Names in one buffer: the bytes of each in UTF-8 one after the other, and where each one ends.
 *
 * A JavaScript string costs 20 to 40 bytes before its first letter, which a list of a million
 * domains cannot afford.
 */
export interface NameList {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
}

/** A domain as matchers compare it: lower case, without the dot of the root. */
export function normalizeName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/**
 * Packs the entries of a suffix or full list. Those that can match no name are left out: empty
 * ones, and ones with a leading dot.
 */
export function packNames(names: readonly string[]): NameList {
  const wanted: string[] = [];
  for (const name of names) {
    const normal = normalizeName(name);
    if (normal !== '' && !normal.startsWith('.')) wanted.push(normal);
  }
  const text = wanted.join('');
  const bytes = Buffer.from(text);
  const ascii = bytes.length === text.length;
  const ends = new Uint32Array(wanted.length);
  let end = 0;
  wanted.forEach((name, index) => {
    end += ascii ? name.length : Buffer.byteLength(name);
    ends[index] = end;
  });
  return { bytes, ends };
}
