import type { PortRangeSpec, GeoipRef, GeositeRef } from '@weir/proxy/spec';
import { ipVersion, type FamilyPolicy } from '@weir/io/addresses';

/** The reason why a text is neither a port nor a range of ports. */
interface PortProblem {
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

/**
 * White space and delimiters of URLs, paths and socket addresses, which never occur in host names.
 */
const NOT_IN_NAMES = /[\s/\\:@[\]?#%\p{Cc}]/u;

/** Returns the problem of a host whose port has a separate key; `undefined` for a valid host. */
export function hostProblem(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (ipVersion(text) !== 0) return undefined;
  if (/^\[.*\]$/.test(text)) return 'has brackets; write the IPv6 address without them';
  if (/^[^:]*:\d+$/.test(text)) return 'has a port, which belongs in port';
  if (NOT_IN_NAMES.test(text)) return 'is neither an IP address nor a host name';
  return undefined;
}

/**
 * Returns a host as messages quote it, after a space; empty for a URL or a share link, which may hold a secret
 * before an `@` or, in base64, after the scheme.
 */
export const hostShown = (text: string): string =>
  /.@|:\/\//.test(text) ? '' : ` ${JSON.stringify(text)}`;

/** All spellings of each policy, including those of other programs. */
const SPELLINGS: Readonly<Record<FamilyPolicy, readonly string[]>> = {
  auto: ['auto', 'any', 'dual_stack'],
  ipv4_only: ['ipv4_only', 'v4_only', 'only_ipv4', 'only_v4', 'ipv4', 'v4'],
  ipv6_only: ['ipv6_only', 'v6_only', 'only_ipv6', 'only_v6', 'ipv6', 'v6'],
  prefer_ipv4: ['prefer_ipv4', 'prefer_v4', 'ipv4_first', 'v4_first'],
  prefer_ipv6: ['prefer_ipv6', 'prefer_v6', 'ipv6_first', 'v6_first'],
};

const POLICIES: ReadonlyMap<string, FamilyPolicy> = new Map(
  Object.entries(SPELLINGS).flatMap(([policy, spellings]) =>
    spellings.map((spelling) => [spelling, policy as FamilyPolicy]),
  ),
);

/** Parses `address_family`, ignoring surrounding white space, case, and `-` in place of `_`. */
export const parseFamilyPolicy = (text: string): FamilyPolicy | undefined =>
  POLICIES.get(text.trim().toLowerCase().replaceAll('-', '_'));
