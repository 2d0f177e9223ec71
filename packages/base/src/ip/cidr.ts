import { formatIP, parseIP } from './ip-text.ts';

/** An IP address and a prefix length. */
export interface Cidr {
  /** The address in canonical text, without a zone. */
  readonly address: string;
  /** The prefix length in bits. */
  readonly prefix: number;
}

/** The reason why a text is not a network, as Rust's cidr crate words it. */
export interface CidrProblem {
  readonly problem: string;
}

/** Formats a network: `10.0.0.0/8`. */
export const formatCidr = ({ address, prefix }: Cidr): string => `${address}/${prefix}`;

/**
 * Parses a network: `<address>/<prefix length>`, or an address alone for one host. Strict: no
 * leading zeros, zone ids, brackets or spaces, and no host bits.
 */
export function parseCidr(text: string): Cidr | CidrProblem {
  const parsed = parseInterfaceAddress(text);
  if ('problem' in parsed) return parsed;
  const bytes = parseIP(parsed.address);
  if (bytes && hasHostBits(bytes, parsed.prefix)) {
    return { problem: 'host part of address was not zero' };
  }
  return parsed;
}

/** Parses the address of an interface: as `parseCidr` does, but host bits may be set. */
export function parseInterfaceAddress(text: string): Cidr | CidrProblem {
  const slash = text.lastIndexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const bytes = parseIP(address);
  if (!bytes) {
    return { problem: "couldn't parse address in network: invalid IP address syntax" };
  }
  const width = bytes.length * 8;
  const prefix = slash < 0 ? width : parsePrefix(text.slice(slash + 1));
  if (typeof prefix === 'string') {
    return { problem: `couldn't parse length in network: ${prefix}` };
  }
  if (prefix > width) {
    const family = width === 32 ? 'Ipv4' : 'Ipv6';
    const reason = `Network length ${prefix} is too long for ${family} (maximum: ${width})`;
    return { problem: `invalid length for network: ${reason}` };
  }
  return { address: formatIP(bytes), prefix };
}

/** Parses a prefix length of at most one byte; returns the error as text. */
function parsePrefix(text: string): number | string {
  if (text === '') return 'cannot parse integer from empty string';
  if (!/^(?:0|[1-9]\d*)$/.test(text)) return 'invalid digit found in string';
  const value = Number(text);
  return value > 0xff ? 'number too large to fit in target type' : value;
}

function hasHostBits(bytes: Uint8Array, prefix: number): boolean {
  return bytes.some((byte, index) => {
    const networkBits = Math.min(8, Math.max(0, prefix - index * 8));
    return (byte & (0xff >> networkBits)) !== 0;
  });
}

/** Whether an IP address in text is within a network, which may have host bits set. */
export function addressInNetwork(host: string, { address, prefix }: Cidr): boolean {
  const bytes = parseIP(host);
  const network = parseIP(address);
  if (!bytes || !network || bytes.length !== network.length) return false;
  return bytes.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    return ((byte ^ (network[index] ?? 0)) & (0xff00 >> bits) & 0xff) === 0;
  });
}
