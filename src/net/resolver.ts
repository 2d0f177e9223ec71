import { ipVersion } from './address.ts';

/** How the addresses of a name are chosen and ordered; see `[[outbound]].address_family`. */
export type FamilyPolicy = 'auto' | 'ipv4_only' | 'ipv6_only' | 'prefer_ipv4' | 'prefer_ipv6';

/** Turns names into addresses. Never goes through the proxy's own outbounds. */
export interface Resolver {
  /**
   * The addresses of a host in the order in which they should be tried, at least one. An IP address
   * in text is its own answer when the policy allows its family.
   *
   * @param client whose question it is, so that one client leaves room for others; none for names
   *   of the configuration.
   * @throws {DialError} `not_found` when there is none of an allowed family, `timed_out` when the
   *   answer did not come in time, `aborted` when `signal` did.
   */
  resolve(
    host: string,
    policy: FamilyPolicy,
    signal?: AbortSignal,
    client?: string,
  ): Promise<readonly string[]>;
}

/**
 * The one of several addresses that datagrams go to, `undefined` of none.
 *
 * Datagrams cannot race as connections do. Without a stated preference IPv4 is taken when there is
 * a choice: it is what every network carries.
 *
 * @param addresses in the order of the resolver, which already follows `family`.
 */
export function preferredAddress(
  addresses: readonly string[],
  family: FamilyPolicy,
): string | undefined {
  if (family !== 'auto') return addresses[0];
  return addresses.find((address) => ipVersion(address) === 4) ?? addresses[0];
}
