import type { SegmentDropReason, Trace } from '../../trace.ts';
import { TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import type { DelayedAcks } from '../receive/delayed-acks.ts';
import { ChallengeLimit } from '../receive/challenge-limit.ts';

/** Handles segments that SEGMENT ARRIVES rejects, in part or as a whole. */
export class RejectedSegments {
  readonly #acks: DelayedAcks;
  readonly #trace: Trace | undefined;
  /** The limit of responses, created with the first segment that it limits: most connections need none. */
  #limited: ChallengeLimit | undefined;

  constructor(acks: DelayedAcks, trace: Trace | undefined) {
    this.#acks = acks;
    this.#trace = trace;
  }

  get #limit(): ChallengeLimit {
    return (this.#limited ??= new ChallengeLimit());
  }

  /** Traces a segment that was dropped, or not used as intended. */
  drop(reason: SegmentDropReason, segment: TcpSegment, now: number): void {
    if (this.#trace === undefined) return;
    const bytes = segment.payloadEnd - segment.payload;
    this.#trace({ kind: 'segment-dropped', reason, bytes }, now);
  }

  /**
   * Replies with <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>. Limited for segments without text: they may themselves be replies
   * to such ACKs.
   */
  unacceptable(reason: SegmentDropReason, segment: TcpSegment, now: number): void {
    this.drop(reason, segment, now);
    const isBare = segment.payload === segment.payloadEnd && (segment.flags & TcpFlag.FIN) === 0;
    if (!isBare || this.#limit.takeStray(now)) this.#acks.require();
  }

  /** Sends a challenge ACK (RFC 5961): only the real peer sees it, and confirms its RST or corrects itself. */
  challenge(reason: SegmentDropReason, segment: TcpSegment, now: number): void {
    this.drop(reason, segment, now);
    if (!this.#limit.take(now)) return;
    this.#acks.require();
    if (this.#trace !== undefined) this.#trace({ kind: 'challenge-ack' }, now);
  }

  /** Whether a retransmitted SYN gets another SYN-ACK. */
  mayRepeatSynAck(now: number): boolean {
    return this.#limit.take(now);
  }
}
