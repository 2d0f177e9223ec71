import { isSourceName } from '../../import/write/markers.ts';
import type { Userinfo } from '../answer/userinfo.ts';
import { DEFAULT_INTERVAL, type Source } from '../source.ts';

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
  const file = objectOf(parsed(text));
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
