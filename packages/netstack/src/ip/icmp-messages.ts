import type { RandomSource } from '@weir/base/random';
import { type IpEndpoint, blankEndpoint, assignEndpoint, isSameAddress } from '@weir/base/ip';
import type { Drops } from '../trace.ts';
import {
  echoReplySize,
  IcmpErrorLimit,
  icmpErrorSize,
  mayCauseError,
  writeEchoReply,
  writeIcmpError,
  type IcmpError,
} from './icmp-replies.ts';
import type { IpOutput } from './ip-output.ts';
import {
  LARGEST_PACKET,
  MAX_PATH_MTUS,
  MIN_PATH_MTU_IPV4,
  PATH_MTU_LIFETIME_MS,
} from '../limits.ts';
import type { TcpFlows } from '../flows/tcp-flows.ts';
import { IcmpMessage, IcmpQuote, readIcmp, readQuote } from '../wire/icmp.ts';
import { IpPacket, IpProtocol } from '../wire/ip-packet.ts';
import { readIpPacket } from '../wire/ip.ts';
import { hashAddress } from './address-hash.ts';
import { MIN_IPV6_MTU } from '../wire/ipv6.ts';

/** The result of a "too big" message. */
export type PathMtuOutcome =
  | 'lowered'
  | 'not lower'
  | 'below the minimum'
  | 'unreadable quote'
  | 'not of a packet of ours';

interface Path {
  readonly destination: IpEndpoint;
  mtu: number;
  expiresAt: number;
}

/** Common MTUs (RFC 1191 §7.1), for routers that do not report theirs. */
const PLATEAUS = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, MIN_PATH_MTU_IPV4];

/**
 * The MTUs of paths on which a packet was too big (RFC 1191, RFC 8201). A message counts only if the caller
 * confirms that it quotes a packet in flight (RFC 5927 §7.2). An entry expires after ten minutes, when the path
 * may have changed.
 */
export class PathMtus {
  readonly #deviceMtu: number;
  readonly #salt: number;
  readonly #isOurs: (quote: IcmpQuote) => boolean;
  /** Paths by the hash of the address, the oldest first. An address with the same hash replaces the other. */
  readonly #paths = new Map<number, Path>();
  /** The quote of the last message: after `lowered` the connection that has to send smaller packets. */
  readonly quote = new IcmpQuote();

  /**
   * @param deviceMtu the MTU of all other paths, in bytes.
   * @param salt 32 random bits.
   * @param isOurs returns whether the quoted packet was sent and may be in flight: for TCP, whether the connection has
   *   sent the sequence number and it is unacknowledged.
   */
  constructor(deviceMtu: number, salt: number, isOurs: (quote: IcmpQuote) => boolean) {
    this.#deviceMtu = deviceMtu;
    this.#salt = salt;
    this.#isOurs = isOurs;
  }

  /** Returns the MTU of the path to `destination`, in bytes. @param now milliseconds. */
  get(destination: IpEndpoint, now: number): number {
    if (this.#paths.size === 0) return this.#deviceMtu;
    return this.#find(destination, now)?.mtu ?? this.#deviceMtu;
  }

  /** Number of entries. */
  get size(): number {
    return this.#paths.size;
  }

  /**
   * Handles a "too big" message.
   *
   * @param now milliseconds.
   * @returns after `lowered`, `get` returns the new MTU of `quote.destination`.
   */
  receive(message: IcmpMessage, now: number): PathMtuOutcome {
    const { quote } = this;
    if (!readQuote(message, quote)) return 'unreadable quote';
    const mtu = message.mtu === 0 ? plateauBelow(quote.size) : message.mtu;
    // An MTU below the minimum of IPv6 is ignored (RFC 8201 §4).
    if (mtu < (message.version === 4 ? MIN_PATH_MTU_IPV4 : MIN_IPV6_MTU)) {
      return 'below the minimum';
    }
    if (mtu >= this.get(quote.destination, now)) return 'not lower';
    if (!this.#isOurs(quote)) return 'not of a packet of ours';
    this.#remember(quote.destination, mtu, now);
    return 'lowered';
  }

  #find(destination: IpEndpoint, now: number): Path | undefined {
    const key = hashAddress(destination, this.#salt);
    const path = this.#paths.get(key);
    if (path === undefined || !isSameAddress(path.destination, destination)) return undefined;
    if (path.expiresAt > now) return path;
    this.#paths.delete(key);
    return undefined;
  }

  #remember(destination: IpEndpoint, mtu: number, now: number): void {
    const key = hashAddress(destination, this.#salt);
    // The entry becomes the newest.
    this.#paths.delete(key);
    if (this.#paths.size >= MAX_PATH_MTUS) {
      const [oldest] = this.#paths.keys();
      if (oldest !== undefined) this.#paths.delete(oldest);
    }
    const own = blankEndpoint();
    assignEndpoint(own, destination);
    this.#paths.set(key, { destination: own, mtu, expiresAt: now + PATH_MTU_LIFETIME_MS });
  }
}

/** Returns the largest common MTU below the size of the packet that was too big. */
const plateauBelow = (size: number): number => PLATEAUS.find((mtu) => mtu < size) ?? 0;

/** The part of TCP that ICMP uses: to find the connection that a message is about, and to report to it. */
type ReportedFlows = Pick<TcpFlows, 'find' | 'onPathMtu' | 'onUnreachable'>;

/** ICMP and ICMPv6 of a stack: replies to echo requests, handles received errors, and sends errors. */
export class IcmpMessages {
  readonly #output: IpOutput;
  readonly #drops: Drops;
  readonly #tcp: ReportedFlows;
  readonly #limit: IcmpErrorLimit;
  readonly #paths: PathMtus;
  readonly #message = new IcmpMessage();
  readonly #quote = new IcmpQuote();
  readonly #cause = new IpPacket();

  /** @param hasUdp returns whether there is an association between these endpoints. */
  constructor(
    random: RandomSource,
    output: IpOutput,
    drops: Drops,
    tcp: ReportedFlows,
    hasUdp: (local: IpEndpoint, remote: IpEndpoint) => boolean,
  ) {
    this.#output = output;
    this.#drops = drops;
    this.#tcp = tcp;
    const salts = random.bytes(8);
    this.#limit = new IcmpErrorLimit(salts.readUInt32LE(0));
    // The MTU of the device may change; users apply it in addition to the path MTU.
    this.#paths = new PathMtus(LARGEST_PACKET, salts.readUInt32LE(4), (quote) =>
      quote.protocol === IpProtocol.TCP
        ? this.#isInFlight(quote)
        : quote.protocol === IpProtocol.UDP && hasUdp(quote.source, quote.destination),
    );
  }

  /** Returns the path MTU to an address, in bytes. */
  pathMtu(remote: IpEndpoint, now: number): number {
    return this.#paths.get(remote, now);
  }

  /** Handles the ICMP message in `packet`. */
  receive(packet: IpPacket, checksumVouched: boolean, now: number): void {
    const message = this.#message;
    const fault = readIcmp(packet, checksumVouched, message);
    if (fault !== undefined) {
      this.#drops.add(fault, packet.end - packet.start, now);
      return;
    }
    switch (message.kind) {
      case 'echo request':
        this.#reply(packet);
        break;
      case 'too big':
        this.#onTooBig(now);
        break;
      case 'unreachable':
        this.#onUnreachable(now);
        break;
      case 'echo reply':
      case 'time exceeded':
      case 'parameter problem':
      case 'other':
        break;
      default:
        message.kind satisfies never;
    }
  }

  /**
   * Reports to the source of a packet why the packet was not delivered, if that is permitted. The source of the report
   * is the destination of the packet.
   * @returns whether the report was sent.
   */
  report(error: IcmpError, cause: IpPacket, now: number): boolean {
    const { trace } = this.#drops;
    if (!mayCauseError(cause)) return false;
    if (!this.#limit.take(cause.source, now)) {
      if (trace !== undefined) trace({ kind: 'response-limited' }, now);
      return false;
    }
    const at = this.#output.reserve(icmpErrorSize(cause), Infinity);
    if (at < 0) return false;
    const from = cause.destination;
    this.#output.commit(writeIcmpError(error, cause, from, 0, this.#output.buffer, at));
    if (trace !== undefined) trace({ kind: 'icmp-sent', error }, now);
    return true;
  }

  /** Reports as `report` does, about a copy of a packet. */
  reportCopy(error: IcmpError, copy: Uint8Array, now: number): boolean {
    if (readIpPacket(copy, 0, copy.length, this.#cause) !== undefined) return false;
    return this.report(error, this.#cause, now);
  }

  #onTooBig(now: number): void {
    if (this.#paths.receive(this.#message, now) !== 'lowered') return;
    const { source, destination } = this.#paths.quote;
    this.#tcp.onPathMtu(source, destination, now);
  }

  #reply(packet: IpPacket): void {
    const size = echoReplySize(this.#message);
    const at = this.#output.reserve(size, this.#output.traits.mtu);
    if (at < 0) return;
    writeEchoReply(packet, this.#message, this.#output.buffer, at);
    this.#output.commit(size);
  }

  #onUnreachable(now: number): void {
    const quote = this.#quote;
    if (!readQuote(this.#message, quote) || quote.protocol !== IpProtocol.TCP) return;
    this.#tcp.onUnreachable(quote.source, quote.destination, quote.sequence, now);
  }

  #isInFlight({ source, destination, sequence }: IcmpQuote): boolean {
    return this.#tcp.find(source, destination)?.connection.isInFlight(sequence) ?? false;
  }
}
