import type { SendControl } from '@weir/congestion';
import { NamedDeadlines } from '@weir/base/timers';
import { MAX_UNSCALED_WINDOW } from '../limits.ts';
import type { Trace } from '../trace.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import { DelayedAcks, RejectedSegments } from './acknowledgments.ts';
import { NegotiatedOptions, SynRetransmission } from './handshake.ts';
import { PeerProbes } from './peer-probes.ts';
import { ReceiveBuffer } from './receive-buffer.ts';
import { Recovery } from './recovery/recovery.ts';
import type { TcpPath } from './segment-output.ts';
import { SendBuffer } from './send-buffer.ts';
import { SequenceSpace, Timestamps } from './sequence.ts';
import {
  type Deadlines,
  EventFlags,
  mayGo,
  TCP_DEADLINES,
  type TcpFailure,
  type TcpState,
} from './state.ts';
import { TimeWait } from './time-wait.ts';

/** The state of the memory that all connections of a stack share. */
interface SharedMemory {
  /** Whether there is enough memory for larger buffers. */
  readonly mayGrow: boolean;
  /** Whether the memory is used up: each connection is then limited to `LEAST_BUFFER` in each direction. */
  readonly isShort: boolean;
}

/** The shared memory of connections without a bound. */
const ENOUGH_MEMORY: SharedMemory = { mayGrow: true, isShort: false };

export interface TcpSettings {
  /** Milliseconds without a segment of the peer until the first keep-alive probe; 0 for no probes. */
  readonly keepAlive: number;
  /** The largest receive window in bytes. */
  readonly receiveBuffer: number;
  /** Whether segments are paced over the round trip. Not useful towards a local device. */
  readonly isPaced: boolean;
  /** The shared memory; unbounded by default. */
  readonly memory?: SharedMemory | undefined;
}

/** Options of a new connection. */
export interface TcpConnectionOptions {
  readonly role: 'active' | 'passive';
  /** The ISS; see `InitialSequences`. */
  readonly initialSequence: number;
  /** The offset added to the clock in timestamps (RFC 7323 §5.4); see `InitialSequences`. */
  readonly timestampOffset: number;
  readonly path: TcpPath;
  readonly settings: TcpSettings;
  /** The congestion control, used by this connection only. */
  readonly control: SendControl;
  readonly trace: Trace | undefined;
  readonly now: number;
}

/** The RST that the next `transmit` sends, if one is due. */
class PendingReset {
  isDue = false;
  sequence = 0;
  /** SEG.ACK of the RST; `undefined` for a RST without the ACK flag. */
  acknowledgment: number | undefined;

  /** Sets <SEQ=SEG.ACK><CTL=RST>: the segment acknowledges data that was never sent. */
  inReplyTo(segment: TcpSegment): void {
    this.isDue = true;
    this.sequence = segment.acknowledgment;
    this.acknowledgment = undefined;
  }

  /** Sets <SEQ=SND.NXT><ACK=RCV.NXT><CTL=RST,ACK>: this side ends the connection. */
  toPeer(sequence: number, acknowledgment: number): void {
    this.isDue = true;
    this.sequence = sequence;
    this.acknowledgment = acknowledgment;
  }

  onSent(): void {
    this.isDue = false;
  }
}

/**
 * The transmission control block (RFC 9293 §3.3.1): the state of a connection, its buffers, timers and retransmission
 * queue, what is to be sent, and the variables of both directions under the RFC's names. The variables are offsets in
 * the streams, see `SequenceSpace`: the SYN is -1, the FIN counts as one byte.
 */
export class Tcb {
  readonly trace: Trace | undefined;
  readonly memory: SharedMemory;
  readonly options: NegotiatedOptions;
  readonly timestamps: Timestamps;
  readonly sendBuffer = new SendBuffer();
  readonly receiveBuffer: ReceiveBuffer;
  /** The retransmission queue. */
  readonly recovery: Recovery;
  readonly deadlines: Deadlines = new NamedDeadlines(TCP_DEADLINES);
  readonly events = new EventFlags();
  readonly syn: SynRetransmission;
  readonly probes: PeerProbes;
  readonly acks: DelayedAcks;
  readonly rejected: RejectedSegments;
  readonly reset = new PendingReset();

  #state: TcpState;
  #failure: TcpFailure | undefined;
  #timeWait: TimeWait | undefined;

  /** Sequence numbers of this side, from ISS. */
  readonly sendSpace: SequenceSpace;
  /** SND.UNA + SND.WND: the right edge of the peer's window. */
  sndEdge = 0;
  /** MAX.SND.WND (RFC 5961 §5.2). */
  maxSndWnd = 0;
  /** SND.WL1 and SND.WL2: SEG.SEQ and SEG.ACK of the last window update. */
  sndWl1 = -1;
  sndWl2 = -1;
  /** Whether CLOSE was called (§3.10.4): the FIN follows the data in the send buffer. */
  isFinQueued = false;

  /** Sequence numbers of the peer, from IRS; not valid before its SYN. */
  receiveSpace = new SequenceSpace(0);
  /** The offset of the peer's FIN; Infinity until it arrives. */
  rcvFin = Infinity;
  /** Whether RCV.NXT is beyond the peer's FIN. */
  isFinReceived = false;
  /** Last.ACK.sent (RFC 7323 §4.3). */
  lastAckSent = 0;

  constructor(options: TcpConnectionOptions) {
    const { role, control, settings, now, trace } = options;
    const { deadlines } = this;
    this.trace = trace;
    this.memory = settings.memory ?? ENOUGH_MEMORY;
    this.options = new NegotiatedOptions(options.path);
    this.timestamps = new Timestamps(options.timestampOffset);
    this.sendSpace = new SequenceSpace(options.initialSequence);
    this.receiveBuffer = new ReceiveBuffer(now, settings.receiveBuffer);
    if (this.memory.isShort) this.receiveBuffer.window.shrink();
    this.recovery = new Recovery(control, this.options.mss, settings.isPaced, trace);
    this.syn = new SynRetransmission(role, deadlines);
    this.probes = new PeerProbes(deadlines, settings.keepAlive, trace, now);
    this.acks = new DelayedAcks(deadlines);
    this.rejected = new RejectedSegments(this.acks, trace);
    this.#state = role === 'active' ? 'SYN-SENT' : 'LISTEN';
  }

  /** The state of the connection (§3.3.2). */
  get state(): TcpState {
    return this.#state;
  }

  /** The reason why the connection ended early. */
  get failure(): TcpFailure | undefined {
    return this.#failure;
  }

  /** The state in TIME-WAIT, kept afterwards. */
  get timeWait(): TimeWait | undefined {
    return this.#timeWait;
  }

  /** Enters a state; no effect if figure 5 has no such transition. CLOSED ends all timers. */
  enter(to: TcpState, now: number): void {
    const from = this.#state;
    if (!mayGo(from, to)) return;
    this.#state = to;
    if (this.trace !== undefined) this.trace({ kind: 'state', from, to }, now);
    if (to !== 'CLOSED') return;
    this.deadlines.clearAll();
    if (from !== 'TIME-WAIT') this.events.raise('closed');
  }

  /** Enters CLOSED because of a failure; unacknowledged data is discarded. */
  fail(failure: TcpFailure, now: number): void {
    if (this.#state === 'CLOSED') return;
    this.#failure = failure;
    this.events.raise('failed');
    this.sendBuffer.clear();
    this.enter('CLOSED', now);
  }

  enterTimeWait(now: number): void {
    const { timestamps } = this;
    const facts = {
      sendNext: this.sendSpace.sequence(this.recovery.sndNxt),
      receiveNext: this.receiveSpace.sequence(this.rcvNxt),
      window: this.announceWindow(),
      timestamps: timestamps.enabled,
      timestampOffset: timestamps.offset,
      recentTimestamp: timestamps.recent,
      recentTimestampAt: timestamps.recentAt,
    };
    this.enter('TIME-WAIT', now);
    this.deadlines.clearAll();
    this.#timeWait = new TimeWait(facts, now);
    this.restartTimeWait();
    this.events.raise('closed');
  }

  /** Applies a change of the 2 MSL timeout of `timeWait`. */
  restartTimeWait(): void {
    if (this.#timeWait !== undefined) this.deadlines.set('close', this.#timeWait.expiresAt);
  }

  /** RCV.NXT. */
  get rcvNxt(): number {
    return this.receiveBuffer.received + (this.isFinReceived ? 1 : 0);
  }

  /** The end of the data queued for sending, FIN included. */
  get sendEnd(): number {
    return this.sendBuffer.end + (this.isFinQueued ? 1 : 0);
  }

  /** Whether this side's FIN has been acknowledged. */
  get isFinAcknowledged(): boolean {
    return this.isFinQueued && this.recovery.sndUna > this.sendBuffer.end;
  }

  /** Whether SND.UNA < SND.NXT. */
  get isAwaitingAck(): boolean {
    return this.recovery.sndNxt > this.recovery.sndUna;
  }

  /** Sets IRS, the options and SND.WND from the peer's SYN. Data in a SYN is ignored: the peer retransmits it. */
  onSyn(segment: TcpSegment, now: number): void {
    const { options, timestamps } = this;
    this.receiveSpace = new SequenceSpace(segment.sequence);
    options.onSyn(segment);
    timestamps.enabled = options.timestamps;
    timestamps.recent = segment.timestamp;
    timestamps.recentAt = now;
    // A larger window could never be announced, and its update would be due with every segment.
    if (!options.isScaled) this.receiveBuffer.window.limit(MAX_UNSCALED_WINDOW);
    // The window of a SYN is never scaled (RFC 7323 §2.2).
    this.sndEdge = segment.window;
    this.maxSndWnd = segment.window;
    this.sndWl1 = -1;
    this.sndWl2 = -1;
  }

  /** Returns the window field of the next segment, unless that is a SYN. Sets RCV.WND accordingly. */
  announceWindow(): number {
    const { options, receiveBuffer } = this;
    return receiveBuffer.announce(options.announcedMss, options.receiveScale);
  }
}
