/** Percent-decodes a text; an invalid one is returned unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Percent-decodes a name. Panels truncate names within a character: its bytes become U+FFFD. */
export function decodedName(text: string): string {
  const bytes = (coded: string): string =>
    Buffer.from(coded.replaceAll('%', ''), 'hex').toString('utf8');
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, bytes);
}

/** The replacement for invalid UTF-8 where the rest of a text is still useful. */
export const BROKEN = '\uFFFD';

/** Decodes base64 in either alphabet, padded or not; `undefined` unless it is valid base64 of UTF-8. */
export function fromBase64(text: string): string | undefined {
  const plain = looselyFromBase64(text);
  return plain?.includes(BROKEN) === true ? undefined : plain;
}

/**
 * Decodes base64 in either alphabet, padded or not; invalid UTF-8 becomes U+FFFD, so that one broken name does not
 * invalidate a document. `undefined` unless it is valid base64.
 */
export function looselyFromBase64(text: string): string | undefined {
  const compact = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) return undefined;
  return new TextDecoder().decode(Buffer.from(compact, 'base64'));
}

/** Percent-encodes all but the unreserved characters of RFC 3986, so that a link is one word anywhere. */
export const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
