import { IpPacket } from '../wire/ip-packet.ts';
import { IPV4_HEADER_SIZE, rewriteIPv4Header } from '../wire/ipv4.ts';
import {
  FRAGMENT_HEADER_SIZE,
  IPV6_HEADER_SIZE,
  NextHeader,
  writeFragmentHeader,
  MAX_IPV6_PAYLOAD,
} from '../wire/ipv6.ts';
import { writeUint16 } from '@weir/base/bytes';
import type { PacketOutput } from '@weir/base/ip';
import { readIpPacket } from '../wire/ip.ts';

/**
 * Splits an outgoing packet into fragments for an MTU (RFC 791, RFC 8200 §4.5). One object is reused for all
 * packets:
 *
 *     if (!fragmentation.begin(packet, mtu, identification)) return;
 *     for (let size; (size = fragmentation.nextSize()) > 0; ) fragmentation.write(into, at);
 */
export class Fragmentation {
  #packet: IpPacket | undefined;
  #identification = 0;
  #headerSize = 0;
  /** Bytes of data in each fragment but the last: a multiple of 8. */
  #dataSize = 0;
  /** Bytes of data in the fragments written so far. */
  #offset = 0;
  #total = 0;

  /**
   * Starts with `packet`, whose checksums are complete. Its record and bytes must not change until the last
   * fragment is written.
   *
   * @param mtu bytes of the largest fragment with its IP header.
   * @param identification 16 bits in IPv4, 32 in IPv6; not reused for this pair of addresses while fragments
   *   of an earlier packet may be in flight.
   * @returns false when the MTU has no room for data, or the packet has extension headers or options, which
   *   this stack does not send.
   */
  begin(packet: IpPacket, mtu: number, identification: number): boolean {
    const ipHeader = packet.payload - packet.start;
    const hasOwnHeader = ipHeader === (packet.version === 4 ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE);
    this.#headerSize = ipHeader + (packet.version === 4 ? 0 : FRAGMENT_HEADER_SIZE);
    this.#dataSize = (mtu - this.#headerSize) & ~7;
    this.#packet = packet;
    this.#identification = identification;
    this.#offset = 0;
    this.#total = packet.end - packet.payload;
    if (hasOwnHeader && this.#dataSize > 0) return true;
    this.#offset = this.#total;
    return false;
  }

  /** Returns the size in bytes of the fragment that `write` writes next; 0 after the last one. */
  nextSize(): number {
    const left = this.#total - this.#offset;
    return left === 0 ? 0 : this.#headerSize + Math.min(left, this.#dataSize);
  }

  /** Writes the next fragment, an IP packet, at `at`. */
  write(into: Uint8Array, at: number): void {
    const packet = this.#packet;
    const size = this.nextSize();
    if (packet === undefined || size === 0) return;
    const { bytes, start, payload } = packet;
    const headerSize = this.#headerSize;
    const offset = this.#offset;
    const dataSize = size - headerSize;
    const moreFragments = offset + dataSize < this.#total;
    into.set(bytes.subarray(start, payload), at);
    if (packet.version === 4) {
      rewriteIPv4Header(
        into,
        at,
        headerSize,
        size,
        this.#identification,
        offset,
        moreFragments,
        false,
      );
    } else {
      writeUint16(into, at + 4, size - IPV6_HEADER_SIZE);
      into[at + 6] = NextHeader.FRAGMENT;
      const header = at + IPV6_HEADER_SIZE;
      writeFragmentHeader(
        into,
        header,
        packet.protocol,
        this.#identification,
        offset,
        moreFragments,
      );
    }
    into.set(bytes.subarray(payload + offset, payload + offset + dataSize), at + headerSize);
    this.#offset += dataSize;
  }
}

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
