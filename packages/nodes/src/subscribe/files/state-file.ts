import { isSourceName } from '../../import/write/markers.ts';
import { DEFAULT_INTERVAL, type Source } from '../source.ts';
import { jsonIn } from '@weir/base/text/json';

/**
 * The quota and the expiry of a subscription, from the header `subscription-userinfo`; missing parts are `undefined`.
 */
export interface Userinfo {
  /** Bytes sent so far. */
  readonly upload?: number | undefined;
  readonly download?: number | undefined;
  /** Quota in bytes for both directions. */
  readonly total?: number | undefined;
  /** End of the subscription, in Unix seconds. */
  readonly expire?: number | undefined;
}

const FIELDS = ['upload', 'download', 'total', 'expire'] as const;

/** A larger time is in milliseconds, as some panels send it: in seconds it would be after the year 5000. */
const MILLISECONDS = 1e11;

/** Maximum number of characters of the header that are read. */
const LONGEST = 1024;

/**
 * Parses the header `subscription-userinfo`: `upload=455; download=24576; total=1073741824; expire=1790000000`. Parts
 * that are not numbers are left out; the first of several counts. `undefined` where no part is left.
 */
export function parseUserinfo(header: string | undefined): Userinfo | undefined {
  const found: { -readonly [Key in keyof Userinfo]: number } = {};
  for (const part of partsOf(header ?? '')) {
    const equals = part.indexOf('=');
    const key = part.slice(0, Math.max(0, equals)).trim().toLowerCase();
    const field = FIELDS.find((each) => each === key);
    const value = headerNumber(
      part
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1'),
    );
    if (field && value !== undefined) found[field] ??= value;
  }
  // Panels send 0 for a subscription without an end, or for an unlimited quota.
  if (found.expire === 0) delete found.expire;
  if (found.total === 0) delete found.total;
  if (found.expire !== undefined && found.expire >= MILLISECONDS) {
    found.expire = Math.trunc(found.expire / 1000);
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The parts within the first `LONGEST` characters, except one that continues beyond: it may be a truncated number. */
const partsOf = (header: string): readonly string[] =>
  header
    .slice(0, LONGEST)
    .split(/[;,]/)
    .slice(0, header.length > LONGEST ? -1 : undefined);

/** Parses a non-negative integer, also in the float format of some programs (`1.5E+14`); fractions are truncated. */
function headerNumber(text: string): number | undefined {
  if (!/^\+?\d{1,40}(?:\.\d{0,40})?(?:e[+-]?\d{1,3})?$/i.test(text)) return undefined;
  const value = Math.trunc(Number(text));
  return Number.isSafeInteger(value) ? value : undefined;
}

const LEAST_HOURS = 1;
const MOST_HOURS = 31 * 24;

/**
 * Parses the header `profile-update-interval`, which has the provider's update interval in hours, to seconds between an
 * hour and a month. `undefined` if it is not a number.
 */
export function parseUpdateInterval(header: string | undefined): number | undefined {
  const hours = headerNumber((header ?? '').trim());
  if (hours === undefined) return undefined;
  return Math.min(Math.max(hours, LEAST_HOURS), MOST_HOURS) * 3600;
}

/**
 * The state of a source apart from its nodes. It may be lost: the next update recreates it, and no running Weir depends
 * on it.
 */
export interface SourceState {
  /** SHA-256 of the URL, in hex: the rest is not valid for another URL. */
  readonly url: string;
  /** SHA-256 of the nodes that the validators below belong to, in hex: see `sourceText`. */
  readonly nodes?: string | undefined;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
  readonly userinfo?: Userinfo | undefined;
  /** The provider's update interval, in seconds. */
  readonly updateInterval?: number | undefined;
  /** When the last usable response was received, whether or not it had changed, in Unix milliseconds. */
  readonly updated?: number | undefined;
  /** The last failure; `undefined` after a successful update. */
  readonly failure?: UpdateFailure | undefined;
}

export interface UpdateFailure {
  /** Unix milliseconds. */
  readonly at: number;
  /** Text of one line. */
  readonly message: string;
}

export interface SubscribeState {
  /** SHA-256 in hex of the subscribe file that the running Weir last loaded. */
  readonly reloaded?: string | undefined;
  readonly sources: ReadonlyMap<string, SourceState>;
}

export const NO_STATE: SubscribeState = { sources: new Map() };

const VERSION = 1;
const LONGEST_TEXT = 1024;

/** Formats a state as its file: JSON with a line end. */
export const stateText = ({ reloaded, sources }: SubscribeState): string =>
  `${JSON.stringify({ version: VERSION, reloaded, sources: Object.fromEntries(sources) }, undefined, 2)}\n`;

/** Parses a state; `undefined` for a file that no version of Weir has written. Invalid parts are left out. */
export function readState(text: string): SubscribeState | undefined {
  const file = objectOf(jsonIn(text));
  if (!file || file['version'] !== VERSION) return undefined;
  const sources = new Map<string, SourceState>();
  for (const [name, value] of Object.entries(objectOf(file['sources']) ?? {})) {
    const state = isSourceName(name) ? sourceState(value) : undefined;
    if (state) sources.set(name, state);
  }
  return { reloaded: textOf(file['reloaded']), sources };
}

function sourceState(value: unknown): SourceState | undefined {
  const fields = objectOf(value);
  const url = textOf(fields?.['url']);
  if (!fields || url === undefined) return undefined;
  const failure = objectOf(fields['failure']);
  const at = numberOf(failure?.['at']);
  const message = textOf(failure?.['message']);
  return {
    url,
    nodes: textOf(fields['nodes']),
    etag: textOf(fields['etag']),
    lastModified: textOf(fields['lastModified']),
    userinfo: userinfoOf(fields['userinfo']),
    updateInterval: numberOf(fields['updateInterval']),
    updated: numberOf(fields['updated']),
    failure: at === undefined || message === undefined ? undefined : { at, message },
  };
}

function userinfoOf(value: unknown): Userinfo | undefined {
  const fields = objectOf(value);
  if (!fields) return undefined;
  return {
    upload: numberOf(fields['upload']),
    download: numberOf(fields['download']),
    total: numberOf(fields['total']),
    expire: numberOf(fields['expire']),
  };
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= LONGEST_TEXT ? value : undefined;

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** The update interval of a source, in seconds. */
export const intervalOf = (source: Source, state: SourceState | undefined): number =>
  source.interval ?? state?.updateInterval ?? DEFAULT_INTERVAL;

/** When a source is due for an update, in Unix milliseconds; 0 if it was never updated. */
export const dueAt = (source: Source, state: SourceState | undefined): number =>
  state?.updated === undefined ? 0 : state.updated + intervalOf(source, state) * 1000;

/** Whether a source is due; also when its last update lies in the future, because of a wrong clock. */
export const isDue = (source: Source, state: SourceState | undefined, now: number): boolean =>
  dueAt(source, state) <= now || (state?.updated ?? 0) > now;
