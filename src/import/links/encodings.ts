/** Percent-decoded if valid, otherwise unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Text of base64 in either alphabet, padded or not; `undefined` for anything else. */
export function fromBase64(text: string): string | undefined {
  const compact = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(compact, 'base64'));
  } catch {
    return undefined;
  }
}
