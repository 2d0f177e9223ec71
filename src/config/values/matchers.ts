import type { PortRangeSpec, GeoipRef, GeositeRef } from '../../spec.ts';

/** The reason why a text is neither a port nor a range of ports. */
export interface PortProblem {
  readonly problem: string;
}

const SPEC = /^ *(?<low>\d+) *(?:- *(?<high>\d+) *)?$/;

/** Parses `<port>` or `<low>-<high>`, both inclusive, with optional spaces around the numbers. */
export function parsePortRange(text: string): PortRangeSpec | PortProblem {
  const groups = SPEC.exec(text)?.groups;
  if (!groups) return { problem: `${text}: expected <port> or <low>-<high>` };
  const low = Number(groups['low']);
  const high = groups['high'] === undefined ? low : Number(groups['high']);
  if (low > 0xffff || high > 0xffff) return { problem: `${text}: a port is at most 65535` };
  if (low > high) return { problem: `${text} has a lower bound above its upper bound` };
  return { low, high };
}

/** Parses `<code>` or `<code>@<attribute>`. */
export function parseGeositeRef(text: string): GeositeRef {
  const at = text.indexOf('@');
  return at < 0
    ? { code: text, attribute: undefined }
    : { code: text.slice(0, at), attribute: text.slice(at + 1) };
}

/** Parses `<code>` or `!<code>`. */
export const parseGeoipRef = (text: string): GeoipRef =>
  text.startsWith('!') ? { code: text.slice(1), negate: true } : { code: text, negate: false };

/** The most labels that are examined; a host name has at most 127. */
const MOST_LABELS = 128;

/** Yields a name and all its parent domains: `a.b.c`, `b.c`, `c`. */
export function* suffixesOf(name: string): Generator<string> {
  let at = 0;
  for (let label = 0; label < MOST_LABELS; label++) {
    yield name.slice(at);
    const dot = name.indexOf('.', at);
    if (dot < 0) return;
    at = dot + 1;
  }
}
