import { ipVersion } from '../../net/addresses/address.ts';
import type { FamilyPolicy } from '../../net/addresses/resolver.ts';

/** White space and the delimiters of URLs, paths and socket addresses, which no host name has. */
const NOT_IN_NAMES = /[\s/\\:@[\]?#%\p{Cc}]/u;

/** The error of a host whose port has a key of its own; `undefined` for a valid one. */
export function hostProblem(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (ipVersion(text) !== 0) return undefined;
  if (/^\[.*\]$/.test(text)) return 'has brackets; write the IPv6 address without them';
  if (/^[^:]*:\d+$/.test(text)) return 'has a port, which belongs in port';
  if (NOT_IN_NAMES.test(text)) return 'is neither an IP address nor a host name';
  return undefined;
}

/** Every spelling of a policy, those of other programs included. */
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

/** Reads `address_family`: spaces around it, case, and `-` for `_` make no difference. */
export const parseFamilyPolicy = (text: string): FamilyPolicy | undefined =>
  POLICIES.get(text.trim().toLowerCase().replaceAll('-', '_'));
