import { ipVersion } from '../../net/address.ts';
import { normalizeHost } from '../../net/host-name.ts';

/**
 * The domain name in the bytes that a client sent, given as Latin-1 text: lower case, ASCII, without
 * the dot of the root, as for requested names. `undefined` for IP addresses and for whatever else is
 * not a name.
 */
export function domainName(text: string): string | undefined {
  const name = normalizeHost(Buffer.from(text, 'latin1').toString('utf8'));
  return name === undefined || ipVersion(name) !== 0 ? undefined : name;
}
