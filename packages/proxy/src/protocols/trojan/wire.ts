import {
  decodeAddressField,
  encodeAddressField,
  type Endpoint,
  readAddressField,
  SOCKS_ADDRESS,
} from '@weir/io/addresses';
import type { BoundedReader, Packet } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import { ByteQueue } from '@weir/base/bytes';
import type { PacketFraming } from '@weir/io/layers';

/**
 * The request of the Trojan protocol (trojan-gfw, `docs/protocol.md`):
 * hex(SHA-224(password)) CRLF command address CRLF, then payload.
 */

export const Command = { connect: 1, associate: 3 } as const;
export type Command = (typeof Command)[keyof typeof Command];

/** The length of a key: SHA-224 in hex. */
export const KEY_BYTES = 56;

const CRLF: Uint8Array = Uint8Array.of(0x0d, 0x0a);

/** The longest request: a key, a name of 255 bytes, and the fields around them. */
export const MAX_TROJAN_REQUEST = 512;

/** Encodes a request; `undefined` when the host does not fit. */
export function encodeRequest(
  key: Uint8Array,
  command: Command,
  destination: Endpoint,
): Buffer | undefined {
  const address = encodeAddressField(destination, SOCKS_ADDRESS);
  return address && Buffer.concat([key, CRLF, Uint8Array.of(command), address, CRLF]);
}

/** The part of a request after its key. */
export interface TrojanRequest {
  readonly command: Command;
  readonly destination: Endpoint;
}

/**
 * Reads a request after its key.
 * @throws {ProtocolError} when it is malformed.
 */
export async function readTrojanRequest(reader: BoundedReader): Promise<TrojanRequest> {
  await readCrlf(reader);
  const command = await reader.byte();
  if (command !== Command.connect && command !== Command.associate) {
    throw new ProtocolError(`trojan: unknown command ${command}`);
  }
  const destination = await readAddressField(reader, SOCKS_ADDRESS);
  await readCrlf(reader);
  return { command, destination };
}

async function readCrlf(reader: BoundedReader): Promise<void> {
  if (!(await reader.bytes(CRLF.length)).equals(CRLF)) {
    throw new ProtocolError('trojan: expected CRLF');
  }
}

/** Bytes of length and CRLF. */
const TAIL = 4;
/** The longest head: a name of 255 bytes with its type, length and port. */
const HEAD_LIMIT = 1 + 1 + 255 + 2 + TAIL;

/**
 * Maximum length of a sent datagram in bytes. v2ray ends a whole association for a longer datagram; no network path
 * carries one unfragmented, so it is dropped instead.
 */
export const MAX_DATA = 8192;

/** The header of a datagram. */
interface Head {
  /** The peer; `undefined` for an invalid name. */
  readonly peer: Endpoint | undefined;
  readonly length: number;
}

/** Datagrams in a Trojan stream, each with its peer: address, length, CRLF, data. */
export class TrojanFraming implements PacketFraming {
  readonly #queue = new ByteQueue();
  #head: Head | undefined;
  #writtenPeer: Endpoint | undefined;
  #writtenAddress: Uint8Array = new Uint8Array(0);

  *decode(chunk: Uint8Array): Iterable<Packet | undefined> {
    this.#queue.push(chunk);
    for (;;) {
      this.#head ??= this.#takeHead();
      const data = this.#head && this.#queue.take(this.#head.length);
      if (!this.#head || !data) return;
      const { peer } = this.#head;
      this.#head = undefined;
      yield peer && { data, peer };
    }
  }

  encode({ data, peer }: Packet): readonly Uint8Array[] | undefined {
    if (data.length > MAX_DATA) return undefined;
    if (peer !== this.#writtenPeer) {
      const address = encodeAddressField(peer, SOCKS_ADDRESS);
      if (!address) return undefined;
      this.#writtenPeer = peer;
      this.#writtenAddress = address;
    }
    const tail = Uint8Array.of(data.length >> 8, data.length & 0xff, ...CRLF);
    return [this.#writtenAddress, tail, data];
  }

  #takeHead(): Head | undefined {
    const start = this.#queue.peek(Math.min(this.#queue.length, HEAD_LIMIT));
    const address = start && decodeAddressField(start, 0, SOCKS_ADDRESS);
    const head = address && this.#queue.peek(address.end + TAIL);
    if (!head) return undefined;
    this.#queue.take(head.length);
    const [high = 0, low = 0, cr, lf] = head.subarray(address.end);
    if (cr !== CRLF[0] || lf !== CRLF[1]) {
      throw new ProtocolError('trojan: a datagram header without CRLF');
    }
    return { peer: address.endpoint, length: (high << 8) | low };
  }
}

/**
 * The datagrams of a client: the request is sent in one write with the first datagram and has the
 * same peer. The protocol does not define the destination of an association's request, but sing-box
 * routes all datagrams by it, and the clients of Xray and sing-box send the first peer.
 */
export class ClientFraming implements PacketFraming {
  readonly #framing = new TrojanFraming();
  /** The key of the request; `undefined` once the request was encoded. */
  #key: Uint8Array | undefined;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  decode(chunk: Uint8Array): Iterable<Packet | undefined> {
    return this.#framing.decode(chunk);
  }

  encode(packet: Packet): readonly Uint8Array[] | undefined {
    const frame = this.#framing.encode(packet);
    if (!frame || !this.#key) return frame;
    const request = encodeRequest(this.#key, Command.associate, packet.peer);
    if (!request) return undefined;
    this.#key = undefined;
    return [request, ...frame];
  }
}
