import { ipVersion } from '../net/address.ts';
import { normalizeHost } from '../net/host-name.ts';

/**
 * The form of a host name in which it is asked and cached: lower case, ASCII, no final dot.
 *
 * `undefined` for what cannot be a host name, what is in effect an address (`127.1`) among it.
 */
export function canonicalName(host: string): string | undefined {
  const name = normalizeHost(host);
  return name === undefined || ipVersion(name) !== 0 ? undefined : name;
}

/** `localhost` and everything below it is this machine, without a question (RFC 6761 §6.3). */
export const isLocalhost = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost');
