import { TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import type { TcpParts } from '../tcp-parts.ts';
import { processAck } from './process-ack.ts';
import { processText } from './process-text.ts';

const { FIN, SYN, RST, ACK } = TcpFlag;

/**
 * SEGMENT ARRIVES: RFC 9293 §3.10.7 in its order, for every state, with the stricter checks of RFC 5961 and with PAWS
 * (RFC 7323 §5). Sends nothing itself: ACKs and RSTs become due and are sent with the next `transmit`.
 *
 * SEG.SEQ, SEG.ACK and the variables of the TCB are offsets in the streams, see `SequenceSpace`.
 */
export class SegmentArrives {
  readonly #parts: TcpParts;

  constructor(parts: TcpParts) {
    this.#parts = parts;
  }

  arrives(segment: TcpSegment, now: number): void {
    const { state } = this.#parts.machine;
    switch (state) {
      // §3.10.7.1: the segment is discarded. The stack answers segments without a connection.
      case 'CLOSED':
        break;
      case 'LISTEN':
        this.#inListen(segment, now);
        break;
      case 'SYN-SENT':
        this.#inSynSent(segment, now);
        break;
      case 'SYN-RECEIVED':
        if (this.#parts.syn.isSent) this.#inOtherStates(segment, now);
        else this.#beforeSynAck(segment, now);
        break;
      case 'TIME-WAIT':
        this.#inTimeWait(segment, now);
        break;
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        this.#inOtherStates(segment, now);
        break;
      default:
        state satisfies never;
    }
  }

  // ---- §3.10.7.2: LISTEN ----

  #inListen(segment: TcpSegment, now: number): void {
    const { flags } = segment;
    // First: a RST is ignored, since nothing was sent that it could answer.
    if ((flags & RST) !== 0) this.#parts.rejected.drop('reset', segment, now);
    // Second: any ACK is bad, and is answered with <SEQ=SEG.ACK><CTL=RST>.
    else if ((flags & ACK) !== 0) this.#parts.reset.inReplyTo(segment);
    // Fourth: anything else without a SYN is dropped.
    else if ((flags & SYN) === 0) this.#parts.rejected.drop('no-acknowledgment', segment, now);
    else {
      // Third: a SYN sets IRS and RCV.NXT; the SYN-ACK waits until the connection is accepted.
      this.#takeSyn(segment, now);
      this.#parts.machine.enter('SYN-RECEIVED', now);
      if (this.#parts.syn.isAccepted) this.#parts.syn.isDue = true;
      else this.#parts.events.raise('requested');
    }
  }

  /** Handles a segment in SYN-RECEIVED before the SYN-ACK was sent, a state that to the client is LISTEN. */
  #beforeSynAck(segment: TcpSegment, now: number): void {
    const { receiveSpace } = this.#parts.tcb;
    const { flags } = segment;
    if ((flags & RST) !== 0) {
      // The client withdraws its SYN: only the exact RCV.NXT is valid (RFC 5961 §3.2).
      if (segment.sequence === receiveSpace.sequence(0)) this.#parts.machine.fail('refused', now);
      else this.#parts.rejected.drop('reset', segment, now);
    } else if ((flags & ACK) !== 0) this.#parts.reset.inReplyTo(segment);
    else if ((flags & SYN) !== 0 && segment.sequence !== receiveSpace.initial) {
      // Another ISN is another connection of a client that has given up the first.
      this.#takeSyn(segment, now);
    } else this.#parts.rejected.drop('state', segment, now);
  }

  // ---- §3.10.7.3: SYN-SENT ----

  #inSynSent(segment: TcpSegment, now: number): void {
    const { flags } = segment;
    const hasAck = (flags & ACK) !== 0;
    // First: if SEG.ACK =< ISS or SEG.ACK > SND.NXT, send <SEQ=SEG.ACK><CTL=RST>, unless it is a RST.
    if (hasAck) {
      const isAcceptable =
        this.#parts.syn.isSent && segment.acknowledgment === this.#parts.tcb.sendSpace.sequence(0);
      if (!isAcceptable) {
        if ((flags & RST) === 0) this.#parts.reset.inReplyTo(segment);
        this.#parts.rejected.drop('acknowledgment', segment, now);
        return;
      }
    }
    // Second: a RST with an acceptable ACK refuses the connection; without an ACK it is dropped.
    if ((flags & RST) !== 0) {
      if (hasAck) this.#parts.machine.fail('refused', now);
      else this.#parts.rejected.drop('reset', segment, now);
      return;
    }
    // Fifth: neither SYN nor RST is dropped.
    if ((flags & SYN) === 0) {
      this.#parts.rejected.drop('state', segment, now);
      return;
    }
    // Fourth: a SYN sets IRS and RCV.NXT. If it acknowledges ours the connection is ESTABLISHED, and an ACK is
    // sent; text that comes with it is processed from step seven on.
    this.#takeSyn(segment, now);
    if (hasAck) {
      this.#establish(now);
      this.#parts.acks.require();
      processText(this.#parts, segment, 0, now);
    } else {
      // Simultaneous open (§3.5, figure 8): the SYN-ACK is sent in place of the SYN.
      this.#parts.machine.enter('SYN-RECEIVED', now);
      this.#parts.syn.isDue = true;
    }
  }

  #takeSyn(segment: TcpSegment, now: number): void {
    this.#parts.tcb.onSyn(segment, now);
    this.#parts.probes.onHeard(now);
  }

  /** Enters ESTABLISHED: the SYN of this side is acknowledged. */
  #establish(now: number): void {
    const { options, recovery, receiveBuffer } = this.#parts.tcb;
    this.#parts.machine.enter('ESTABLISHED', now);
    recovery.start(options.sack, options.mss);
    const roundTrip = this.#parts.syn.onAcknowledged(now);
    recovery.onHandshake(roundTrip, now);
    if (roundTrip !== undefined) receiveBuffer.window.onRoundTrip(roundTrip);
    this.#parts.probes.onEstablished(now);
    this.#parts.events.raise('established');
  }

  // ---- §3.10.7.4: other states ----

  #inTimeWait(segment: TcpSegment, now: number): void {
    const machine = this.#parts.machine;
    const verdict = machine.timeWait?.segmentArrives(segment, now) ?? 'ignored';
    switch (verdict) {
      // Eighth: the peer's FIN again. Acknowledge it, and restart the 2 MSL timeout.
      case 'restart':
        machine.restartTimeWait();
        this.#parts.acks.require();
        break;
      case 'acknowledge':
        this.#parts.acks.require();
        break;
      case 'closed':
        machine.enter('CLOSED', now);
        break;
      case 'ignored':
      case 'reopen': // By the stack, which creates another connection.
        break;
      default:
        verdict satisfies never;
    }
  }

  #inOtherStates(segment: TcpSegment, now: number): void {
    const tcb = this.#parts.tcb;
    const { timestamps } = tcb;
    const { flags } = segment;
    const { rcvNxt } = tcb;
    let segSeq = tcb.receiveSpace.offset(segment.sequence, rcvNxt);

    // First, check SEG.SEQ. PAWS comes before; a RST MUST NOT be subjected to it (RFC 7323 §5.2).
    if (timestamps.enabled && (flags & RST) === 0) {
      // After the negotiation a segment without timestamps is dropped silently (RFC 7323 §3.2).
      if (!segment.hasTimestamps) {
        this.#parts.rejected.drop('timestamp', segment, now);
        return;
      }
      // An old duplicate is not acceptable: an ACK is sent in reply (RFC 7323 §5.3 R1).
      if (timestamps.isOld(segment.timestamp, now)) {
        this.#parts.rejected.unacceptable('timestamp', segment, now);
        return;
      }
    }
    if (segSeq === -1 && this.#parts.machine.state === 'SYN-RECEIVED' && (flags & SYN) !== 0) {
      if ((flags & ACK) === 0) {
        // The client retransmits its SYN, so the SYN-ACK was lost and is sent again.
        if (this.#parts.rejected.mayRepeatSynAck(now)) this.#parts.syn.isDue = true;
        return;
      }
      // Simultaneous open (§3.5, figure 8): the SYN of the peer's SYN-ACK is known, its ACK is new.
      segSeq = 0;
      this.#parts.acks.require();
    } else {
      // An unacceptable segment is dropped; an ACK is sent in reply, unless it is a RST. At the right edge an
      // ACK and a RST are acceptable although the window is closed (MUST-66), text is not.
      const segLen = segment.payloadEnd - segment.payload + ((flags & FIN) === 0 ? 0 : 1);
      const isAcceptable =
        segSeq <= tcb.receiveBuffer.window.edge &&
        (segLen === 0 ? segSeq >= rcvNxt : segSeq + segLen > rcvNxt);
      if (!isAcceptable) {
        this.#outsideOfWindow(segment, segSeq, rcvNxt, now);
        return;
      }
      // Second, check RST. If SEG.SEQ = RCV.NXT the connection MUST be reset; elsewhere in the window a
      // challenge ACK MUST be sent (RFC 5961 §3.2).
      if ((flags & RST) !== 0) {
        if (segSeq === rcvNxt) this.#resetByPeer(now);
        else this.#parts.rejected.challenge('reset', segment, now);
        return;
      }
      // Third, check security: obsolete. Fourth, check SYN: a challenge ACK MUST be sent (RFC 5961 §4.2).
      if ((flags & SYN) !== 0) {
        this.#parts.rejected.challenge('syn', segment, now);
        return;
      }
    }

    // Fifth, check ACK: a segment without it is dropped.
    if ((flags & ACK) === 0) {
      this.#parts.rejected.drop('no-acknowledgment', segment, now);
      return;
    }
    const { sndUna, sndNxt } = tcb.recovery;
    const segAck = tcb.sendSpace.offset(segment.acknowledgment, sndUna);
    if (this.#parts.machine.state === 'SYN-RECEIVED') {
      // If SND.UNA < SEG.ACK =< SND.NXT the connection is ESTABLISHED, else send <SEQ=SEG.ACK><CTL=RST>.
      if (segAck !== 0) {
        this.#parts.reset.inReplyTo(segment);
        this.#parts.rejected.drop('acknowledgment', segment, now);
        return;
      }
      this.#establish(now);
    } else if (segAck > sndNxt || segAck < sndUna - tcb.maxSndWnd) {
      // Unless (SND.UNA - MAX.SND.WND) =< SEG.ACK =< SND.NXT the segment MUST be discarded, and an ACK sent
      // back (RFC 5961 §5.2).
      this.#parts.rejected.challenge('acknowledgment', segment, now);
      return;
    }
    this.#parts.probes.onHeard(now);
    // If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, SEG.TSval is saved (RFC 7323 §4.3).
    if (timestamps.enabled && segSeq <= tcb.lastAckSent) timestamps.update(segment.timestamp, now);
    processAck(this.#parts, segment, segSeq, segAck, now);
    const { state } = this.#parts.machine;
    if (state === 'CLOSED' || state === 'TIME-WAIT') return;

    // Sixth, check URG: urgent data is treated as any other (§3.8.5).
    // Seventh, process the segment text; eighth, check FIN.
    processText(this.#parts, segment, segSeq, now);
  }

  #outsideOfWindow(segment: TcpSegment, segSeq: number, rcvNxt: number, now: number): void {
    if ((segment.flags & RST) !== 0) {
      // Some systems (macOS) reset with the number of their FIN instead of the next one.
      if (this.#parts.tcb.isFinReceived && segSeq === rcvNxt - 1) this.#resetByPeer(now);
      else this.#parts.rejected.drop('reset', segment, now);
    } else if ((segment.flags & SYN) !== 0) this.#parts.rejected.challenge('syn', segment, now);
    else this.#parts.rejected.unacceptable('sequence', segment, now);
  }

  /**
   * Handles a valid RST. SYN-RECEIVED: the connection is refused. CLOSING, LAST-ACK: CLOSED, as both streams are
   * complete and only the ACK of the FIN is missing. Others: the connection is reset, and queued data discarded.
   */
  #resetByPeer(now: number): void {
    const { recovery, sendBuffer } = this.#parts.tcb;
    const machine = this.#parts.machine;
    const { state } = machine;
    const isClosing = state === 'CLOSING' || state === 'LAST-ACK';
    if (state === 'SYN-RECEIVED') machine.fail('refused', now);
    else if (isClosing && recovery.sndUna >= sendBuffer.end) machine.enter('CLOSED', now);
    else machine.fail('reset', now);
  }
}
