import { encodeAddressField, SOCKS_ADDRESS, type Endpoint } from '@weir/io/addresses';
import type { Packet } from '@weir/io/links';

/** The client's side of one association: converts between packets and datagrams of the protocol. */
export interface DatagramCodec extends Disposable {
  /** Encodes a packet as a datagram; `undefined` when the peer's host does not fit. */
  encode(packet: Packet): Buffer | undefined;
  /** Decodes the packet of a datagram; `undefined` when it is not authentic, invalid or a replay. */
  decode(datagram: Uint8Array): Packet | undefined;
}

const NO_PEER: Endpoint = { host: '', port: 0 };

/** Encodes addresses, and caches the last one: most associations have a single peer. */
export class AddressMemo {
  #peer: Endpoint = NO_PEER;
  #field: Buffer | undefined;

  /** Returns the address field of `peer`; `undefined` when its host does not fit. */
  encode(peer: Endpoint): Buffer | undefined {
    const { host, port } = this.#peer;
    if (peer !== this.#peer && (peer.host !== host || peer.port !== port)) {
      this.#field = encodeAddressField(peer, SOCKS_ADDRESS);
    }
    this.#peer = peer;
    return this.#field;
  }
}
