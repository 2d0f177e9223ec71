import { formatIP, parseIP, unmapIPv4, type Endpoint } from '../../net/addresses/address.ts';
import type { BoundedReader } from '../../net/links/bounded-reader.ts';
import { decodeName } from '../../net/addresses/host-name.ts';

/** Address types (RFC 1928 §5). */
export const AddressType = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** Stands in a request or reply where no address is known. */
export const UNSPECIFIED: Endpoint = { host: '0.0.0.0', port: 0 };

const NAME_LIMIT = 255;
const PORT_LIMIT = 0xffff;

/**
 * The host of an address field without its length octet; `undefined` for an unknown type, a wrong
 * length or an invalid name. IPv4-mapped addresses become IPv4, so that rules on IPv4 apply to them.
 */
export function decodeHost(type: number, bytes: Uint8Array): string | undefined {
  switch (type) {
    case AddressType.ipv4:
      return bytes.length === 4 ? formatIP(bytes) : undefined;
    case AddressType.ipv6:
      return bytes.length === 16 ? unmapIPv4(formatIP(bytes)) : undefined;
    case AddressType.name:
      return decodeName(bytes);
    default:
      return undefined;
  }
}

/** Type, address and port of a request, reply or datagram (RFC 1928 §4 to §7). */
export interface DecodedAddress {
  readonly endpoint: Endpoint;
  /** Offset of the first byte after the port. */
  readonly end: number;
}

/** Reads type, address and port at `offset`; `undefined` when they are truncated or invalid. */
export function decodeAddress(bytes: Uint8Array, offset: number): DecodedAddress | undefined {
  const type = bytes[offset];
  if (type === undefined) return undefined;
  const named = type === AddressType.name;
  const start = offset + (named ? 2 : 1);
  const length = named ? bytes[offset + 1] : type === AddressType.ipv4 ? 4 : 16;
  if (length === undefined) return undefined;
  const end = start + length + 2;
  if (bytes.length < end) return undefined;
  const host = decodeHost(type, bytes.subarray(start, end - 2));
  if (host === undefined) return undefined;
  const port = ((bytes[end - 2] ?? 0) << 8) | (bytes[end - 1] ?? 0);
  return { endpoint: { host, port }, end };
}

/**
 * Writes type, address and port after `prefix`; `undefined` when the host is an empty name or one
 * of more than 255 bytes, or the port is invalid.
 */
export function encodeAddress(
  { host, port }: Endpoint,
  prefix: readonly number[] = [],
): Buffer | undefined {
  if (!Number.isInteger(port) || port < 0 || port > PORT_LIMIT) return undefined;
  const ip = parseIP(host);
  const bytes = ip ?? Buffer.from(host, 'utf8');
  if (!ip && (bytes.length === 0 || bytes.length > NAME_LIMIT)) return undefined;
  const type = ip ? (ip.length === 4 ? AddressType.ipv4 : AddressType.ipv6) : AddressType.name;
  const head = ip ? [...prefix, type] : [...prefix, type, bytes.length];
  return Buffer.from([...head, ...bytes, port >> 8, port & 0xff]);
}

/** An address field that was read. */
export type AddressField =
  | { readonly kind: 'unknown_type'; readonly type: number }
  | { readonly kind: 'invalid_name' }
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint };

/** Reads type, address and port (RFC 1928 §5). After an unknown type nothing more can be read. */
export async function readAddress(reader: BoundedReader): Promise<AddressField> {
  const type = await reader.byte();
  const length = await lengthOf(type, reader);
  if (length === undefined) return { kind: 'unknown_type', type };
  const bytes = await reader.bytes(length + 2);
  const host = decodeHost(type, bytes.subarray(0, length));
  if (host === undefined) return { kind: 'invalid_name' };
  return { kind: 'endpoint', endpoint: { host, port: bytes.readUInt16BE(length) } };
}

async function lengthOf(type: number, reader: BoundedReader): Promise<number | undefined> {
  switch (type) {
    case AddressType.ipv4:
      return 4;
    case AddressType.ipv6:
      return 16;
    case AddressType.name:
      return reader.byte();
    default:
      return undefined;
  }
}
