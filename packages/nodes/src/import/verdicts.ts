import { quoted } from '@weir/base/printable';
import { type ForeignObject, ImportError } from '@weir/proxy/protocols/forms';
import type { DocumentKey } from './routing.ts';

/** The treatment of another program's key that Weir does not carry over. */
type KeyVerdict =
  /** Weir behaves the same, or the key has no effect between client and server. */
  | { readonly kind: 'same'; readonly when?: ((value: unknown) => boolean) | undefined }
  /** The outbound works without the key; `reason` describes the difference. */
  | {
      readonly kind: 'dropped';
      readonly reason: string;
      /** Whether the key counts by being there, as an empty object. */
      readonly isPresence?: boolean;
    }
  /** Without the key the outbound would not connect, or would reveal what the key hides. */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Verdicts by the path of a key in its entry: `tls.utls`, or `headers.*` for every key of an object. Keys that are
 * carried over have no verdict.
 */
export type KeyTable = Readonly<Record<string, KeyVerdict>>;

/**
 * Keys by their verdict, and by the reason. Paths are words: `a tls.{b c}` is short for `a tls.b tls.c`.
 */
export interface KeyGroups {
  readonly same?: string;
  /** Keys that make no difference with some values; with other values the key is dropped with a note. */
  readonly when?: Readonly<Record<string, (value: unknown) => boolean>>;
  /** Paths by reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** Paths by reason. */
  readonly dropped?: Readonly<Record<string, string>>;
  /** Paths of dropped keys that count by being there, as an empty object, by reason. */
  readonly present?: Readonly<Record<string, string>>;
}

/** The table of all groups, of which the last counts for a key. */
export const keyTable = (...groups: readonly KeyGroups[]): KeyTable =>
  Object.fromEntries(groups.flatMap((group) => [...verdictsIn(group)]));

/** The same groups for the keys of an object at a path. */
export const under = (path: string, { same = '', refused, dropped }: KeyGroups): KeyGroups => {
  const nested = (paths: string): string => `${path}.{${paths}}`;
  const each = (reasons: KeyGroups['dropped'] = {}): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(reasons).map(([reason, paths]) => [reason, nested(paths)]));
  return { same: nested(same), refused: each(refused), dropped: each(dropped) };
};

function* verdictsIn({
  same = '',
  when = {},
  refused = {},
  dropped = {},
  present = {},
}: KeyGroups): Generator<readonly [path: string, verdict: KeyVerdict]> {
  for (const path of pathsIn(same)) yield [path, { kind: 'same' }];
  for (const [path, holds] of Object.entries(when)) yield [path, { kind: 'same', when: holds }];
  for (const [kind, reasons] of [
    ['refused', refused],
    ['dropped', dropped],
  ] as const) {
    for (const [reason, paths] of Object.entries(reasons)) {
      for (const path of pathsIn(paths)) yield [path, { kind, reason }];
    }
  }
  for (const [reason, paths] of Object.entries(present)) {
    for (const path of pathsIn(paths)) yield [path, { kind: 'dropped', reason, isPresence: true }];
  }
}

const pathsIn = (words: string): readonly string[] =>
  words.split('}').flatMap((part) => {
    const [plain = [], keys] = part.split('{').map(wordsIn);
    return keys ? [...plain.slice(0, -1), ...keys.map((key) => `${plain.at(-1)}${key}`)] : plain;
  });

const wordsIn = (text: string): readonly string[] => text.split(/\s/).filter((word) => word !== '');

/** Maximum number of notes on one entry; a document may have any number of keys. */
const MAX_NOTES = 20;

/**
 * Notes on the keys that are not carried over.
 * @throws {ImportError} for a refused key
 */
export function notesOn(fields: ForeignObject, verdicts: KeyTable): readonly string[] {
  const notes: string[] = [];
  let more = 0;
  for (const { path, value } of fields.unread()) {
    if (saysNothing(value)) continue;
    const verdict = verdictOn(path, verdicts);
    if (verdict?.kind === 'refused') throw new ImportError(`${quoted(path)}: ${verdict.reason}`);
    if (verdict?.kind === 'same' && (verdict.when?.(value) ?? true)) continue;
    const reason =
      verdict?.kind === 'dropped'
        ? verdict.reason
        : verdict === undefined
          ? UNKNOWN_KEY
          : 'Weir does otherwise';
    if (notes.length < MAX_NOTES) notes.push(noteOn(path, reason));
    else more++;
  }
  return more === 0 ? notes : [...notes, `${more} more keys are not carried over`];
}

/** The note that a key is not carried over. */
export const noteOn = (path: string, reason: string): string =>
  `${quoted(path)} is not carried over: ${reason}`;

/** Maximum number of a document's keys that are listed individually. */
const MAX_KEYS = 500;

/** The outcome of each key of a document that no reader has read. */
export function keysOf(document: ForeignObject, verdicts: KeyTable): readonly DocumentKey[] {
  const keys: DocumentKey[] = [];
  let more = 0;
  for (const { path, value, problem } of document.unread()) {
    const key: DocumentKey =
      problem === undefined
        ? keyOf(path, value, verdictOn(path, verdicts))
        : { path, status: 'skipped', reason: problem };
    if (keys.length < MAX_KEYS) keys.push(key);
    else more++;
  }
  if (more === 0) return keys;
  return [...keys, { path: `${more} more keys`, status: 'skipped', reason: UNKNOWN_KEY }];
}

export const UNKNOWN_KEY = 'this key is unknown here';

function keyOf(path: string, value: unknown, verdict: KeyVerdict | undefined): DocumentKey {
  const isThere = verdict?.kind === 'dropped' && verdict.isPresence === true && value !== null;
  if (saysNothing(value) && !isThere) return { path, status: 'same' };
  if (verdict?.kind === 'same') {
    if (verdict.when?.(value) ?? true) return { path, status: 'same' };
    return { path, status: 'skipped', reason: 'Weir does otherwise' };
  }
  return { path, status: 'skipped', reason: verdict?.reason ?? UNKNOWN_KEY };
}

/** The verdict on a path, or on all keys of its enclosing object: `headers.*`. */
function verdictOn(path: string, verdicts: KeyTable): KeyVerdict | undefined {
  if (Object.hasOwn(verdicts, path)) return verdicts[path];
  const every = `${path.slice(0, path.lastIndexOf('.') + 1)}*`;
  return Object.hasOwn(verdicts, every) ? verdicts[every] : undefined;
}

/** Keys of sing-box and mihomo that disable the object that contains them. */
const SWITCHES: ReadonlySet<string> = new Set(['enabled', 'enable']);

/** Whether a value disables a feature or equals its default. */
function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 0) return true;
  // The YAML parser returns scalars as text.
  if (typeof value === 'string') return ['', 'false', '0', 'none', 'off'].includes(value);
  if (Array.isArray(value)) return value.every(saysNothing);
  if (typeof value !== 'object') return false;
  const members = Object.entries(value);
  return (
    members.some(([key, each]) => SWITCHES.has(key) && saysNothing(each)) ||
    members.every(([, each]) => saysNothing(each))
  );
}

/**
 * Notes on the keys of a rule that are not carried over. A condition that Weir lacks, or a key that could be one, makes
 * the rule unusable: without it the rule would match more flows.
 * @throws {ImportError} for such a key
 */
export function notesOnRule(fields: ForeignObject, verdicts: KeyTable): readonly string[] {
  const notes: string[] = [];
  for (const { path, value } of fields.unread()) {
    if (isAbsent(value)) continue;
    const verdict = verdictOn(path, verdicts);
    if (verdict === undefined) {
      throw new ImportError(
        `${quoted(path)}: this key is unknown here, and the rule could match more flows without it`,
      );
    }
    if (verdict.kind === 'refused') throw new ImportError(`${quoted(path)}: ${verdict.reason}`);
    if (verdict.kind === 'dropped') notes.push(noteOn(path, verdict.reason));
  }
  return notes;
}

/** Whether a value equals that of an absent key, in every type that Go decodes it into. */
function isAbsent(value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/* Verdicts for features that several programs have under different names. */

/** A server that is reached through another server. */
export const CHAINED =
  'the connection to this server goes through another one, which Weir cannot do; without that the server would see your own address';
export const ECH =
  'encrypted ClientHello is not supported; the name of the server would be visible on the way';
export const CLIENT_CERTIFICATE = 'certificates of the client are not supported';
export const PINNED =
  'a certificate cannot be pinned by its hash; write it, or its CA, to a PEM file, and name that as `ca_file`';
export const VERIFIED_NAME = 'the name that is verified is the one that is sent, server_name';
export const MULTIPLEX = 'each flow has a connection of its own';
export const UDP_OVER_TCP = "UDP goes as the protocol's own datagrams";
export const FINGERPRINT = 'the TLS handshake is that of OpenSSL, not of a browser';
export const FRAGMENT = 'the TLS handshake is sent in one piece';
export const BANDWIDTH = 'no rate is stated; congestion control finds it';
export const ALPN = 'Weir offers what the transport needs';
export const SOURCE = 'connections leave by the routes of the system';
export const TUNING = 'Weir has no setting for it';
export const TLS_VERSIONS = 'TLS 1.2 and 1.3 are used, with the ciphers of OpenSSL';
export const NO_RESOLVER = 'names are resolved by [dns]';
export const OTHER_API = 'the API of Weir is another one, in [api]';
export const HEADERS = 'no further HTTP headers are sent';

/** A restriction to one network; Weir's outbounds carry both. */
export const ONE_NETWORK = 'flows of every network are sent; limit them by `network` in a rule';

/** A server that accepts multiplexed connections. */
export const SERVER_MULTIPLEX = 'clients have to switch multiplexing off';
