import { sha256 } from '../crypto/hash/keyed-hash.ts';
import { printable } from '../printable.ts';

/**
 * Maximum characters of a label value; Prometheus has no limit by default, its storage backends often have 512 or more.
 */
const MAX_LENGTH = 128;

const HASH_DIGITS = 8;

/**
 * A name from a configuration as a label value, printable and of limited length. Different names remain different: a
 * changed one ends with a part of its hash.
 */
export function labelValue(name: string): string {
  const text = printable(name.slice(0, MAX_LENGTH + 1));
  if (text === name && text.length <= MAX_LENGTH) return name;
  const hash = Buffer.from(sha256(Buffer.from(name, 'utf16le'))).toString('hex');
  const kept = text.slice(0, MAX_LENGTH - HASH_DIGITS - 1).toWellFormed();
  return `${kept}~${hash.slice(0, HASH_DIGITS)}`;
}
