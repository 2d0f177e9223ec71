/**
 * Paths in requests as Go's net/url escapes them (`URL.EscapedPath`, `url.PathEscape` of Go 1.26): Xray, v2ray, sing-box and
 * mihomo send them so, and their servers compare what they have decoded.
 */

/** What `EscapedPath` leaves as it is in a path that was written so. */
const VALID_PATH = /^[-!$&'()*+,./0-9:;=@A-Z[\]_a-z~%]*$/;
/** What it escapes in one that has any other character. */
const ESCAPED_IN_PATH = /[^-$&+,./0-9:;=@A-Z_a-z~]/gu;
/** The same for a path that `%` cannot be decoded in. */
const ESCAPED_BUT_PERCENT = /[^-$&+,./0-9:;=@A-Z_a-z~%]/gu;
const ESCAPED_IN_SEGMENT = /[^-$&+.0-9:=@A-Z_a-z~]/gu;

const escaped = (text: string, which: RegExp): string =>
  text
    .toWellFormed()
    .replace(which, (character) =>
      [...Buffer.from(character)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    );

/** The path of a URL that was given as a whole: what was escaped already stays so. */
function escapedPath(path: string): string {
  if (VALID_PATH.test(path)) return path;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path.toWellFormed());
  } catch {
    return escaped(path, ESCAPED_BUT_PERCENT);
  }
  return escaped(decoded, ESCAPED_IN_PATH);
}

/** Splits a path from its query, which begins with a question mark. */
function splitQuery(path: string): readonly [string, string] {
  const at = path.indexOf('?');
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at)];
}

/** The request target of a path, which may have a query. */
export function toRequestTarget(path: string): string {
  const [bare, query] = splitQuery(path);
  return escapedPath(bare) + escaped(query, /[^\x21-\x7e]|#/gu);
}

/** The same, where the path was given as decoded: a percent sign is one. */
export function toDecodedTarget(path: string): string {
  const [bare, query] = splitQuery(path);
  return escaped(bare, ESCAPED_IN_PATH) + escaped(query, /[^\x21-\x7e]|#/gu);
}

/** One segment of a path. */
export const toPathSegment = (name: string): string => escaped(name, ESCAPED_IN_SEGMENT);
