import {
  blankEndpoint,
  assignEndpoint,
  isSameAddress,
  type MutableIpEndpoint,
} from '@weir/base/ip';
import type { IpPacket } from '../wire/ip-packet.ts';
import { IPV4_HEADER_SIZE, rewriteIPv4Header } from '../wire/ipv4.ts';
import { hasWholeHeaderChain, IPV6_HEADER_SIZE } from '../wire/ipv6.ts';
import { writeUint16 } from '@weir/base/bytes';
import {
  FRAGMENT_OVERHEAD,
  MAX_FRAGMENT_BYTES,
  MAX_FRAGMENT_BYTES_FROM_SOURCE,
  MAX_FRAGMENTS_OF_DATAGRAM,
  MAX_INCOMPLETE_DATAGRAMS,
  MAX_INCOMPLETE_FROM_SOURCE,
  REASSEMBLY_TIMEOUT_MS,
} from '../limits.ts';

/** The reason why a fragment is dropped, and with it its datagram. */
export type FragmentFault =
  | 'fragment overlap'
  | 'fragment beyond the end'
  | 'fragment of another end'
  | 'too many fragments'
  | 'fragment header chain'
  | 'fragment of an invalid datagram';

/** The result of a fragment: `held` until the others arrive, or `complete` with it. */
export type FragmentOutcome = 'held' | 'complete' | 'duplicate' | FragmentFault;

/** Called with the first fragment (offset 0) of a datagram that has expired. */
type OnExpired = (firstFragment: Uint8Array) => void;

interface Fragment {
  readonly start: number;
  readonly end: number;
  readonly data: Uint8Array;
}

/** The state of one source address, for the bounds of each source. */
interface Source {
  readonly address: MutableIpEndpoint;
  datagrams: number;
  bytes: number;
}

interface Datagram {
  readonly version: 4 | 6;
  readonly source: Source;
  readonly destination: MutableIpEndpoint;
  readonly identification: number;
  /** The protocol, a part of the key in IPv4 alone (RFC 791, RFC 8200 §4.5). */
  readonly protocol: number;
  readonly deadline: number;
  /** The fragments in order, without overlaps. */
  readonly fragments: Fragment[];
  /** The IP packet with the fragment at offset 0: the header of the datagram, and the quote of an error. */
  first: Uint8Array | undefined;
  /** The protocol in the fragment at offset 0; those of the others do not count (RFC 8200 §4.5). */
  firstProtocol: number;
  /** Bytes of data received in `fragments`. */
  received: number;
  /** Bytes of the datagram's data; -1 before the last fragment has arrived. */
  total: number;
  /** Bytes that the datagram counts towards the bounds. */
  cost: number;
  /** Whether a fragment is marked with congestion experienced (RFC 3168 §5.3). */
  isMarked: boolean;
  /** Whether the datagram's fragments contradict each other: all others are dropped (RFC 5722 §4). */
  isInvalid: boolean;
}

const LARGEST_PACKET = IPV6_HEADER_SIZE + 0xffff;
const NO_BYTES = new Uint8Array(0);
/** Both bits of ECN: congestion experienced. */
const CONGESTION_EXPERIENCED = 3;

/**
 * Reassembles IP fragments into whole packets (RFC 791, RFC 8200 §4.5). The fragments of a datagram may arrive in any
 * order, and twice. If two overlap otherwise, the whole datagram is dropped, as RFC 5722 requires for IPv6 and
 * as Linux does for IPv4.
 *
 * Memory is bounded, in total and for each source, and a fragment costs at most a comparison with each
 * incomplete datagram and with each fragment of its own.
 */
export class FragmentReassembly {
  /** Incomplete datagrams in the order of their deadlines. */
  readonly #datagrams: Datagram[] = [];
  /** Number of bytes held, as the bounds count them. */
  bytes = 0;
  #whole: Uint8Array | undefined;
  /** Size of `packet` in bytes. */
  packetSize = 0;

  /** The packet that `receive` completed, an IP packet from offset 0 on; valid until the next call. */
  get packet(): Uint8Array {
    return this.#whole ?? NO_BYTES;
  }

  /** Number of incomplete datagrams. */
  get size(): number {
    return this.#datagrams.length;
  }

  /**
   * Receives a fragment, whose data is copied.
   *
   * @param packet a packet with `isFragment`.
   * @param now milliseconds.
   */
  receive(packet: IpPacket, now: number): FragmentOutcome {
    const datagram = this.#find(packet) ?? this.#open(packet, now);
    if (datagram.isInvalid) return 'fragment of an invalid datagram';
    const start = packet.fragmentOffset;
    const end = start + packet.end - packet.payload;
    const position = positionOf(datagram.fragments, start);
    const fault = faultOf(datagram, packet, start, end, position);
    if (fault === 'duplicate') return fault;
    if (fault !== undefined) {
      this.#empty(datagram);
      datagram.isInvalid = true;
      return fault;
    }
    this.#hold(datagram, packet, start, end, position);
    if (datagram.received === datagram.total && datagram.first !== undefined) {
      this.#complete(datagram, datagram.first);
      this.#remove(datagram);
      return 'complete';
    }
    this.#keepWithinBounds(datagram.source);
    return 'held';
  }

  /** Returns the time at which `onTimeout` is due, in milliseconds; Infinity if no fragments are buffered. */
  nextTimeout(): number {
    return this.#datagrams[0]?.deadline ?? Infinity;
  }

  /**
   * Drops datagrams that were not completed in time.
   *
   * @param onExpired called with the IP packet of the fragment at offset 0, if it was received: a "time
   *   exceeded" (`reassembly`) quotes it.
   */
  onTimeout(now: number, onExpired?: OnExpired): void {
    for (;;) {
      const [oldest] = this.#datagrams;
      if (oldest === undefined || oldest.deadline > now) return;
      const { first } = oldest;
      this.#remove(oldest);
      if (first !== undefined) onExpired?.(first);
    }
  }

  #find(packet: IpPacket): Datagram | undefined {
    for (const datagram of this.#datagrams) {
      if (
        datagram.identification === packet.identification &&
        datagram.version === packet.version &&
        (packet.version === 6 || datagram.protocol === packet.protocol) &&
        isSameAddress(datagram.source.address, packet.source) &&
        isSameAddress(datagram.destination, packet.destination)
      ) {
        return datagram;
      }
    }
    return undefined;
  }

  #open(packet: IpPacket, now: number): Datagram {
    const datagram: Datagram = {
      version: packet.version,
      source: this.#sourceOf(packet),
      destination: blankEndpoint(),
      identification: packet.identification,
      protocol: packet.protocol,
      deadline: now + REASSEMBLY_TIMEOUT_MS,
      fragments: [],
      first: undefined,
      firstProtocol: 0,
      received: 0,
      total: -1,
      cost: 0,
      isMarked: false,
      isInvalid: false,
    };
    assignEndpoint(datagram.destination, packet.destination);
    if (datagram.source.datagrams >= MAX_INCOMPLETE_FROM_SOURCE) {
      this.#removeOldestOf(datagram.source);
    }
    if (this.#datagrams.length >= MAX_INCOMPLETE_DATAGRAMS) this.#removeOldest();
    this.#datagrams.push(datagram);
    datagram.source.datagrams++;
    return datagram;
  }

  #sourceOf(packet: IpPacket): Source {
    for (const { source } of this.#datagrams) {
      if (isSameAddress(source.address, packet.source)) return source;
    }
    const address = blankEndpoint();
    assignEndpoint(address, packet.source);
    return { address, datagrams: 0, bytes: 0 };
  }

  #hold(datagram: Datagram, packet: IpPacket, start: number, end: number, position: number): void {
    // The header is kept only for the fragment at offset 0.
    const from = start === 0 ? packet.start : packet.payload;
    const copy = new Uint8Array(packet.end - from);
    copy.set(packet.bytes.subarray(from, packet.end));
    datagram.fragments.splice(position, 0, {
      start,
      end,
      data: copy.subarray(packet.payload - from),
    });
    if (start === 0) {
      datagram.first = copy;
      datagram.firstProtocol = packet.protocol;
    }
    if (!packet.moreFragments) datagram.total = end;
    if ((packet.trafficClass & CONGESTION_EXPERIENCED) === CONGESTION_EXPERIENCED) {
      datagram.isMarked = true;
    }
    datagram.received += end - start;
    this.#account(datagram, copy.length + FRAGMENT_OVERHEAD);
  }

  #account(datagram: Datagram, bytes: number): void {
    datagram.cost += bytes;
    datagram.source.bytes += bytes;
    this.bytes += bytes;
  }

  #keepWithinBounds(source: Source): void {
    while (source.bytes > MAX_FRAGMENT_BYTES_FROM_SOURCE) this.#removeOldestOf(source);
    while (this.bytes > MAX_FRAGMENT_BYTES) this.#removeOldest();
  }

  #removeOldestOf(source: Source): void {
    const oldest = this.#datagrams.find((datagram) => datagram.source === source);
    if (oldest !== undefined) this.#remove(oldest);
  }

  #removeOldest(): void {
    const [oldest] = this.#datagrams;
    if (oldest !== undefined) this.#remove(oldest);
  }

  #remove(datagram: Datagram): void {
    this.#empty(datagram);
    datagram.source.datagrams--;
    this.#datagrams.splice(this.#datagrams.indexOf(datagram), 1);
  }

  /** Releases the data of the datagram. */
  #empty(datagram: Datagram): void {
    this.#account(datagram, -datagram.cost);
    datagram.fragments.length = 0;
    datagram.first = undefined;
  }

  /** Assembles the original packet, without options and extension headers. */
  #complete(datagram: Datagram, first: Uint8Array): void {
    this.#whole ??= new Uint8Array(LARGEST_PACKET);
    const whole = this.#whole;
    const headerSize = datagram.version === 4 ? IPV4_HEADER_SIZE : IPV6_HEADER_SIZE;
    whole.set(first.subarray(0, headerSize));
    for (const { start, data } of datagram.fragments) whole.set(data, headerSize + start);
    const size = headerSize + datagram.total;
    if (datagram.version === 4) {
      whole[0] = 0x45;
      if (datagram.isMarked) whole[1] = (whole[1] as number) | CONGESTION_EXPERIENCED;
      rewriteIPv4Header(whole, 0, headerSize, size, datagram.identification, 0, false, false);
    } else {
      if (datagram.isMarked) whole[1] = (whole[1] as number) | (CONGESTION_EXPERIENCED << 4);
      writeUint16(whole, 4, datagram.total);
      whole[6] = datagram.firstProtocol;
    }
    this.packetSize = size;
  }
}

/**
 * Returns the position of a fragment that starts at `start`, searched from the end: fragments mostly arrive in order.
 */
function positionOf(fragments: readonly Fragment[], start: number): number {
  let position = fragments.length;
  while (position > 0 && (fragments[position - 1] as Fragment).start >= start) position--;
  return position;
}

function faultOf(
  datagram: Datagram,
  packet: IpPacket,
  start: number,
  end: number,
  position: number,
): 'duplicate' | FragmentFault | undefined {
  const { fragments, total } = datagram;
  const following = fragments[position];
  if (following?.start === start && following.end === end) {
    if (!isSame(following.data, packet)) return 'fragment overlap';
    return packet.moreFragments === (end !== total) ? 'duplicate' : 'fragment of another end';
  }
  if (following !== undefined && following.start < end) return 'fragment overlap';
  const previous = fragments[position - 1];
  if (previous !== undefined && previous.end > start) return 'fragment overlap';
  if (total >= 0 && end > total) return 'fragment beyond the end';
  const last = fragments.at(-1);
  if (!packet.moreFragments && ((total >= 0 && end !== total) || (last?.end ?? 0) > end)) {
    return 'fragment of another end';
  }
  if (fragments.length === MAX_FRAGMENTS_OF_DATAGRAM) return 'too many fragments';
  // RFC 7112 §5: all headers must be in the first fragment, where a filter sees them.
  const isIncompleteChain = packet.version === 6 && start === 0 && !hasWholeHeaderChain(packet);
  return isIncompleteChain ? 'fragment header chain' : undefined;
}

function isSame(data: Uint8Array, { bytes, payload }: IpPacket): boolean {
  for (let at = 0; at < data.length; at++) if (data[at] !== bytes[payload + at]) return false;
  return true;
}
