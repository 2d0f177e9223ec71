import { MAX_UNSCALED_WINDOW } from './limits.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import type { TimeWaitFacts } from './lifecycle/time-wait.ts';
import type { NegotiatedOptions } from './options.ts';
import type { ReceiveBuffer } from './receive/receive-buffer.ts';
import type { Recovery } from './recovery/recovery.ts';
import type { SendBuffer } from './send-buffer.ts';
import { SequenceSpace } from './sequence.ts';
import type { Timestamps } from './timestamps.ts';

/**
 * The transmission control block (RFC 9293 §3.3.1): buffers, the retransmission queue, and the variables of
 * both directions under the RFC's names. The variables are offsets in the streams, see `SequenceSpace`: the
 * SYN is -1, the FIN counts as one byte.
 */
export class Tcb {
  readonly options: NegotiatedOptions;
  readonly timestamps: Timestamps;
  readonly sendBuffer: SendBuffer;
  readonly receiveBuffer: ReceiveBuffer;
  /** The retransmission queue. */
  readonly recovery: Recovery;

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

  constructor(
    initialSequence: number,
    timestamps: Timestamps,
    options: NegotiatedOptions,
    sendBuffer: SendBuffer,
    receiveBuffer: ReceiveBuffer,
    recovery: Recovery,
  ) {
    this.sendSpace = new SequenceSpace(initialSequence);
    this.timestamps = timestamps;
    this.options = options;
    this.sendBuffer = sendBuffer;
    this.receiveBuffer = receiveBuffer;
    this.recovery = recovery;
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

  /** Returns the state that remains of the connection in TIME-WAIT. */
  timeWaitFacts(): TimeWaitFacts {
    const { timestamps } = this;
    return {
      sendNext: this.sendSpace.sequence(this.recovery.sndNxt),
      receiveNext: this.receiveSpace.sequence(this.rcvNxt),
      window: this.announceWindow(),
      timestamps: timestamps.enabled,
      timestampOffset: timestamps.offset,
      recentTimestamp: timestamps.recent,
      recentTimestampAt: timestamps.recentAt,
    };
  }
}
