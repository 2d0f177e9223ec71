import type { SendControl } from '../../congestion/send-control.ts';
import type { SegmentDropReason, Trace } from '../trace.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import { Acknowledgments } from './receive/acknowledgments.ts';
import { ChallengeLimit } from './receive/challenges.ts';
import { NamedDeadlines } from '../../collections/named-deadlines.ts';
import { TCP_DEADLINES, type Deadlines } from './deadlines.ts';
import { EventFlags, type TcpEvent, type TcpFailure } from './events.ts';
import { USER_TIMEOUT } from './limits.ts';
import type { NegotiatedOptions } from './options.ts';
import type { ReceiveBuffer } from './receive/receive-buffer.ts';
import type { Recovery } from './recovery/recovery.ts';
import type { SendBuffer } from './send-buffer.ts';
import { SequenceSpace } from './sequence.ts';
import { mayGo, type TcpState } from './state.ts';
import { TimeWait } from './lifecycle/time-wait.ts';
import type { Timestamps } from './timestamps.ts';

/** A RST that is to leave: in response to an ACK with its number, or with an ACK of everything received. */
export interface DueReset {
  readonly sequence: number;
  /** `undefined`: without the ACK flag. */
  readonly acknowledgment: number | undefined;
}

/** The memory that connections share, as it is at any time. */
export interface SharedMemory {
  /** Whether there is enough for larger buffers. */
  readonly mayGrow: boolean;
  /** Whether it is used up: each connection is held to the least buffers. */
  readonly isShort: boolean;
}

/** Whether a passive connection may be established. */
export type Admission = 'held' | 'accepted';

/**
 * The transmission control block (RFC 9293 §3.3.1): what the parts of one connection share. Positions are
 * offsets in the two streams, see `SequenceSpace`.
 */
export class ControlBlock {
  readonly role: 'active' | 'passive';
  readonly trace: Trace | undefined;
  readonly deadlines: Deadlines = new NamedDeadlines(TCP_DEADLINES);
  readonly acknowledgments = new Acknowledgments(this.deadlines);
  readonly challenges = new ChallengeLimit();
  readonly events = new EventFlags();
  readonly timestamps: Timestamps;
  readonly options: NegotiatedOptions;
  readonly sendBuffer: SendBuffer;
  readonly receiveBuffer: ReceiveBuffer;
  readonly recovery: Recovery;
  readonly control: SendControl;
  /** Of all connections together. */
  memory: SharedMemory = { mayGrow: true, isShort: false };

  /** Sequence numbers of this side, from ISS. */
  readonly own: SequenceSpace;
  /** Those of the peer, from IRS; before its SYN they are of no use. */
  peer = new SequenceSpace(0);

  #state: TcpState;
  admission: Admission;
  failure: TcpFailure | undefined;
  timeWait: TimeWait | undefined;

  /** A SYN, or a SYN-ACK, is to be sent (again). */
  isSynDue = false;
  /** SYNs or SYN-ACKs that were sent. */
  synsSent = 0;
  /** Those of them since the path was restored last, by which the next wait grows. */
  synsUnanswered = 0;
  synSentAt = 0;
  reset: DueReset | undefined;

  /** The application has written everything; FIN is the byte behind the data. */
  isFinQueued = false;
  /** The right edge of the peer's window. */
  windowEdge = 0;
  /** The largest window of the peer so far (MAX.SND.WND). */
  largestWindow = 0;
  /** SND.WL1 and SND.WL2: the segment that the window is from. */
  windowFromSequence = -1;
  windowFromAcknowledgment = -1;
  /** Probes of the window since it opened last, and of a silent peer since its last response. */
  windowProbes = 0;
  keepAliveProbes = 0;
  /** Probes of the window since the peer was heard last. */
  unansweredProbes = 0;
  isProbeDue = false;
  heardAt: number;

  /** Where the peer's FIN is; Infinity as long as it was not seen. */
  peerFin = Infinity;
  isPeerFinReached = false;
  /** There is something new for a SACK option to say. */
  isReportDue = false;
  /** Last.ACK.sent (RFC 7323 §4.3). */
  lastAcknowledged = 0;

  constructor(
    role: 'active' | 'passive',
    initialSequence: number,
    timestamps: Timestamps,
    options: NegotiatedOptions,
    sendBuffer: SendBuffer,
    receiveBuffer: ReceiveBuffer,
    recovery: Recovery,
    control: SendControl,
    trace: Trace | undefined,
    now: number,
  ) {
    this.role = role;
    this.own = new SequenceSpace(initialSequence);
    this.timestamps = timestamps;
    this.options = options;
    this.sendBuffer = sendBuffer;
    this.receiveBuffer = receiveBuffer;
    this.recovery = recovery;
    this.control = control;
    this.trace = trace;
    this.#state = role === 'active' ? 'SYN-SENT' : 'LISTEN';
    this.admission = role === 'active' ? 'accepted' : 'held';
    this.isSynDue = role === 'active';
    this.heardAt = now;
  }

  get state(): TcpState {
    return this.#state;
  }

  /** RCV.NXT as an offset: the FIN counts as one byte. */
  get receiveNext(): number {
    return this.receiveBuffer.received + (this.isPeerFinReached ? 1 : 0);
  }

  /** Where this side's stream ends for now, with its FIN. */
  get sendEnd(): number {
    return this.sendBuffer.end + (this.isFinQueued ? 1 : 0);
  }

  /** Whether this side's FIN has been acknowledged. */
  get isFinAcknowledged(): boolean {
    return this.isFinQueued && this.recovery.acknowledged > this.sendBuffer.end;
  }

  /** Whether anything was sent that the peer has yet to acknowledge. */
  get isAwaiting(): boolean {
    return this.recovery.sent > this.recovery.acknowledged;
  }

  go(to: TcpState, now: number): void {
    const from = this.#state;
    if (!mayGo(from, to)) return;
    this.#state = to;
    if (this.trace !== undefined) this.trace({ kind: 'state', from, to }, now);
    if (to === 'CLOSED') {
      this.deadlines.clearAll();
      this.acknowledgments.clear();
      this.isSynDue = false;
      if (from !== 'TIME-WAIT') this.events.raise('closed');
    }
  }

  /** Ends it: nothing is sent or taken any more, but for a RST that is due. */
  fail(failure: TcpFailure, now: number): void {
    if (this.#state === 'CLOSED') return;
    this.failure = failure;
    this.events.raise('failed');
    this.sendBuffer.clear();
    this.go('CLOSED', now);
  }

  /** The segment is not used, or not as it was meant. */
  drop(reason: SegmentDropReason, segment: TcpSegment, now: number): void {
    if (this.trace === undefined) return;
    const bytes = segment.payloadEnd - segment.payload;
    this.trace({ kind: 'segment-dropped', reason, bytes }, now);
  }

  /** <SEQ=SEG.ACK><CTL=RST> is to leave: the segment acknowledges what was never sent. */
  resetFor(segment: TcpSegment): void {
    this.reset = { sequence: segment.acknowledgment, acknowledgment: undefined };
  }

  /** A RST that says where both streams are is to leave. */
  resetPeer(): void {
    this.reset = {
      sequence: this.own.sequence(this.synsSent > 0 ? this.recovery.sent : -1),
      acknowledgment: this.peer.sequence(this.receiveNext),
    };
  }

  /** See `TcpConnection.nextEvent`. */
  nextEvent(): TcpEvent | undefined {
    if (this.#state === 'TIME-WAIT' || this.#state === 'CLOSED') {
      const isWritten = this.reset === undefined && this.acknowledgments.due === 0;
      return this.events.next(isWritten);
    }
    return this.events.next(true);
  }

  /** The window field of the next segment that is not a SYN. */
  announceWindow(): number {
    const { options, receiveBuffer } = this;
    return receiveBuffer.announce(options.announcedMss, options.receiveScale);
  }

  enterTimeWait(now: number): void {
    const { timestamps, own, peer } = this;
    this.go('TIME-WAIT', now);
    this.deadlines.clearAll();
    this.timeWait = new TimeWait(
      {
        sendNext: own.sequence(this.recovery.sent),
        receiveNext: peer.sequence(this.receiveNext),
        window: this.announceWindow(),
        timestamps: timestamps.enabled,
        timestampOffset: timestamps.offset,
        recentTimestamp: timestamps.recent,
        recentTimestampAt: timestamps.recentAt,
      },
      now,
    );
    this.deadlines.set('close', this.timeWait.expiresAt);
    this.events.raise('closed');
  }

  /**
   * Something was acknowledged, or the peer lives while its window is closed, which it may be for as long
   * as it likes (RFC 9293 §3.8.6.1): the user timeout begins anew.
   */
  restartUserTimeout(now: number): void {
    if (this.isAwaiting || this.recovery.isWindowBlocked) {
      this.deadlines.set('user', now + USER_TIMEOUT);
    } else this.deadlines.clear('user');
  }
}
