import type { RandomSource } from '@weir/base/random';
import type { IpEndpoint } from '@weir/base/ip';
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
import { LARGEST_PACKET } from '../limits.ts';
import { PathMtus } from './path-mtu.ts';
import type { TcpFlows } from '../flows/tcp-flows.ts';
import { IcmpMessage, IcmpQuote, readIcmp, readQuote } from '../wire/icmp.ts';
import { IpPacket, IpProtocol } from '../wire/ip-packet.ts';
import { readIpPacket } from '../wire/ip.ts';

/** The part of TCP that ICMP uses: to find the connection that a message is about, and to report to it. */
type ReportedFlows = Pick<TcpFlows, 'find' | 'onPathMtu' | 'onUnreachable'>;

/** Dependencies of ICMP in a stack. */
interface IcmpOptions {
  readonly random: RandomSource;
  readonly output: IpOutput;
  readonly drops: Drops;
  readonly tcp: ReportedFlows;
  /** Returns whether there is an association between these endpoints. */
  readonly hasUdp: (local: IpEndpoint, remote: IpEndpoint) => boolean;
}

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

  constructor({ random, output, drops, tcp, hasUdp }: IcmpOptions) {
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
