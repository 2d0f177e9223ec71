import { type IpEndpoint, blankEndpoint } from '@weir/base/ip';
import type { IpOutput } from '../ip/ip-output.ts';
import type { SegmentOutput } from '../tcp/segment-output.ts';
import { IpProtocol, type IpPacket } from '../wire/ip-packet.ts';
import {
  TCP_CHECKSUM_OFFSET,
  TcpSegment,
  tcpHeaderSize,
  writeTcpHeader,
  sequenceLength,
  TcpFlag,
} from '../wire/tcp.ts';
import { RateLimit } from '@weir/io/pace';
import type { Drops } from '../trace.ts';
import { STRAY_RESPONSES_A_SECOND } from '../limits.ts';

/** Writes TCP segments into IP packets. One writer serves all connections in turn. */
export class SegmentWriter implements SegmentOutput {
  readonly segment = new TcpSegment();
  readonly #output: IpOutput;
  #local: IpEndpoint = blankEndpoint();
  #remote: IpEndpoint = blankEndpoint();

  constructor(output: IpOutput) {
    this.#output = output;
  }

  get buffer(): Uint8Array {
    return this.#output.buffer;
  }

  /** Sets the endpoints of the segments that follow: from `local` to `remote`. */
  between(local: IpEndpoint, remote: IpEndpoint): this {
    this.#local = local;
    this.#remote = remote;
    return this;
  }

  begin(payloadBytes: number): number {
    const { segment } = this;
    const headerSize = tcpHeaderSize(segment);
    const at = this.#output.begin(this.#remote, headerSize + payloadBytes, Infinity);
    if (at < 0) return -1;
    segment.sourcePort = this.#local.port;
    segment.destinationPort = this.#remote.port;
    writeTcpHeader(segment, this.#output.buffer, at);
    return at + headerSize;
  }

  end(segmentSize: number): void {
    // Path MTU discovery: DF is always set (RFC 1191 §6.2).
    this.#output.end(
      this.#local,
      this.#remote,
      IpProtocol.TCP,
      TCP_CHECKSUM_OFFSET,
      segmentSize,
      true,
    );
  }
}

/** Handles segments for no connection: each gets a reset (RFC 9293 §3.10.7.1), up to a rate. */
export class StraySegments {
  readonly #writer: SegmentWriter;
  readonly #drops: Drops;
  readonly #responses = new RateLimit(STRAY_RESPONSES_A_SECOND);

  constructor(writer: SegmentWriter, drops: Drops) {
    this.#writer = writer;
    this.#drops = drops;
  }

  receive(packet: IpPacket, received: TcpSegment, now: number): void {
    this.#drops.add('no connection', packet.end - packet.start, now);
    const { flags, sequence, acknowledgment, payload, payloadEnd } = received;
    if ((flags & TcpFlag.RST) !== 0) return;
    const { trace } = this.#drops;
    if (!this.#responses.take(now)) {
      if (trace !== undefined) trace({ kind: 'response-limited' }, now);
      return;
    }
    const out = this.#writer.between(packet.destination, packet.source);
    const { segment } = out;
    segment.clear();
    if ((flags & TcpFlag.ACK) !== 0) {
      segment.sequence = acknowledgment;
      segment.flags = TcpFlag.RST;
    } else {
      segment.acknowledgment = (sequence + sequenceLength(flags, payloadEnd - payload)) >>> 0;
      segment.flags = TcpFlag.RST | TcpFlag.ACK;
    }
    if (out.begin(0) < 0) return;
    out.end(0);
    if (trace !== undefined) trace({ kind: 'reset-sent' }, now);
  }
}
