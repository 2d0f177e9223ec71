import { quoted } from '../../printable.ts';
import { ImportError } from '../../protocols/forms/draft.ts';

const LARGEST = 0xffff;

/**
 * Converts a port or a range to the syntax of `[[route.rule]].port`.
 * @param separator separator of a range's ends: `:` in sing-box, where one end may be omitted, or `-`
 * @throws {ImportError} for any other value
 */
export function portsOf(value: unknown, separator: ':' | '-'): string {
  const text = String(value).trim();
  const [first = '', last = first, ...others] = text.split(separator).map((part) => part.trim());
  const isRange = text.includes(separator);
  const low = portOf(first, isRange && separator === ':' ? 0 : undefined);
  const high = portOf(last, isRange && separator === ':' ? LARGEST : undefined);
  if (low === undefined || high === undefined || low > high || others.length > 0) {
    throw new ImportError(`${quoted(text)} is not a port or a range of ports`);
  }
  return low === high ? String(low) : `${low}-${high}`;
}

/** Parses a port. @param missing the value of an empty text */
function portOf(text: string, missing: number | undefined): number | undefined {
  if (text === '') return missing;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : LARGEST + 1;
  return port > LARGEST ? undefined : port;
}
