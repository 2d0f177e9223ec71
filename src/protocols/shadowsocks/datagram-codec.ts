import type { Endpoint } from '../../net/address.ts';
import type { Packet } from '../../net/link.ts';
import { decodeAddressField, encodeAddressField, SOCKS_ADDRESS } from '../../net/address-field.ts';
import { ProtocolError } from '../../net/errors.ts';

/** The client side of one association: packets in and out of datagrams of the protocol. */
export interface DatagramCodec extends Disposable {
  /** The datagram that carries a packet; `undefined` when its host does not fit. */
  encode(packet: Packet): Buffer | undefined;
  /** What a datagram carries; `undefined` when it is not authentic, or came before. */
  decode(datagram: Uint8Array): Packet | undefined;
}

const NOWHERE: Endpoint = { host: '', port: 0 };

/** Address fields of the peer that the last packet was for: most associations have one. */
export class AddressMemo {
  #peer: Endpoint = NOWHERE;
  #field: Buffer | undefined;

  encode(peer: Endpoint): Buffer | undefined {
    const { host, port } = this.#peer;
    if (peer !== this.#peer && (peer.host !== host || peer.port !== port)) {
      this.#field = encodeAddressField(peer, SOCKS_ADDRESS);
    }
    this.#peer = peer;
    return this.#field;
  }
}

/** An address and then data to the end; `undefined` when there is no such thing. */
export function decodeAddressed(bytes: Uint8Array, offset = 0): Packet | undefined {
  try {
    const field = decodeAddressField(bytes, offset, SOCKS_ADDRESS);
    return field?.endpoint && { data: bytes.subarray(field.end), peer: field.endpoint };
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}
