/**
 * Request targets, escaped as in Go's net/url (`URL.EscapedPath` and `url.PathEscape` of Go 1.26): Xray, v2ray,
 * sing-box and mihomo send paths in this form, and their servers compare the decoded paths.
 */

/** Matches an escaped path that `EscapedPath` leaves unchanged. */
const VALID_PATH = /^[-!$&'()*+,./0-9:;=@A-Z[\]_a-z~%]*$/;
/** Characters that `EscapedPath` escapes in any other path. */
const ESCAPED_IN_PATH = /[^-$&+,./0-9:;=@A-Z_a-z~]/gu;
/** Characters that are escaped in a path with invalid percent-encoding. */
const ESCAPED_BUT_PERCENT = /[^-$&+,./0-9:;=@A-Z_a-z~%]/gu;
const ESCAPED_IN_SEGMENT = /[^-$&+.0-9:=@A-Z_a-z~]/gu;

/** Percent-encodes the characters that match `which`, each as the bytes of its UTF-8. */
export const escaped = (text: string, which: RegExp): string =>
  text
    .toWellFormed()
    .replace(which, (character) =>
      [...Buffer.from(character)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    );

/** Escapes the path of a complete URL; existing percent-encoding is kept. */
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

/** Splits a path from its query, which includes the question mark. */
function splitQuery(path: string): readonly [string, string] {
  const at = path.indexOf('?');
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at)];
}

/** Returns the request target of a percent-encoded path, which may have a query. */
export function toRequestTarget(path: string): string {
  const [bare, query] = splitQuery(path);
  return escapedPath(bare) + escaped(query, /[^\x21-\x7e]|#/gu);
}

/** Returns the request target of a decoded path, in which a percent sign is literal. */
export function toDecodedTarget(path: string): string {
  const [bare, query] = splitQuery(path);
  return escaped(bare, ESCAPED_IN_PATH) + escaped(query, /[^\x21-\x7e]|#/gu);
}

/** Escapes one segment of a path. */
export const toPathSegment = (name: string): string => escaped(name, ESCAPED_IN_SEGMENT);
