import type { GeoipRef, GeositeRef } from '../../spec.ts';

/** Reads `<code>` or `<code>@<attribute>`. */
export function parseGeositeRef(text: string): GeositeRef {
  const at = text.indexOf('@');
  return at < 0
    ? { code: text, attribute: undefined }
    : { code: text.slice(0, at), attribute: text.slice(at + 1) };
}

/** Reads `<code>` or `!<code>`. */
export const parseGeoipRef = (text: string): GeoipRef =>
  text.startsWith('!') ? { code: text.slice(1), negate: true } : { code: text, negate: false };
