import type { Endpoint } from '../../net/address.ts';
import type { Packet } from '../../net/link.ts';
import { decodeAddress, encodeAddress } from './address.ts';

/** Two reserved octets and the fragment number come before the address (RFC 1928 §7). */
const ADDRESS_OFFSET = 3;
const PREFIX: readonly number[] = [0, 0, 0];

/**
 * Puts the header of RFC 1928 §7 before datagrams and takes it off.
 *
 * Associations mostly speak with one peer for long stretches, so the last header of each direction
 * is kept with its meaning; a datagram then costs a comparison instead of address texts.
 */
export class UdpFraming {
  #readHeader: Uint8Array = new Uint8Array(0);
  #readPeer: Endpoint = { host: '', port: 0 };
  #writtenHeader: Uint8Array = new Uint8Array(0);
  #writtenPeer: Endpoint | undefined;

  /**
   * What a framed datagram carries; the data stays in its memory. `undefined` for a fragment, which
   * a relay may refuse to reassemble, and for anything that is no such datagram.
   */
  decode(bytes: Uint8Array): Packet | undefined {
    // A header tells its own length, so bytes that begin with a known header have that header.
    if (this.#readHeader.length === 0 || !startsWith(bytes, this.#readHeader)) {
      if (bytes.length < ADDRESS_OFFSET || bytes[2] !== 0) return undefined;
      const address = decodeAddress(bytes, ADDRESS_OFFSET);
      if (!address) return undefined;
      this.#readPeer = address.endpoint;
      // A copy: the datagram belongs to the receiver, who may overwrite it.
      this.#readHeader = new Uint8Array(bytes.subarray(0, address.end));
    }
    return { data: bytes.subarray(this.#readHeader.length), peer: this.#readPeer };
  }

  /** The framed datagram; `undefined` when the peer has a name that does not fit. */
  encode({ data, peer }: Packet): Uint8Array | undefined {
    const last = this.#writtenPeer;
    if (peer !== last && (peer.host !== last?.host || peer.port !== last.port)) {
      const header = encodeAddress(peer, PREFIX);
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
