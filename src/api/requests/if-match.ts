import { BadRequest } from '../http/rejections.ts';

/** A client's condition on the configuration file that it edits. */
export type IfMatch =
  | { readonly kind: 'any' }
  /** `etag` includes its quotes and is compared by equality. */
  | { readonly kind: 'is'; readonly etag: string };

export const ANY_FILE: IfMatch = { kind: 'any' };

/** One strong entity tag: quoted, without a quote or a comma inside. */
const ONE_TAG = /^"[^",]*"$/;
/** Characters other than visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;

/**
 * Parses an `If-Match` header (RFC 9110 §13.1.1); only `*` and a single strong tag are accepted.
 * @throws {BadRequest} for weak tags, lists and anything else.
 */
export function parseIfMatch(header: string | undefined): IfMatch {
  if (header === undefined) return ANY_FILE;
  if (!FOREIGN.test(header)) {
    const value = header.trim();
    if (value === '*') return ANY_FILE;
    if (ONE_TAG.test(value)) return { kind: 'is', etag: value };
  }
  throw new BadRequest('If-Match takes * or the one entity tag that an ETag header gave');
}
