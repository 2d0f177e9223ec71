const HYPHENATED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BARE = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i;
const URN = 'urn:uuid:';

/**
 * A UUID in any form that an account may be written in (hyphenated, 32 digits, hyphenated within
 * braces or after `urn:uuid:`) as lower-case hyphenated text; `undefined` when it is none. The
 * digits may have any case, the prefix may not; nothing is trimmed.
 */
export function parseUuid(text: string): string | undefined {
  if (BARE.test(text)) return text.replace(BARE, '$1-$2-$3-$4-$5').toLowerCase();
  const uuid = undressed(text);
  return HYPHENATED.test(uuid) ? uuid.toLowerCase() : undefined;
}

function undressed(text: string): string {
  if (text.startsWith('{') && text.endsWith('}')) return text.slice(1, -1);
  return text.startsWith(URN) ? text.slice(URN.length) : text;
}

/** The 16 bytes of a UUID in the form that `parseUuid` gives. */
export const uuidBytes = (uuid: string): Uint8Array =>
  Uint8Array.from(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
