import { type Endpoint, mayRespondFor } from '../../net/addresses/address.ts';
import { ByteQueue } from '../../collections/byte-queue.ts';
import type { PacketFraming } from '../../net/packets/framed-packets.ts';
import type { Packet } from '../../net/links/link.ts';

const LENGTH_BYTES = 2;
const MAX_DATA = 0xffff;

/** Datagrams in a VLESS stream: length and data, all with the peer that the request names. */
export class VlessFraming implements PacketFraming {
  readonly #peer: Endpoint;
  readonly #queue = new ByteQueue();

  constructor(peer: Endpoint) {
    this.#peer = peer;
  }

  *decode(chunk: Uint8Array): Iterable<Packet> {
    this.#queue.push(chunk);
    for (;;) {
      const head = this.#queue.peek(LENGTH_BYTES);
      if (!head) return;
      const length = ((head[0] ?? 0) << 8) | (head[1] ?? 0);
      if (this.#queue.length < LENGTH_BYTES + length) return;
      this.#queue.take(LENGTH_BYTES);
      const data = this.#queue.take(length);
      if (data) yield { data, peer: this.#peer };
    }
  }

  encode({ data, peer }: Packet): readonly Uint8Array[] | undefined {
    if (data.length > MAX_DATA || !mayRespondFor(this.#peer, peer)) return undefined;
    return [Uint8Array.of(data.length >> 8, data.length & 0xff), data];
  }
}
