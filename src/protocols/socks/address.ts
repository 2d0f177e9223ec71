import {
  decodeHost,
  encodeAddressField,
  SOCKS_ADDRESS,
} from '../../net/addresses/address-field.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import type { BoundedReader } from '../../net/links/bounded-reader.ts';

/** The address in a request or reply if none is known. */
export const UNSPECIFIED: Endpoint = { host: '0.0.0.0', port: 0 };

/** Encodes a message of `prefix` and an address field; `undefined` when the host or port does not fit. */
export const encodeAddressed = (
  prefix: readonly number[],
  endpoint: Endpoint,
): Buffer | undefined => encodeAddressField(endpoint, SOCKS_ADDRESS, prefix);

/** An address field of a request or reply: each defect has a reply of its own. */
export type SocksAddress =
  | { readonly kind: 'unknown_type'; readonly type: number }
  | { readonly kind: 'invalid_name' }
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint };

/** Reads type, address and port (RFC 1928 §5). After an unknown type nothing more can be read. */
export async function readAddress(reader: BoundedReader): Promise<SocksAddress> {
  const type = await reader.byte();
  const length = await lengthOf(type, reader);
  if (length === undefined) return { kind: 'unknown_type', type };
  const bytes = await reader.bytes(length + 2);
  const host = decodeHost(type, bytes.subarray(0, length), SOCKS_ADDRESS);
  if (host === undefined) return { kind: 'invalid_name' };
  return { kind: 'endpoint', endpoint: { host, port: bytes.readUInt16BE(length) } };
}

async function lengthOf(type: number, reader: BoundedReader): Promise<number | undefined> {
  switch (type) {
    case SOCKS_ADDRESS.ipv4:
      return 4;
    case SOCKS_ADDRESS.ipv6:
      return 16;
    case SOCKS_ADDRESS.name:
      return reader.byte();
    default:
      return undefined;
  }
}
