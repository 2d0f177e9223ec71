import type { FamilyPolicy } from '@weir/io/addresses';
import { alternate } from '@weir/io/sockets';

/** The two kinds of address records. */
export type AddressRecordType = 'A' | 'AAAA';

/** Returns the record types that a policy needs, the preferred family first. */
export function wantedTypes(policy: FamilyPolicy): readonly AddressRecordType[] {
  switch (policy) {
    case 'ipv4_only':
      return ONLY_A;
    case 'ipv6_only':
      return ONLY_AAAA;
    case 'prefer_ipv4':
      return A_FIRST;
    case 'auto':
    case 'prefer_ipv6':
      return AAAA_FIRST;
    default:
      return policy satisfies never;
  }
}

const ONLY_A: readonly AddressRecordType[] = ['A'];
const ONLY_AAAA: readonly AddressRecordType[] = ['AAAA'];
const A_FIRST: readonly AddressRecordType[] = ['A', 'AAAA'];
const AAAA_FIRST: readonly AddressRecordType[] = ['AAAA', 'A'];

/**
 * Returns the addresses that a policy allows, in the order in which they should be tried.
 *
 * `auto` is the order of Happy Eyeballs (RFC 8305 §4): the families alternate, IPv6 first. The
 * preferences put the whole of one family in front.
 */
export function orderAddresses(
  policy: FamilyPolicy,
  ipv4: readonly string[],
  ipv6: readonly string[],
): readonly string[] {
  switch (policy) {
    case 'ipv4_only':
      return ipv4;
    case 'ipv6_only':
      return ipv6;
    case 'prefer_ipv4':
      return joined(ipv4, ipv6);
    case 'prefer_ipv6':
      return joined(ipv6, ipv4);
    case 'auto':
      return alternate(ipv6, ipv4);
    default:
      return policy satisfies never;
  }
}

function joined(first: readonly string[], second: readonly string[]): readonly string[] {
  if (second.length === 0) return first;
  return first.length === 0 ? second : [...first, ...second];
}

const WORDS: Readonly<Record<FamilyPolicy, string>> = {
  auto: 'address',
  prefer_ipv4: 'address',
  prefer_ipv6: 'address',
  ipv4_only: 'IPv4 address',
  ipv6_only: 'IPv6 address',
};

/** Returns the kind of address that a policy allows, for messages: `no <address> found`. */
export const addressWord = (policy: FamilyPolicy): string => WORDS[policy];
