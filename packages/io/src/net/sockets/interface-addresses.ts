import { networkInterfaces } from 'node:os';
import { canonicalHost, unmapIPv4 } from '../addresses/addresses.ts';
import { systemClock } from '../time/clock.ts';

/** Milliseconds for which the list of addresses is reused. */
const FRESH_MS = 1000;

let known: ReadonlySet<string> = new Set();
let knownAt = -Infinity;

/**
 * Whether an interface of this host has an address in canonical text, by a list of all addresses that
 * is at most a second old: for systems where one address cannot be looked up.
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
