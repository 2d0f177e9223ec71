import type { PacketOutput } from '../../ip/packet-device.ts';
import { Fragmentation } from './fragmentation.ts';
import { IpPacket } from '../wire/ip-packet.ts';
import { IPV6_HEADER_SIZE, MAX_IPV6_PAYLOAD } from '../wire/ipv6.ts';
import { readIpPacket } from '../wire/ip.ts';

/** A buffer for packets larger than their path MTU: they are written here, and sent in fragments. */
export class FragmentedPacket {
  readonly buffer = new Uint8Array(IPV6_HEADER_SIZE + MAX_IPV6_PAYLOAD);
  readonly #fragmentation = new Fragmentation();
  readonly #packet = new IpPacket();

  /**
   * Sends the packet at offset 0 of `buffer`, whose checksums are complete.
   *
   * @param mtu bytes of a fragment.
   * @returns false when the packet is invalid, or the output had no room for all fragments: then the packet is
   *   lost.
   */
  send(length: number, mtu: number, identification: number, output: PacketOutput): boolean {
    const fragmentation = this.#fragmentation;
    if (readIpPacket(this.buffer, 0, length, this.#packet) !== undefined) return false;
    if (!fragmentation.begin(this.#packet, mtu, identification)) return false;
    for (;;) {
      const size = fragmentation.nextSize();
      if (size === 0) return true;
      const at = output.reserve(size);
      if (at < 0) return false;
      fragmentation.write(output.buffer, at);
      output.commit(size, 0, -1, 0);
    }
  }
}
