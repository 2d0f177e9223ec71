import type { RandomSource } from '@weir/base/random';
import { FIRST_LOCAL_PORT, LAST_LOCAL_PORT, PORT_ATTEMPTS, UNUSED_ATTEMPTS } from '../limits.ts';

/**
 * The state of a port, for connections to one destination.
 *
 * - `free`: it is unused.
 * - `reusable`: it has a connection in TIME-WAIT, which a new one may follow safely (RFC 6191).
 * - `last resort`: it has such a connection, but only sequence numbers distinguish old segments.
 * - `used`: it has a live connection.
 */
export type PortState = 'free' | 'reusable' | 'last resort' | 'used';

/**
 * Chooses a dynamic port, searching from a random one on, so that the port is not predictable (RFC 6056 §3.3.1): a free
 * one if there is one nearby, otherwise the best of those in TIME-WAIT.
 *
 * @returns `undefined` when `PORT_ATTEMPTS` ports are used.
 */
export function chooseLocalPort(
  random: RandomSource,
  stateOf: (port: number) => PortState,
): number | undefined {
  const count = LAST_LOCAL_PORT - FIRST_LOCAL_PORT + 1;
  const first = random.below(count);
  let reusable: number | undefined;
  let lastResort: number | undefined;
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
    if (attempt >= UNUSED_ATTEMPTS && reusable !== undefined) break;
    const port = FIRST_LOCAL_PORT + ((first + attempt) % count);
    const state = stateOf(port);
    switch (state) {
      case 'free':
        return port;
      case 'reusable':
        reusable ??= port;
        break;
      case 'last resort':
        lastResort ??= port;
        break;
      case 'used':
        break;
      default:
        state satisfies never;
    }
  }
  return reusable ?? lastResort;
}
