import { isUtf8 } from 'node:buffer';
import { formatIP, ipVersion, parseIP, unmapIPv4, type Endpoint } from '../../net/address.ts';

/** Address types (v2fly developer/protocols/vmess); the port stands before the type. */
const AddressType = { ipv4: 1, name: 2, ipv6: 3 } as const;

const PORT_LIMIT = 0xffff;
const NAME_LIMIT = 255;
/** Nothing that a resolver, a log line or the request line of an HTTP proxy could trip over. */
const NOT_IN_NAMES = /[\p{Cc}\p{Z}]/u;

export interface DecodedAddress {
  readonly endpoint: Endpoint;
  /** Offset of the first byte after it. */
  readonly end: number;
}

/** Reads port, type and address at `offset`; `undefined` when they are not whole and valid. */
export function decodeAddress(bytes: Uint8Array, offset: number): DecodedAddress | undefined {
  const type = bytes[offset + 2];
  const named = type === AddressType.name;
  const start = offset + (named ? 4 : 3);
  const length = lengthOf(type, bytes[offset + 3]);
  if (length === undefined || bytes.length < start + length) return undefined;
  const end = start + length;
  const address = bytes.subarray(start, end);
  const host = named ? decodeName(address) : unmapIPv4(formatIP(address));
  if (host === undefined) return undefined;
  const port = ((bytes[offset] ?? 0) << 8) | (bytes[offset + 1] ?? 0);
  return { endpoint: { host, port }, end };
}

function lengthOf(type: number | undefined, nameLength: number | undefined): number | undefined {
  switch (type) {
    case AddressType.ipv4:
      return 4;
    case AddressType.ipv6:
      return 16;
    case AddressType.name:
      return nameLength;
    default:
      return undefined;
  }
}

/** An IP address written as a name is that address. */
function decodeName(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || !isUtf8(bytes)) return undefined;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  if (NOT_IN_NAMES.test(text)) return undefined;
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const ip = ipVersion(bare) === 0 ? undefined : parseIP(bare);
  return ip ? unmapIPv4(formatIP(ip)) : text;
}

/** Port, type and address; `undefined` when the host or the port does not fit. */
export function encodeAddress({ host, port }: Endpoint): Buffer | undefined {
  if (!Number.isInteger(port) || port < 0 || port > PORT_LIMIT) return undefined;
  const ports = [port >> 8, port & 0xff];
  const ip = parseIP(host);
  if (ip) {
    const type = ip.length === 4 ? AddressType.ipv4 : AddressType.ipv6;
    return Buffer.from([...ports, type, ...ip]);
  }
  const name = Buffer.from(host, 'utf8');
  if (name.length === 0 || name.length > NAME_LIMIT) return undefined;
  return Buffer.from([...ports, AddressType.name, name.length, ...name]);
}
