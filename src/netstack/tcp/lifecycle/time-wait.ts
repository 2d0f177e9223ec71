import { TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import { ChallengeLimit } from '../receive/challenge-limit.ts';
import { REUSE_DELAY, TIME_WAIT, TIMESTAMP_LIFETIME } from '../limits.ts';
import type { SegmentOutput } from '../segment-output.ts';
import { advance, distance } from '../sequence.ts';
import { timestampAt } from '../timestamps.ts';

/** What TIME-WAIT needs to know of a connection; numbers as on the wire. */
export interface TimeWaitFacts {
  /** SND.NXT: behind this side's FIN. */
  readonly sendNext: number;
  /** RCV.NXT: behind the peer's FIN. */
  readonly receiveNext: number;
  /** The window field of the last ACK. */
  readonly window: number;
  readonly timestamps: boolean;
  readonly timestampOffset: number;
  readonly recentTimestamp: number;
  readonly recentTimestampAt: number;
}

/** What a segment does to a connection in TIME-WAIT. */
export type TimeWaitVerdict =
  /** Nothing. */
  | 'ignored'
  /** An ACK is to be sent: `acknowledge`. */
  | 'acknowledge'
  /** As before, and TIME-WAIT begins anew: the peer has sent its FIN again. */
  | 'restart'
  /** A RST ended it. */
  | 'closed'
  /** It is the SYN of a new connection, which takes its place; see `nextInitialSequence`. */
  | 'reopen';

/** Beyond what the last connection used: what is still on its way cannot fit into the new one's window. */
const REOPEN_DISTANCE = 65_537;

/** A connection in TIME-WAIT (RFC 9293 §3.10.7.4), without its buffers. */
export class TimeWait {
  readonly #facts: TimeWaitFacts;
  readonly #challenges = new ChallengeLimit();
  #expiresAt: number;

  constructor(facts: TimeWaitFacts, now: number) {
    this.#facts = facts;
    this.#expiresAt = now + TIME_WAIT;
  }

  /** In milliseconds. */
  get expiresAt(): number {
    return this.#expiresAt;
  }

  /** An initial sequence number for the connection that takes this one's place (RFC 1122 §4.2.2.13). */
  get nextInitialSequence(): number {
    return advance(this.#facts.sendNext, REOPEN_DISTANCE);
  }

  /**
   * Whether a connection that begins on this side may take its place before its time is over: with
   * timestamps, when those of both sides have moved on, what is left of the last one is told apart as old
   * (RFC 6191, RFC 7323 §5.5). Where it may not, only `nextInitialSequence` keeps them apart.
   */
  mayFollow(now: number): boolean {
    return this.#facts.timestamps && now - (this.#expiresAt - TIME_WAIT) >= REUSE_DELAY;
  }

  segmentArrives(segment: TcpSegment, now: number): TimeWaitVerdict {
    const { receiveNext } = this.#facts;
    const { flags } = segment;
    if ((flags & TcpFlag.RST) !== 0) {
      // RFC 5961 §3.2: only the exact number. There is no window in which a challenge would help.
      return segment.sequence === receiveNext ? 'closed' : 'ignored';
    }
    if ((flags & TcpFlag.SYN) !== 0) {
      if ((flags & TcpFlag.ACK) === 0 && this.#isNewer(segment, now)) return 'reopen';
      return this.#challenges.take(now) ? 'acknowledge' : 'ignored';
    }
    if ((flags & TcpFlag.FIN) !== 0) {
      const end = advance(segment.sequence, segment.payloadEnd - segment.payload + 1);
      if (end === receiveNext) {
        this.#expiresAt = now + TIME_WAIT;
        return 'restart';
      }
    }
    // An ACK of our last ACK (simultaneous close) needs no response; what lies outside of the window does.
    if (segment.sequence === receiveNext && segment.payload === segment.payloadEnd)
      return 'ignored';
    return this.#challenges.takeStray(now) ? 'acknowledge' : 'ignored';
  }

  /** Writes the ACK of everything. @returns false when the output has no room: it is not sent later. */
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

  /** RFC 6191 §2: a later timestamp, or the same and a later sequence number; without, the latter alone. */
  #isNewer(segment: TcpSegment, now: number): boolean {
    const { receiveNext, timestamps, recentTimestamp, recentTimestampAt } = this.#facts;
    const isLater = distance(receiveNext, segment.sequence) > 0;
    if (!timestamps || !segment.hasTimestamps) return isLater;
    if (now - recentTimestampAt >= TIMESTAMP_LIFETIME) return isLater;
    const age = distance(recentTimestamp, segment.timestamp);
    return age > 0 || (age === 0 && isLater);
  }
}
