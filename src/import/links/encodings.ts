/** Percent-decoded if valid, otherwise unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A percent-decoded name. Panels cut names between bytes of a character: that becomes U+FFFD. */
export function decodedName(text: string): string {
  const bytes = (coded: string): string =>
    Buffer.from(coded.replaceAll('%', ''), 'hex').toString('utf8');
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, bytes);
}

/** What broken UTF-8 becomes where it does not make a text useless. */
export const BROKEN = '\uFFFD';

/** Text of base64 in either alphabet, padded or not; `undefined` for anything else. */
export function fromBase64(text: string): string | undefined {
  const plain = looselyFromBase64(text);
  return plain?.includes(BROKEN) === true ? undefined : plain;
}

/** The same where one broken name does not make a document another one: U+FFFD stands for it. */
export function looselyFromBase64(text: string): string | undefined {
  const compact = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) return undefined;
  return new TextDecoder().decode(Buffer.from(compact, 'base64'));
}
