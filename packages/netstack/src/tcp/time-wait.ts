import { TcpFlag, type TcpSegment } from '../wire/tcp.ts';
import { ChallengeLimit } from './acknowledgments.ts';
import { REUSE_DELAY, TIME_WAIT, TIMESTAMP_LIFETIME } from '../limits.ts';
import type { SegmentOutput } from './segment-output.ts';
import { advance, distance, timestampAt } from './sequence.ts';

/** The variables of a connection that TIME-WAIT keeps; numbers as on the wire. */
export interface TimeWaitFacts {
  /** SND.NXT, after this side's FIN. */
  readonly sendNext: number;
  /** RCV.NXT, after the peer's FIN. */
  readonly receiveNext: number;
  /** The window field of the last ACK. */
  readonly window: number;
  readonly timestamps: boolean;
  readonly timestampOffset: number;
  readonly recentTimestamp: number;
  readonly recentTimestampAt: number;
}

/** The effect of a segment on a connection in TIME-WAIT. */
type TimeWaitVerdict =
  /** No effect. */
  | 'ignored'
  /** An ACK must be sent: `acknowledge`. */
  | 'acknowledge'
  /** The peer has retransmitted its FIN: an ACK must be sent, and the 2 MSL timeout was restarted. */
  | 'restart'
  /** A RST has closed the connection. */
  | 'closed'
  /** The SYN of a new connection replaces this one; see `nextInitialSequence`. */
  | 'reopen';

/** Distance added to SND.NXT, so that old segments in flight are outside the window of the new connection. */
const REOPEN_DISTANCE = 65_537;

/** A connection in TIME-WAIT (RFC 9293 §3.10.7.4), without its buffers. */
export class TimeWait {
  readonly #facts: TimeWaitFacts;
  readonly #challenges = new ChallengeLimit();
  /** The end of the 2 MSL timeout, in milliseconds. */
  expiresAt: number;

  constructor(facts: TimeWaitFacts, now: number) {
    this.#facts = facts;
    this.expiresAt = now + TIME_WAIT;
  }

  /** The ISS of the connection that replaces this one (RFC 1122 §4.2.2.13). */
  get nextInitialSequence(): number {
    return advance(this.#facts.sendNext, REOPEN_DISTANCE);
  }

  /**
   * Whether an active connection of this side may replace this one before the timeout: with timestamps, once
   * the clocks of both sides have ticked, segments of the old connection are recognised as old (RFC 6191,
   * RFC 7323 §5.5). Without, only `nextInitialSequence` keeps the two apart.
   */
  mayFollow(now: number): boolean {
    return this.#facts.timestamps && now - (this.expiresAt - TIME_WAIT) >= REUSE_DELAY;
  }

  segmentArrives(segment: TcpSegment, now: number): TimeWaitVerdict {
    const { receiveNext } = this.#facts;
    const { flags } = segment;
    if ((flags & TcpFlag.RST) !== 0) {
      // RFC 5961 §3.2: only SEG.SEQ = RCV.NXT is valid. RCV.WND is 0, so there is nothing to challenge.
      return segment.sequence === receiveNext ? 'closed' : 'ignored';
    }
    if ((flags & TcpFlag.SYN) !== 0) {
      if ((flags & TcpFlag.ACK) === 0 && this.#isNewer(segment, now)) return 'reopen';
      return this.#challenges.take(now) ? 'acknowledge' : 'ignored';
    }
    if ((flags & TcpFlag.FIN) !== 0) {
      const end = advance(segment.sequence, segment.payloadEnd - segment.payload + 1);
      if (end === receiveNext) {
        this.expiresAt = now + TIME_WAIT;
        return 'restart';
      }
    }
    // An ACK of our last ACK (simultaneous close) needs no response; a segment outside the window does.
    if (segment.sequence === receiveNext && segment.payload === segment.payloadEnd)
      return 'ignored';
    return this.#challenges.takeStray(now) ? 'acknowledge' : 'ignored';
  }

  /** Writes an ACK of everything received. @returns false if the output has no room; the ACK is not sent later. */
  acknowledge(out: SegmentOutput, now: number): boolean {
    const { sendNext, receiveNext, window, timestamps, timestampOffset, recentTimestamp } =
      this.#facts;
    const { segment } = out;
    segment.clear();
    segment.sequence = sendNext;
    segment.acknowledgment = receiveNext;
    segment.flags = TcpFlag.ACK;
    segment.window = window;
    segment.hasTimestamps = timestamps;
    segment.timestamp = timestampAt(now, timestampOffset);
    segment.timestampEcho = recentTimestamp;
    if (out.begin(0) < 0) return false;
    out.end(0);
    return true;
  }

  /**
   * Whether a SYN is newer by RFC 6191 §2: a later timestamp, or the same and a later SEG.SEQ. Without timestamps, a
   * later SEG.SEQ.
   */
  #isNewer(segment: TcpSegment, now: number): boolean {
    const { receiveNext, timestamps, recentTimestamp, recentTimestampAt } = this.#facts;
    const isLater = distance(receiveNext, segment.sequence) > 0;
    if (!timestamps || !segment.hasTimestamps) return isLater;
    if (now - recentTimestampAt >= TIMESTAMP_LIFETIME) return isLater;
    const age = distance(recentTimestamp, segment.timestamp);
    return age > 0 || (age === 0 && isLater);
  }
}
