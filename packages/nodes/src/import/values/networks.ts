import { formatCidr, formatIP, parseInterfaceAddress, parseIP } from '@weir/base/ip';
import { ImportError } from '@weir/proxy/protocols/forms';
import { quoted } from '@weir/base/printable';

/**
 * The networks that Go's net/netip considers private, loopback, link-local, multicast or unspecified, which
 * `ip_is_private` of sing-box matches.
 */
export const PRIVATE_NETWORKS: readonly string[] = [
  '0.0.0.0/32',
  '10.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '224.0.0.0/4',
  '::/128',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
];

/** The list `private` of a `geoip.dat`: addresses outside the public internet. */
export const GEOIP_PRIVATE: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
];

/** The network of all addresses of an IP version. */
export const everyAddress = (version: 4 | 6): string => (version === 4 ? '0.0.0.0/0' : '::/0');

/** Whether a network in text form is IPv6. */
export const isVersion6 = (network: string): boolean => network.includes(':');

/**
 * Parses a network, and clears host bits, which other programs accept and ignore.
 * @throws {ImportError} unless it is an address, with or without a prefix length
 */
export function networkOf(text: string): string {
  const parsed = parseInterfaceAddress(text.trim());
  if ('problem' in parsed) throw new ImportError('it is not a network');
  const bytes = parseIP(parsed.address);
  if (!bytes) throw new ImportError('it is not a network');
  const masked = bytes.map((byte, index) => {
    const bits = Math.min(8, Math.max(0, parsed.prefix - index * 8));
    return byte & (0xff00 >> bits) & 0xff;
  });
  return formatCidr({ address: formatIP(masked), prefix: parsed.prefix });
}

const LARGEST = 0xffff;

/**
 * Converts a port or a range to the syntax of `[[route.rule]].port`.
 * @param separator separator of a range's ends: `:` in sing-box, where one end may be omitted, or `-`
 * @throws {ImportError} for any other value
 */
export function portRangeOf(value: unknown, separator: ':' | '-'): string {
  const text = String(value).trim();
  const [first = '', last = first, ...others] = text.split(separator).map((part) => part.trim());
  const isRange = text.includes(separator);
  const low = portOf(first, isRange && separator === ':' ? 0 : undefined);
  const high = portOf(last, isRange && separator === ':' ? LARGEST : undefined);
  if (low === undefined || high === undefined || low > high || others.length > 0) {
    throw new ImportError(`${quoted(text)} is not a port or a range of ports`);
  }
  return low === high ? String(low) : `${low}-${high}`;
}

/** Parses a port. @param missing the value of an empty text */
function portOf(text: string, missing: number | undefined): number | undefined {
  if (text === '') return missing;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : LARGEST + 1;
  return port > LARGEST ? undefined : port;
}
