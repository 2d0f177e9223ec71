import { formatIP, parseIP } from '../../net/address.ts';
import type { CidrSpec, PortRangeSpec, GeoipRef, GeositeRef } from '../../spec.ts';

/** Why a text is not a network, in the words of Rust's cidr crate. */
export interface CidrProblem {
  readonly problem: string;
}

/**
 * Parses `<address>/<prefix length>`, or an address alone for one host. Strict: no
 * leading zeros, zone ids, brackets or spaces, and no bits of a host.
 */
export function parseCidr(text: string): CidrSpec | CidrProblem {
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
  if (hasHostBits(bytes, prefix)) return { problem: 'host part of address was not zero' };
  return { address: formatIP(bytes), prefix };
}

/** A number of one byte, or the error. */
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

/** Why a text is neither a port nor a range of ports. */
export interface PortProblem {
  readonly problem: string;
}

const SPEC = /^ *(?<low>\d+) *(?:- *(?<high>\d+) *)?$/;

/** Parses `<port>` or `<low>-<high>`, both inclusive, with optional spaces around the numbers. */
export function parsePortRange(text: string): PortRangeSpec | PortProblem {
  const groups = SPEC.exec(text)?.groups;
  if (!groups) return { problem: `${text}: expected <port> or <low>-<high>` };
  const low = Number(groups['low']);
  const high = groups['high'] === undefined ? low : Number(groups['high']);
  if (low > 0xffff || high > 0xffff) return { problem: `${text}: a port is at most 65535` };
  if (low > high) return { problem: `${text} has a lower bound above its upper bound` };
  return { low, high };
}

/** Reads `<code>` or `<code>@<attribute>`. */
export function parseGeositeRef(text: string): GeositeRef {
  const at = text.indexOf('@');
  return at < 0
    ? { code: text, attribute: undefined }
    : { code: text.slice(0, at), attribute: text.slice(at + 1) };
}

/** Reads `<code>` or `!<code>`. */
export const parseGeoipRef = (text: string): GeoipRef =>
  text.startsWith('!') ? { code: text.slice(1), negate: true } : { code: text, negate: false };
