import type { Deadlines } from './state.ts';
import {
  MAX_ACK_DELAY,
  MAX_DUPLICATE_ACKS,
  MIN_MSS,
  QUICK_ACKS,
  CHALLENGE_INTERVAL,
  MAX_CHALLENGE_ACKS,
  STRAY_ACK_INTERVAL,
} from '../limits.ts';
import type { SegmentDropReason, Trace } from '../trace.ts';
import { TcpFlag, type TcpSegment } from '../wire/tcp.ts';

/**
 * Decides when received data is acknowledged (RFC 9293 §3.8.6.3, RFC 5681 §4.2): at once for every second full
 * segment, for data out of order or filling a gap, and for the first segments of a connection, whose sender
 * is in slow start. Other ACKs are delayed.
 */
export class DelayedAcks {
  readonly #deadlines: Deadlines;
  /** Bytes of the peer's largest segment so far. */
  #fullSegment = MIN_MSS;
  #bytes = 0;
  #quick = QUICK_ACKS;
  /** Number of ACKs to be sent now; more than one only for peers that count duplicate ACKs. */
  due = 0;
  /** Whether SACK blocks have changed since the last report (RFC 2018 §4). */
  isReportDue = false;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** Called when data arrived in order. @param mss payload bytes of the largest segment that the peer may send. */
  onInOrder(bytes: number, mss: number, now: number): void {
    this.#bytes += bytes;
    if (bytes > this.#fullSegment) this.#fullSegment = Math.min(bytes, mss);
    if (this.#quick > 0) {
      this.#quick--;
      this.require();
    } else if (this.#bytes >= 2 * this.#fullSegment) this.require();
    else if (!this.#deadlines.isSet('acknowledgment')) {
      this.#deadlines.set('acknowledgment', now + MAX_ACK_DELAY);
    }
  }

  /**
   * Called when data arrived out of order. Each such segment gets an ACK of its own if the peer detects losses by
   * duplicate ACKs; with SACK one ACK reports them all.
   */
  onOutOfOrder(sack: boolean): void {
    this.isReportDue = true;
    if (sack) this.require();
    else this.due = Math.min(this.due + 1, MAX_DUPLICATE_ACKS);
  }

  /** Requires an ACK with the next `transmit`, with data or alone. */
  require(): void {
    if (this.due === 0) this.due = 1;
  }

  onTimeout(now: number): void {
    if (this.#deadlines.take('acknowledgment', now)) this.require();
  }

  /** Called when a segment was sent with all current SACK blocks. */
  onReported(): void {
    this.isReportDue = false;
  }

  /** Called when a segment was sent with SEG.ACK = RCV.NXT. */
  onSent(): void {
    this.#bytes = 0;
    if (this.due > 0) this.due--;
    this.#deadlines.clear('acknowledgment');
  }
}

/**
 * Limits the ACKs in reply to unacceptable segments. Without a limit two ends that disagree would exchange them
 * indefinitely, and an attacker could make a host send them (RFC 5961 §7).
 */
export class ChallengeLimit {
  #left = MAX_CHALLENGE_ACKS;
  #since = -Infinity;
  #strayAt = -Infinity;

  /** Whether a challenge ACK may be sent for a RST, SYN or ACK that may be forged. */
  take(now: number): boolean {
    if (now - this.#since >= CHALLENGE_INTERVAL) {
      this.#since = now;
      this.#left = MAX_CHALLENGE_ACKS;
    }
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }

  /**
   * Whether an ACK may be sent for a segment without text outside the window: it may itself reply to an ACK of this
   * side.
   */
  takeStray(now: number): boolean {
    if (now - this.#strayAt < STRAY_ACK_INTERVAL) return false;
    this.#strayAt = now;
    return true;
  }
}

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
