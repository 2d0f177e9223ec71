import { networkInterfaces } from 'node:os';
import { canonicalHost, unmapIPv4 } from '../addresses/address.ts';
import { systemClock } from '../time/clock.ts';

/** Milliseconds for which the addresses of the interfaces are taken to be the same. */
const FRESH_MS = 1000;

let known: ReadonlySet<string> = new Set();
let knownAt = -Infinity;

/**
 * Whether an address in canonical text is one of this host's interfaces, by a list of all of them that
 * is at most a second old: the way where the kernel cannot be asked about one address.
 */
export function isInterfaceAddress(host: string): boolean {
  const now = systemClock.now();
  if (now - knownAt >= FRESH_MS) {
    knownAt = now;
    known = new Set(
      Object.values(networkInterfaces()).flatMap((addresses) =>
        (addresses ?? []).map(({ address }) =>
          unmapIPv4(canonicalHost(address.split('%', 1)[0] ?? address)),
        ),
      ),
    );
  }
  return known.has(host);
}
