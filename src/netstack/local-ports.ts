import type { RandomSource } from '../crypto/random-source.ts';
import { FIRST_LOCAL_PORT, LAST_LOCAL_PORT, PORT_ATTEMPTS } from './limits.ts';

/**
 * A dynamic port that is free, beginning the search at a random one each time, so that others cannot
 * predict it (RFC 6056 §3.3.1).
 *
 * @param isFree whether a port may be used, such as for connections to one destination.
 * @returns undefined when `PORT_ATTEMPTS` ports are in use.
 */
export function chooseLocalPort(
  random: RandomSource,
  isFree: (port: number) => boolean,
): number | undefined {
  const count = LAST_LOCAL_PORT - FIRST_LOCAL_PORT + 1;
  const first = random.below(count);
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
    const port = FIRST_LOCAL_PORT + ((first + attempt) % count);
    if (isFree(port)) return port;
  }
  return undefined;
}
