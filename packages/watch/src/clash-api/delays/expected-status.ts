/** Inclusive ranges of HTTP statuses. */
export type StatusRanges = readonly { readonly low: number; readonly high: number }[];

/** Maximum number of ranges, as in mihomo. */
const MOST_RANGES = 28;

const NUMBER = /^[0-9]{1,5}$/;

/**
 * Parses `expected` of a delay test: `200/204-299`, also with commas; empty and `*` accept every status.
 *
 * @returns the ranges, none for every status; `undefined` for invalid text
 */
export function parseExpected(text: string): StatusRanges | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === '*') return [];
  const parts = trimmed.replaceAll(',', '/').split('/', MOST_RANGES + 1);
  if (parts.length > MOST_RANGES) return undefined;
  const ranges: { low: number; high: number }[] = [];
  for (const part of parts) {
    if (part === '') continue;
    const [low, high = low, ...rest] = part.split('-', 3).map(numberOf);
    if (low === undefined || high === undefined || rest.length > 0) return undefined;
    ranges.push({ low, high });
  }
  return ranges;
}

function numberOf(text: string): number | undefined {
  const bare = text.replaceAll(/[[\] ]/g, '');
  return NUMBER.test(bare) ? Number(bare) : undefined;
}

export const isExpected = (ranges: StatusRanges, status: number): boolean =>
  ranges.length === 0 || ranges.some(({ low, high }) => status >= low && status <= high);
