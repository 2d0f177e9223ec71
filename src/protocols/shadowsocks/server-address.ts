import { ipVersion } from '../../net/address.ts';
import { preferredAddress, type FamilyPolicy } from '../../net/resolver.ts';

/**
 * The address of a server that its datagrams go to, `undefined` of none.
 *
 * Nothing tells that datagrams do not arrive, but connections have raced: the address by which the
 * last one reached the server is known to work, or at least its family when the name has other
 * addresses by now.
 *
 * @param reached by the last connection; `undefined` when there was none.
 */
export function datagramAddress(
  addresses: readonly string[],
  family: FamilyPolicy,
  reached: string | undefined,
): string | undefined {
  if (reached === undefined) return preferredAddress(addresses, family);
  return (
    addresses.find((address) => address === reached) ??
    addresses.find((address) => ipVersion(address) === ipVersion(reached)) ??
    preferredAddress(addresses, family)
  );
}
