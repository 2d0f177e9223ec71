import type { PacketFraming } from '../../net/framed-packets.ts';
import type { Packet } from '../../net/link.ts';
import { TrojanFraming } from './packet-framing.ts';
import { Command, encodeRequest } from './wire.ts';

/**
 * The datagrams of a client: the request goes in one write with the first of them and names its
 * peer. The protocol leaves open what an association's request names, but sing-box routes all of
 * its datagrams by that, and Xray and sing-box name the first peer as clients.
 */
export class ClientFraming implements PacketFraming {
  readonly #framing = new TrojanFraming();
  /** `undefined` once the request has been made. */
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
