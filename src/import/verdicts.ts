import { quoted } from '../printable.ts';
import { ImportError } from './draft.ts';
import type { ForeignObject } from './foreign-object.ts';

/** What becomes of a key of another program that has no counterpart in an outbound of Weir. */
export type KeyVerdict =
  /** Weir behaves as it says, or it changes nothing between client and server. */
  | { readonly kind: 'same'; readonly when?: ((value: unknown) => boolean) | undefined }
  /** The outbound does without it; `reason` says what is different then. */
  | { readonly kind: 'dropped'; readonly reason: string }
  /** Without it the outbound would not connect, or would show what the key was to hide. */
  | { readonly kind: 'refused'; readonly reason: string };

/** By the path of the key inside its entry: `tls.utls`, or `headers.*` for every key of an object. Keys that a reader carries over are not among them. */
export type KeyTable = Readonly<Record<string, KeyVerdict>>;

export const dropped = (reason: string): KeyVerdict => ({ kind: 'dropped', reason });
export const refused = (reason: string): KeyVerdict => ({ kind: 'refused', reason });

/** @param when the values for which it is true; for others the key is dropped with a note. */
export const same = (when?: (value: unknown) => boolean): KeyVerdict => ({ kind: 'same', when });

/** Notes of one entry; a document may have any number of keys. */
const MAX_NOTES = 20;

/**
 * A note for each key that has not been read and is not carried over.
 * @throws {ImportError} for a key without which the entry must not be used.
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
          ? 'this key is unknown here'
          : 'Weir does otherwise';
    if (notes.length < MAX_NOTES) notes.push(`${quoted(path)} is not carried over: ${reason}`);
    else more++;
  }
  return more === 0 ? notes : [...notes, `${more} more keys are not carried over`];
}

/** The verdict on a path, or on all keys of the object around it: `headers.*`. */
function verdictOn(path: string, verdicts: KeyTable): KeyVerdict | undefined {
  if (Object.hasOwn(verdicts, path)) return verdicts[path];
  const every = `${path.slice(0, path.lastIndexOf('.') + 1)}*`;
  return Object.hasOwn(verdicts, every) ? verdicts[every] : undefined;
}

/** Values that switch a feature off, or leave it at what it is without the key. */
function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 0) return true;
  // Scalars of YAML are read as text.
  if (typeof value === 'string') return ['', 'false', '0', 'none', 'off'].includes(value);
  if (Array.isArray(value)) return value.every(saysNothing);
  if (typeof value !== 'object') return false;
  const members = Object.entries(value);
  return (
    members.some(([key, each]) => key === 'enabled' && saysNothing(each)) ||
    members.every(([, each]) => saysNothing(each))
  );
}
