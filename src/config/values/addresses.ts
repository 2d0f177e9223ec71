import { ipVersion } from '../../net/addresses/address.ts';
import type { FamilyPolicy } from '../../net/addresses/resolver.ts';

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
