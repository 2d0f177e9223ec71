import { decodeAddressed, SOCKS_ADDRESS } from '../../net/addresses/address-field.ts';
import type { Endpoint } from '../../net/addresses/address.ts';
import type { Packet } from '../../net/links/link.ts';
import { encodeAddressed } from './address.ts';

/** Two reserved octets and the fragment number precede the address (RFC 1928 §7). */
const ADDRESS_OFFSET = 3;
const PREFIX: readonly number[] = [0, 0, 0];

/**
 * Adds and removes the header of RFC 1928 §7.
 *
 * Consecutive datagrams of an association mostly have the same peer, so the last header of each
 * direction is cached: a datagram then costs a comparison instead of formatting an address.
 */
export class UdpFraming {
  #readHeader: Uint8Array = new Uint8Array(0);
  #readPeer: Endpoint = { host: '', port: 0 };
  #writtenHeader: Uint8Array = new Uint8Array(0);
  #writtenPeer: Endpoint | undefined;

  /**
   * Decodes a framed datagram; the data is a view. `undefined` for a fragment, which a relay
   * need not reassemble (RFC 1928 §7), and for an invalid datagram.
   */
  decode(bytes: Uint8Array): Packet | undefined {
    // A header determines its own length, so bytes that begin with a known header have that header.
    if (this.#readHeader.length === 0 || !startsWith(bytes, this.#readHeader)) {
      if (bytes.length < ADDRESS_OFFSET || bytes[2] !== 0) return undefined;
      const packet = decodeAddressed(bytes, ADDRESS_OFFSET, SOCKS_ADDRESS);
      if (!packet) return undefined;
      this.#readPeer = packet.peer;
      // A copy: the receiver may overwrite the datagram.
      this.#readHeader = new Uint8Array(bytes.subarray(0, bytes.length - packet.data.length));
    }
    return { data: bytes.subarray(this.#readHeader.length), peer: this.#readPeer };
  }

  /** Encodes a framed datagram; `undefined` when the name of the peer is too long. */
  encode({ data, peer }: Packet): Uint8Array | undefined {
    const last = this.#writtenPeer;
    if (peer !== last && (peer.host !== last?.host || peer.port !== last.port)) {
      const header = encodeAddressed(PREFIX, peer);
      if (!header) return undefined;
      this.#writtenHeader = header;
    }
    this.#writtenPeer = peer;
    const header = this.#writtenHeader;
    const framed = Buffer.allocUnsafe(header.length + data.length);
    framed.set(header);
    framed.set(data, header.length);
    return framed;
  }
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let index = 0; index < prefix.length; index++) {
    if (bytes[index] !== prefix[index]) return false;
  }
  return true;
}
