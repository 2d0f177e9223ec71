import { TcpFlag, type TcpSegment, MAX_SACK_BLOCKS } from '../wire/tcp.ts';
import type { ReceivedAck } from './recovery/sack-scoreboard.ts';
import type { Tcb } from './tcb.ts';

const { FIN, SYN, RST, ACK } = TcpFlag;

/**
 * Performs SEGMENT ARRIVES: RFC 9293 §3.10.7 in its order, for every state, with the stricter checks of RFC 5961 and
 * with PAWS (RFC 7323 §5). Sends nothing itself: ACKs and RSTs become due and are sent with the next `transmit`.
 *
 * SEG.SEQ, SEG.ACK and the variables of the TCB are offsets in the streams, see `SequenceSpace`.
 */
export function segmentArrives(tcb: Tcb, segment: TcpSegment, now: number): void {
  const { state } = tcb;
  switch (state) {
    // §3.10.7.1: the segment is discarded. The stack responds to segments without a connection.
    case 'CLOSED':
      break;
    case 'LISTEN':
      inListen(tcb, segment, now);
      break;
    case 'SYN-SENT':
      inSynSent(tcb, segment, now);
      break;
    case 'SYN-RECEIVED':
      if (tcb.syn.isSent) inOtherStates(tcb, segment, now);
      else beforeSynAck(tcb, segment, now);
      break;
    case 'TIME-WAIT':
      inTimeWait(tcb, segment, now);
      break;
    case 'ESTABLISHED':
    case 'FIN-WAIT-1':
    case 'FIN-WAIT-2':
    case 'CLOSE-WAIT':
    case 'CLOSING':
    case 'LAST-ACK':
      inOtherStates(tcb, segment, now);
      break;
    default:
      state satisfies never;
  }
}

// ---- §3.10.7.2: LISTEN ----

function inListen(tcb: Tcb, segment: TcpSegment, now: number): void {
  const { flags } = segment;
  // First: a RST is ignored, since nothing was sent to which it could respond.
  if ((flags & RST) !== 0) tcb.rejected.drop('reset', segment, now);
  // Second: any ACK is bad, and the response is <SEQ=SEG.ACK><CTL=RST>.
  else if ((flags & ACK) !== 0) tcb.reset.inReplyTo(segment);
  // Fourth: anything else without a SYN is dropped.
  else if ((flags & SYN) === 0) tcb.rejected.drop('no-acknowledgment', segment, now);
  else {
    // Third: a SYN sets IRS and RCV.NXT; the SYN-ACK waits until the connection is accepted.
    takeSyn(tcb, segment, now);
    tcb.enter('SYN-RECEIVED', now);
    if (tcb.syn.isAccepted) tcb.syn.isDue = true;
    else tcb.events.raise('requested');
  }
}

/** Handles a segment in SYN-RECEIVED before the SYN-ACK was sent, a state that to the client is LISTEN. */
function beforeSynAck(tcb: Tcb, segment: TcpSegment, now: number): void {
  const { receiveSpace } = tcb;
  const { flags } = segment;
  if ((flags & RST) !== 0) {
    // The client withdraws its SYN: only the exact RCV.NXT is valid (RFC 5961 §3.2).
    if (segment.sequence === receiveSpace.sequence(0)) tcb.fail('refused', now);
    else tcb.rejected.drop('reset', segment, now);
  } else if ((flags & ACK) !== 0) tcb.reset.inReplyTo(segment);
  else if ((flags & SYN) !== 0 && segment.sequence !== receiveSpace.initial) {
    // Another ISN is another connection of a client that has given up the first.
    takeSyn(tcb, segment, now);
  } else tcb.rejected.drop('state', segment, now);
}

// ---- §3.10.7.3: SYN-SENT ----

function inSynSent(tcb: Tcb, segment: TcpSegment, now: number): void {
  const { flags } = segment;
  const hasAck = (flags & ACK) !== 0;
  // First: if SEG.ACK =< ISS or SEG.ACK > SND.NXT, send <SEQ=SEG.ACK><CTL=RST>, unless it is a RST.
  if (hasAck) {
    const isAcceptable = tcb.syn.isSent && segment.acknowledgment === tcb.sendSpace.sequence(0);
    if (!isAcceptable) {
      if ((flags & RST) === 0) tcb.reset.inReplyTo(segment);
      tcb.rejected.drop('acknowledgment', segment, now);
      return;
    }
  }
  // Second: a RST with an acceptable ACK refuses the connection; without an ACK it is dropped.
  if ((flags & RST) !== 0) {
    if (hasAck) tcb.fail('refused', now);
    else tcb.rejected.drop('reset', segment, now);
    return;
  }
  // Fifth: neither SYN nor RST is dropped.
  if ((flags & SYN) === 0) {
    tcb.rejected.drop('state', segment, now);
    return;
  }
  // Fourth: a SYN sets IRS and RCV.NXT. If it acknowledges ours the connection is ESTABLISHED, and an ACK is
  // sent; text that comes with it is processed from step seven on.
  takeSyn(tcb, segment, now);
  if (hasAck) {
    establish(tcb, now);
    tcb.acks.require();
    processText(tcb, segment, 0, now);
  } else {
    // Simultaneous open (§3.5, figure 8): the SYN-ACK is sent in place of the SYN.
    tcb.enter('SYN-RECEIVED', now);
    tcb.syn.isDue = true;
  }
}

function takeSyn(tcb: Tcb, segment: TcpSegment, now: number): void {
  tcb.onSyn(segment, now);
  tcb.probes.onHeard(now);
}

/** Enters ESTABLISHED: the SYN of this side is acknowledged. */
function establish(tcb: Tcb, now: number): void {
  const { options, recovery, receiveBuffer } = tcb;
  tcb.enter('ESTABLISHED', now);
  recovery.start(options.sack, options.mss);
  const roundTrip = tcb.syn.onAcknowledged(now);
  recovery.onHandshake(roundTrip, now);
  if (roundTrip !== undefined) receiveBuffer.window.onRoundTrip(roundTrip);
  tcb.probes.onEstablished(now);
  tcb.events.raise('established');
}

// ---- §3.10.7.4: other states ----

function inTimeWait(tcb: Tcb, segment: TcpSegment, now: number): void {
  const verdict = tcb.timeWait?.segmentArrives(segment, now) ?? 'ignored';
  switch (verdict) {
    // Eighth: the peer's FIN again. Acknowledge it, and restart the 2 MSL timeout.
    case 'restart':
      tcb.restartTimeWait();
      tcb.acks.require();
      break;
    case 'acknowledge':
      tcb.acks.require();
      break;
    case 'closed':
      tcb.enter('CLOSED', now);
      break;
    case 'ignored':
    case 'reopen': // By the stack, which creates another connection.
      break;
    default:
      verdict satisfies never;
  }
}

function inOtherStates(tcb: Tcb, segment: TcpSegment, now: number): void {
  const { timestamps } = tcb;
  const { flags } = segment;
  const { rcvNxt } = tcb;
  let segSeq = tcb.receiveSpace.offset(segment.sequence, rcvNxt);

  // First, check SEG.SEQ. PAWS comes before; a RST MUST NOT be subjected to it (RFC 7323 §5.2).
  if (timestamps.enabled && (flags & RST) === 0) {
    // After the negotiation a segment without timestamps is dropped silently (RFC 7323 §3.2).
    if (!segment.hasTimestamps) {
      tcb.rejected.drop('timestamp', segment, now);
      return;
    }
    // An old duplicate is not acceptable: an ACK is sent in reply (RFC 7323 §5.3 R1).
    if (timestamps.isOld(segment.timestamp, now)) {
      tcb.rejected.unacceptable('timestamp', segment, now);
      return;
    }
  }
  if (segSeq === -1 && tcb.state === 'SYN-RECEIVED' && (flags & SYN) !== 0) {
    if ((flags & ACK) === 0) {
      // The client retransmits its SYN, so the SYN-ACK was lost and is sent again.
      if (tcb.rejected.mayRepeatSynAck(now)) tcb.syn.isDue = true;
      return;
    }
    // Simultaneous open (§3.5, figure 8): the SYN of the peer's SYN-ACK is known, its ACK is new.
    segSeq = 0;
    tcb.acks.require();
  } else {
    // An unacceptable segment is dropped; an ACK is sent in reply, unless it is a RST. At the right edge an
    // ACK and a RST are acceptable although the window is closed (MUST-66), text is not.
    const segLen = segment.payloadEnd - segment.payload + ((flags & FIN) === 0 ? 0 : 1);
    const isAcceptable =
      segSeq <= tcb.receiveBuffer.window.edge &&
      (segLen === 0 ? segSeq >= rcvNxt : segSeq + segLen > rcvNxt);
    if (!isAcceptable) {
      outsideOfWindow(tcb, segment, segSeq, rcvNxt, now);
      return;
    }
    // Second, check RST. If SEG.SEQ = RCV.NXT the connection MUST be reset; elsewhere in the window a
    // challenge ACK MUST be sent (RFC 5961 §3.2).
    if ((flags & RST) !== 0) {
      if (segSeq === rcvNxt) resetByPeer(tcb, now);
      else tcb.rejected.challenge('reset', segment, now);
      return;
    }
    // Third, check security: obsolete. Fourth, check SYN: a challenge ACK MUST be sent (RFC 5961 §4.2).
    if ((flags & SYN) !== 0) {
      tcb.rejected.challenge('syn', segment, now);
      return;
    }
  }

  // Fifth, check ACK: a segment without it is dropped.
  if ((flags & ACK) === 0) {
    tcb.rejected.drop('no-acknowledgment', segment, now);
    return;
  }
  const { sndUna, sndNxt } = tcb.recovery;
  const segAck = tcb.sendSpace.offset(segment.acknowledgment, sndUna);
  if (tcb.state === 'SYN-RECEIVED') {
    // If SND.UNA < SEG.ACK =< SND.NXT the connection is ESTABLISHED, else send <SEQ=SEG.ACK><CTL=RST>.
    if (segAck !== 0) {
      tcb.reset.inReplyTo(segment);
      tcb.rejected.drop('acknowledgment', segment, now);
      return;
    }
    establish(tcb, now);
  } else if (segAck > sndNxt || segAck < sndUna - tcb.maxSndWnd) {
    // Unless (SND.UNA - MAX.SND.WND) =< SEG.ACK =< SND.NXT the segment MUST be discarded, and an ACK sent
    // back (RFC 5961 §5.2).
    tcb.rejected.challenge('acknowledgment', segment, now);
    return;
  }
  tcb.probes.onHeard(now);
  // If SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent, SEG.TSval is saved (RFC 7323 §4.3).
  if (timestamps.enabled && segSeq <= tcb.lastAckSent) timestamps.update(segment.timestamp, now);
  processAck(tcb, segment, segSeq, segAck, now);
  const { state } = tcb;
  if (state === 'CLOSED' || state === 'TIME-WAIT') return;

  // Sixth, check URG: urgent data is treated as any other (§3.8.5).
  // Seventh, process the segment text; eighth, check FIN.
  processText(tcb, segment, segSeq, now);
}

function outsideOfWindow(
  tcb: Tcb,
  segment: TcpSegment,
  segSeq: number,
  rcvNxt: number,
  now: number,
): void {
  if ((segment.flags & RST) !== 0) {
    // Some systems (macOS) reset with the number of their FIN instead of the next one.
    if (tcb.isFinReceived && segSeq === rcvNxt - 1) resetByPeer(tcb, now);
    else tcb.rejected.drop('reset', segment, now);
  } else if ((segment.flags & SYN) !== 0) tcb.rejected.challenge('syn', segment, now);
  else tcb.rejected.unacceptable('sequence', segment, now);
}

/**
 * Handles a valid RST. SYN-RECEIVED: the connection is refused. CLOSING, LAST-ACK: CLOSED, as both streams are
 * complete and only the ACK of the FIN is missing. Others: the connection is reset, and queued data discarded.
 */
function resetByPeer(tcb: Tcb, now: number): void {
  const { recovery, sendBuffer } = tcb;
  const { state } = tcb;
  const isClosing = state === 'CLOSING' || state === 'LAST-ACK';
  if (state === 'SYN-RECEIVED') tcb.fail('refused', now);
  else if (isClosing && recovery.sndUna >= sendBuffer.end) tcb.enter('CLOSED', now);
  else tcb.fail('reset', now);
}
/** One record for all connections: none is handled within a call of another. */
const receivedAck: ReceivedAck = {
  offset: 0,
  blocks: new Float64Array(2 * MAX_SACK_BLOCKS),
  blockCount: 0,
  echo: -1,
  isDuplicate: false,
};

/**
 * Performs the fifth step of §3.10.7.4 for an acceptable SEG.ACK: SND.UNA, the send window, and the states of closing.
 */
function processAck(
  tcb: Tcb,
  segment: TcpSegment,
  segSeq: number,
  segAck: number,
  now: number,
): void {
  const { recovery, sendSpace, timestamps, sendBuffer, probes, memory } = tcb;
  const { sndUna } = recovery;
  const wasProbed = probes.isProbingWindow;
  // The window of a SYN-ACK, which only a simultaneous open brings here, is not scaled (RFC 7323 §2.2).
  const scale = (segment.flags & TcpFlag.SYN) === 0 ? tcb.options.sendScale : 0;
  const segWnd = segment.window << scale;
  const echo = timestamps.enabled ? timestamps.sentAt(segment.timestampEcho, now) : -1;
  if (echo >= 0) tcb.receiveBuffer.window.onRoundTrip(now - echo);
  const ack = receivedAck;
  ack.offset = segAck;
  ack.echo = echo;
  ack.isDuplicate =
    segAck === sndUna &&
    tcb.isAwaitingAck &&
    segment.payload === segment.payloadEnd &&
    (segment.flags & TcpFlag.FIN) === 0 &&
    segAck + segWnd === tcb.sndEdge;
  ack.blockCount = tcb.options.sack ? segment.sackCount : 0;
  for (let index = 0; index < 2 * ack.blockCount; index++) {
    ack.blocks[index] = sendSpace.offset(segment.sackBlocks[index] as number, sndUna);
  }
  // If SND.UNA < SEG.ACK =< SND.NXT, set SND.UNA <- SEG.ACK, and remove acknowledged segments from the retransmission
  // queue.
  recovery.onAck(ack, now);

  // If SND.UNA =< SEG.ACK =< SND.NXT, the send window should be updated.
  if (segAck >= sndUna) updateSendWindow(tcb, segWnd, segSeq, segAck);
  if (segAck > sndUna) {
    sendBuffer.acknowledge(segAck);
    if (memory.mayGrow) sendBuffer.follow(recovery.cwnd);
    if (sendBuffer.takeWritable(memory.isShort)) tcb.events.raise('writable');
  }
  if (segAck > sndUna || wasProbed || tcb.sndEdge <= recovery.sndUna) {
    probes.restartUserTimeout(tcb.isAwaitingAck || recovery.isWindowBlocked, now);
  }
  if (tcb.isFinAcknowledged) finAcknowledged(tcb, now);
}

/**
 * Updates the send window: if SND.WL1 < SEG.SEQ, or SND.WL1 = SEG.SEQ and SND.WL2 =< SEG.ACK, sets SND.WND, SND.WL1 and
 * SND.WL2.
 */
function updateSendWindow(tcb: Tcb, segWnd: number, segSeq: number, segAck: number): void {
  const isNewer = tcb.sndWl1 < segSeq || (tcb.sndWl1 === segSeq && tcb.sndWl2 <= segAck);
  if (!isNewer) return;
  const edge = segAck + segWnd;
  if (edge > tcb.sndEdge) tcb.probes.onWindowOpened();
  tcb.sndEdge = edge;
  tcb.sndWl1 = segSeq;
  tcb.sndWl2 = segAck;
  if (segWnd > tcb.maxSndWnd) tcb.maxSndWnd = segWnd;
}

/**
 * Changes the state when the FIN is acknowledged: FIN-WAIT-1 enters FIN-WAIT-2, CLOSING enters TIME-WAIT, LAST-ACK
 * enters CLOSED.
 */
function finAcknowledged(tcb: Tcb, now: number): void {
  const { state } = tcb;
  if (state === 'FIN-WAIT-1') tcb.enter('FIN-WAIT-2', now);
  else if (state === 'CLOSING') tcb.enterTimeWait(now);
  else if (state === 'LAST-ACK') tcb.enter('CLOSED', now);
  else return;
  tcb.events.raise('finished');
}

/** Performs the seventh and eighth step of §3.10.7.4: the segment text, and FIN. */
function processText(tcb: Tcb, segment: TcpSegment, segSeq: number, now: number): void {
  const { acks, receiveBuffer, state } = tcb;
  const hasFin = (segment.flags & TcpFlag.FIN) !== 0;
  const length = segment.payloadEnd - segment.payload;
  if (length === 0 && !hasFin) return;
  if (state !== 'ESTABLISHED' && state !== 'FIN-WAIT-1' && state !== 'FIN-WAIT-2') {
    // CLOSE-WAIT, CLOSING, LAST-ACK: the peer has sent its FIN, the text is ignored.
    acks.require();
    return;
  }
  const size = Math.min(length, tcb.rcvFin - segSeq);
  if (size > 0) insertText(tcb, segment, segSeq, size, now);
  else acks.require();
  if (hasFin) {
    // A FIN beyond the window has to be retransmitted; a second one at another offset is invalid.
    const fin = segSeq + length;
    if (tcb.rcvFin === Infinity && fin <= receiveBuffer.window.edge) tcb.rcvFin = fin;
    acks.require();
  }
  if (tcb.rcvFin <= receiveBuffer.received) finReceived(tcb, now);
}

/** Inserts text: RCV.NXT advances over text in order; text out of order is held (SHLD-31) and acknowledged at once. */
function insertText(
  tcb: Tcb,
  segment: TcpSegment,
  segSeq: number,
  size: number,
  now: number,
): void {
  const { acks, events, receiveBuffer, options } = tcb;
  const { isShort } = tcb.memory;
  const result = receiveBuffer.insert(segSeq, segment.bytes, segment.payload, size, isShort);
  switch (result) {
    case 'in-order':
      acks.onInOrder(size, options.announcedMss, now);
      events.raise('readable');
      break;
    case 'filled':
      acks.require();
      events.raise('readable');
      break;
    case 'out-of-order':
    case 'duplicate':
      acks.onOutOfOrder(options.sack);
      break;
    case 'dropped':
      acks.require();
      tcb.rejected.drop('out-of-order-limit', segment, now);
      break;
    default:
      result satisfies never;
  }
}

/** Handles the peer's FIN: RCV.NXT advances over it, and it is acknowledged. */
function finReceived(tcb: Tcb, now: number): void {
  const { state } = tcb;
  tcb.isFinReceived = true;
  tcb.acks.require();
  tcb.events.raise('end');
  if (state === 'ESTABLISHED') tcb.enter('CLOSE-WAIT', now);
  else if (state === 'FIN-WAIT-1') tcb.enter('CLOSING', now);
  else tcb.enterTimeWait(now);
}
