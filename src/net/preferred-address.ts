import { ipVersion } from './address.ts';
import type { FamilyPolicy } from './resolver.ts';

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
