import { DAY_MS, HOUR_MS } from '@weir/base/text/amounts';

/** One condition of a filter; a flow matches when it matches all. */
export type Term = {
  /** Whether the term, written with a leading minus, selects flows that do not match. */
  readonly negated: boolean;
} & TermKind;

type TermKind =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'equals'; readonly facet: TextFacet; readonly pattern: string }
  | { readonly kind: 'rule'; readonly rule: number | null }
  | { readonly kind: 'number'; readonly facet: 'port' | 'session' | 'id'; readonly value: number }
  | { readonly kind: 'closed'; readonly closed: boolean }
  | {
      readonly kind: 'compare';
      readonly facet: AmountFacet;
      readonly over: boolean;
      /** Milliseconds, bytes, or bytes per second. */
      readonly amount: number;
    };

/** Facets with a text value, in which `*` matches any characters. */
export type TextFacet = 'user' | 'out' | 'in' | 'host' | 'src' | 'net';

export type AmountFacet = 'age' | 'up' | 'down' | 'rate';

/** Why a filter is invalid. */
export type FilterProblem = {
  /** A sentence without a full stop. */
  readonly message: string;
  /** Offset of the invalid part. */
  readonly at: number;
};

export type ParsedFilter =
  | { readonly terms: readonly Term[]; readonly problem?: undefined }
  | { readonly problem: FilterProblem };

/** Maximum characters of a filter. */
export const LONGEST_FILTER = 500;
const MAX_TERMS = 20;

const TEXT_FACETS: Readonly<Record<string, TextFacet>> = {
  user: 'user',
  out: 'out',
  outbound: 'out',
  in: 'in',
  inbound: 'in',
  host: 'host',
  src: 'src',
  source: 'src',
  net: 'net',
  network: 'net',
};

/** Units of durations, in milliseconds. */
const DURATIONS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: HOUR_MS,
  d: DAY_MS,
};

const SIZES: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 };

const FACET_LIST =
  'user, out, in, host, port, src, net, rule, session, id, closed, age, up, down, rate';

/** Thrown internally for a filter that cannot be parsed, and caught by `parseFilter`. */
class Unreadable extends Error {}

/**
 * Parses a filter such as `user:ann out:tokyo host:*.video rule:4 age>1h up>1M closed:yes example`: facets, and free
 * text, which a flow must have in its host, user, source, outbound or inbound. Values with spaces are in double quotes;
 * `user:""` matches flows without a user. Takes time linear in the length, which is bounded.
 */
export function parseFilter(filter: string): ParsedFilter {
  if (filter.length > LONGEST_FILTER) {
    return {
      problem: { message: `a filter has at most ${LONGEST_FILTER} characters`, at: LONGEST_FILTER },
    };
  }
  const terms: Term[] = [];
  let at = 0;
  while (at < filter.length) {
    if (isSpace(filter[at])) {
      at++;
      continue;
    }
    const start = at;
    try {
      const word = readWord(filter, start);
      at = word.end;
      if (terms.length === MAX_TERMS)
        throw new Unreadable(`a filter has at most ${MAX_TERMS} parts`);
      terms.push(termOf(word));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return { problem: { message: error.message, at: start } };
    }
  }
  return { terms };
}

interface Word {
  readonly negated: boolean;
  /** `undefined` for free text. */
  readonly facet: string | undefined;
  readonly operator: string;
  readonly value: string;
  readonly end: number;
}

function readWord(filter: string, start: number): Word {
  const negated = filter[start] === '-' && start + 1 < filter.length && !isSpace(filter[start + 1]);
  const from = negated ? start + 1 : start;
  let at = from;
  while (at < filter.length && isFacetLetter(filter[at])) at++;
  const operator = filter[at] ?? '';
  if (
    at > from &&
    (operator === '>' || operator === '<' || (operator === ':' && !isAddress(filter, from)))
  ) {
    const { value, end } = readValue(filter, at + 1);
    return { negated, facet: filter.slice(from, at).toLowerCase(), operator, value, end };
  }
  const { value, end } = readValue(filter, from);
  return { negated, facet: undefined, operator: '', value, end };
}

/** Reads a value up to the next space, or within quotes, in which a backslash escapes the next character. */
function readValue(
  filter: string,
  start: number,
): { readonly value: string; readonly end: number } {
  if (filter[start] !== '"') {
    let end = start;
    while (end < filter.length && !isSpace(filter[end])) end++;
    return { value: filter.slice(start, end), end };
  }
  let value = '';
  for (let at = start + 1; at < filter.length; at++) {
    if (filter[at] === '"') return { value, end: at + 1 };
    if (filter[at] === '\\') at++;
    value += filter[at] ?? '';
  }
  throw new Unreadable('the closing quote is missing');
}

function termOf({ negated, facet, operator, value }: Word): Term {
  if (facet === undefined) {
    if (value === '') throw new Unreadable('empty quotes need a facet, as in user:""');
    return { negated, kind: 'text', text: value.toLowerCase() };
  }
  return {
    negated,
    ...(operator === ':' ? facetTerm(facet, value) : amountTerm(facet, operator, value)),
  };
}

function facetTerm(facet: string, value: string): TermKind {
  const text = TEXT_FACETS[facet];
  if (text !== undefined && Object.hasOwn(TEXT_FACETS, facet)) {
    return { kind: 'equals', facet: text, pattern: value.toLowerCase() };
  }
  switch (facet) {
    case 'rule':
      if (value === 'default') return { kind: 'rule', rule: null };
      return { kind: 'rule', rule: wholeNumber(value, 'rule takes a number, or default') };
    case 'port':
    case 'session':
    case 'id':
      return { kind: 'number', facet, value: wholeNumber(value, `${facet} takes a number`) };
    case 'closed':
      if (value !== 'yes' && value !== 'no') throw new Unreadable('closed takes yes or no');
      return { kind: 'closed', closed: value === 'yes' };
    case 'age':
    case 'up':
    case 'down':
    case 'rate':
      throw new Unreadable(`${facet} is compared: ${facet}>${facet === 'age' ? '1h' : '1M'}`);
    default:
      throw new Unreadable(
        `${JSON.stringify(facet)} is not a facet; there are ${FACET_LIST}. Text with a colon stands in quotes`,
      );
  }
}

function amountTerm(facet: string, operator: string, value: string): TermKind {
  const over = operator === '>';
  switch (facet) {
    case 'age':
      return {
        kind: 'compare',
        facet,
        over,
        amount: amount(value, DURATIONS, 'age>90s, age>5m, age>1h'),
      };
    case 'up':
    case 'down':
    case 'rate':
      return {
        kind: 'compare',
        facet,
        over,
        amount: amount(value.replace(/b$/i, ''), SIZES, `${facet}>500k, ${facet}>1M, ${facet}>2G`),
      };
    default:
      throw new Unreadable('only age, up, down and rate are compared with > and <');
  }
}

function amount(value: string, units: Readonly<Record<string, number>>, examples: string): number {
  const { digits = '', unit = '' } =
    /^(?<digits>\d{1,12}(?:\.\d{1,6})?)(?<unit>[a-z]?)$/i.exec(value)?.groups ?? {};
  const size = units[unit.toLowerCase()];
  if (digits === '' || size === undefined)
    throw new Unreadable(`expected an amount, as in ${examples}`);
  return Number(digits) * size;
}

function wholeNumber(value: string, message: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new Unreadable(message);
  return Number(value);
}

const isSpace = (char: string | undefined): boolean =>
  char === ' ' || char === '\t' || char === '\n';

const isFacetLetter = (char: string | undefined): boolean =>
  char !== undefined && ((char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z'));

/** Whether free text begins with an IPv6 address, such as `fe80::1`, which is not a facet. */
function isAddress(filter: string, start: number): boolean {
  let colons = 0;
  for (let at = start; at < filter.length && !isSpace(filter[at]); at++) {
    const char = filter[at] ?? '';
    if (char === ':') colons++;
    else if (!/[\da-f.]/i.test(char)) return false;
  }
  return colons > 1;
}

/** Formats a value for a filter, in quotes where needed. */
export const filterValue = (value: string): string =>
  value === '' || /[\s"\\]/.test(value)
    ? `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`
    : value;
