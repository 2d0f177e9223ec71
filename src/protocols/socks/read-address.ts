import type { Endpoint } from '../../net/address.ts';
import type { BoundedReader } from '../../net/bounded-reader.ts';
import { AddressType, decodeHost } from './address.ts';

/** An address field that was read: its type is unknown, or its name is none, or it is good. */
export type AddressField =
  | { readonly kind: 'unknown_type'; readonly type: number }
  | { readonly kind: 'bad_name' }
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint };

/** Reads type, address and port (RFC 1928 §5). After an unknown type nothing more can be read. */
export async function readAddress(reader: BoundedReader): Promise<AddressField> {
  const type = await reader.byte();
  const length = await lengthOf(type, reader);
  if (length === undefined) return { kind: 'unknown_type', type };
  const bytes = await reader.bytes(length + 2);
  const host = decodeHost(type, bytes.subarray(0, length));
  if (host === undefined) return { kind: 'bad_name' };
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
