import { RateLimit } from '../../net/time/rate-limit.ts';
import type { Drops } from '../drops.ts';
import { STRAY_RESPONSES_A_SECOND } from '../limits.ts';
import type { IpPacket } from '../wire/ip-packet.ts';
import { sequenceLength, TcpFlag, type TcpSegment } from '../wire/tcp.ts';
import type { SegmentWriter } from './segment-writer.ts';

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
