import { decodeName, type Endpoint, formatIP, parseIP, unmapIPv4 } from './addresses.ts';
import type { BoundedReader } from '../links/bounded-reader.ts';
import { ProtocolError } from '../errors.ts';
import type { Packet } from '../links/link.ts';

/** The encoding of an address and a port in a protocol: the octets of the types, and the order. */
interface AddressFormat {
  readonly ipv4: number;
  readonly name: number;
  readonly ipv6: number;
  readonly portFirst: boolean;
}

/** The fields of SOCKS5 (RFC 1928 §5), of Trojan and of Shadowsocks. */
export const SOCKS_ADDRESS: AddressFormat = { ipv4: 1, name: 3, ipv6: 4, portFirst: false };

/** The fields of VMess, VLESS and Mux.Cool. */
export const V2RAY_ADDRESS: AddressFormat = { ipv4: 1, name: 2, ipv6: 3, portFirst: true };

/** The length of a name is one octet. */
const NAME_LIMIT = 255;
const PORT_LIMIT = 0xffff;
const PORT_BYTES = 2;

const NOTHING: ArrayLike<number> = [];

/** A decoded address field. */
interface AddressField {
  /** The decoded endpoint; `undefined` when the host name is invalid. `end` is valid in both cases. */
  readonly endpoint: Endpoint | undefined;
  /** Offset of the first byte after the field. */
  readonly end: number;
}

/**
 * Reads an address field at `offset`; `undefined` while it is incomplete.
 * @throws {ProtocolError} for an unknown type, whose length is unknown as well.
 */
export function decodeAddressField(
  bytes: Uint8Array,
  offset: number,
  format: AddressFormat,
): AddressField | undefined {
  const typeAt = offset + (format.portFirst ? PORT_BYTES : 0);
  const type = bytes[typeAt];
  if (type === undefined) return undefined;
  const fixed = fixedLength(type, format);
  const length = fixed ?? bytes[typeAt + 1];
  if (length === undefined) return undefined;
  const start = typeAt + (fixed === undefined ? 2 : 1);
  const end = start + length + (format.portFirst ? 0 : PORT_BYTES);
  if (bytes.length < end) return undefined;
  const host = decodeHost(type, bytes.subarray(start, start + length), format);
  const portAt = format.portFirst ? offset : start + length;
  const port = ((bytes[portAt] ?? 0) << 8) | (bytes[portAt + 1] ?? 0);
  return { endpoint: host === undefined ? undefined : { host, port }, end };
}

/**
 * Returns the peer and the data of a datagram whose address field is at `offset`; `undefined` when the field is
 * truncated or invalid. The data is a view of `bytes`.
 */
export function decodeAddressed(
  bytes: Uint8Array,
  offset: number,
  format: AddressFormat,
): Packet | undefined {
  try {
    const field = decodeAddressField(bytes, offset, format);
    return field?.endpoint && { data: bytes.subarray(field.end), peer: field.endpoint };
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/**
 * Reads an address field of a handshake.
 * @throws {ProtocolError} for an unknown type or an invalid host name.
 */
export async function readAddressField(
  reader: BoundedReader,
  format: AddressFormat,
): Promise<Endpoint> {
  let port = format.portFirst ? (await reader.bytes(PORT_BYTES)).readUInt16BE() : 0;
  const type = await reader.byte();
  const length = fixedLength(type, format) ?? (await reader.byte());
  const host = decodeHost(type, await reader.bytes(length), format);
  if (!format.portFirst) port = (await reader.bytes(PORT_BYTES)).readUInt16BE();
  if (host === undefined) throw new ProtocolError('the destination has an invalid host name');
  return { host, port };
}

/**
 * Encodes an address field; `undefined` for an invalid port or a name of 0 or more than 255 bytes.
 * @param prefix what precedes the field in its message.
 */
export function encodeAddressField(
  { host, port }: Endpoint,
  format: AddressFormat,
  prefix: ArrayLike<number> = NOTHING,
): Buffer | undefined {
  if (!Number.isInteger(port) || port < 0 || port > PORT_LIMIT) return undefined;
  const ip = parseIP(host);
  const length = ip?.length ?? Buffer.byteLength(host, 'utf8');
  if (length === 0 || length > NAME_LIMIT) return undefined;
  const field = Buffer.allocUnsafe(prefix.length + PORT_BYTES + (ip ? 1 : 2) + length);
  field.set(prefix);
  let at = prefix.length;
  if (format.portFirst) at = field.writeUInt16BE(port, at);
  if (ip) {
    field[at++] = ip.length === 4 ? format.ipv4 : format.ipv6;
    field.set(ip, at);
  } else {
    field[at++] = format.name;
    field[at++] = length;
    field.write(host, at, 'utf8');
  }
  if (!format.portFirst) field.writeUInt16BE(port, at + length);
  return field;
}

/** Returns the length in bytes of an address of that type; `undefined` for a name, which is preceded by its length. */
function fixedLength(type: number, format: AddressFormat): number | undefined {
  switch (type) {
    case format.ipv4:
      return 4;
    case format.ipv6:
      return 16;
    case format.name:
      return undefined;
    default:
      throw new ProtocolError(`unknown address type ${type}`);
  }
}

/**
 * Returns the host in the bytes of an address of a known type, a name without its length octet; `undefined` for an
 * invalid name. IPv4-mapped addresses become IPv4, so that rules on IPv4 addresses cannot be bypassed.
 */
export const decodeHost = (
  type: number,
  bytes: Uint8Array,
  format: AddressFormat,
): string | undefined => (type === format.name ? decodeName(bytes) : unmapIPv4(formatIP(bytes)));
