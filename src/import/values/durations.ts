const UNITS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-9],
  ['us', 1e-6],
  ['µs', 1e-6],
  ['ms', 1e-3],
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
]);

const PART = /(?<amount>\d{1,9}(?:\.\d{1,9})?)(?<unit>[a-zµ]{1,2})/gy;

/**
 * Parses a duration in Go's syntax (`1m30s`), or a number of seconds, to whole seconds, at least 1; `undefined` for any
 * other text.
 */
export function secondsOf(text: string): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Math.max(1, Number(text));
  if (text.length > MAX_LENGTH) return undefined;
  let seconds = 0;
  let end = 0;
  for (const match of text.matchAll(PART)) {
    const { amount = '', unit = '' } = match.groups ?? {};
    const factor = UNITS.get(unit);
    if (factor === undefined) return undefined;
    seconds += Number(amount) * factor;
    end = match.index + match[0].length;
  }
  if (end === 0 || end !== text.length || seconds > 1e9) return undefined;
  return Math.max(1, Math.round(seconds));
}

const MAX_LENGTH = 40;
