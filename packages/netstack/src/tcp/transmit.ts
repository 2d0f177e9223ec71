import { MAX_SACK_BLOCKS, TcpFlag } from '../wire/tcp.ts';
import type { Tcb } from './tcb.ts';
import type { SegmentOutput } from './segment-output.ts';

const { FIN, SYN, RST, PSH, ACK } = TcpFlag;

/** SACK blocks of the segment that is being written. All connections share the array. */
const reported = new Float64Array(2 * MAX_SACK_BLOCKS);
/** SACK blocks that fit into the options beside timestamps (RFC 2018 §3). */
const SACK_BLOCKS_BESIDE_TIMESTAMPS = 3;

/**
 * Writes the segments that a connection may send now: a RST, a SYN, data with its FIN, probes, ACKs; see
 * `TcpConnection.transmit`.
 */
export function transmit(tcb: Tcb, now: number, out: SegmentOutput, budget: number): boolean {
  if (tcb.reset.isDue && !sendReset(tcb, out, now)) return true;
  const { state } = tcb;
  switch (state) {
    case 'LISTEN':
    case 'CLOSED':
      return false;
    case 'SYN-SENT':
      return tcb.syn.isDue && !sendSyn(tcb, out, SYN, now);
    case 'SYN-RECEIVED':
      if (tcb.syn.isDue && !sendSyn(tcb, out, SYN | ACK, now)) return true;
      return !sendAcks(tcb, out, now);
    case 'TIME-WAIT':
      return sendTimeWaitAcks(tcb, out, now);
    case 'ESTABLISHED':
    case 'FIN-WAIT-1':
    case 'FIN-WAIT-2':
    case 'CLOSE-WAIT':
    case 'CLOSING':
    case 'LAST-ACK':
      return sendStream(tcb, out, budget, now);
    default:
      state satisfies never;
      return false;
  }
}

function sendReset(tcb: Tcb, out: SegmentOutput, now: number): boolean {
  const { sequence, acknowledgment } = tcb.reset;
  const { segment } = out;
  segment.clear();
  segment.sequence = sequence;
  segment.flags = RST;
  if (acknowledgment !== undefined) {
    segment.flags = RST | ACK;
    segment.acknowledgment = acknowledgment;
  }
  if (tcb.timestamps.enabled) writeTimestamps(tcb, out, now);
  if (out.begin(0) < 0) return false;
  out.end(0);
  tcb.reset.onSent();
  return true;
}

function sendSyn(tcb: Tcb, out: SegmentOutput, flags: number, now: number): boolean {
  const { sendSpace, receiveSpace, receiveBuffer, options, rcvNxt } = tcb;
  const { segment } = out;
  segment.clear();
  segment.sequence = sendSpace.initial;
  segment.flags = flags;
  segment.window = receiveBuffer.announce(options.announcedMss, 0);
  options.writeSyn(segment);
  if (segment.hasTimestamps) writeTimestamps(tcb, out, now);
  if ((flags & ACK) !== 0) segment.acknowledgment = receiveSpace.sequence(rcvNxt);
  if (out.begin(0) < 0) return false;
  out.end(0);
  tcb.syn.onSent(now);
  return true;
}

/** Sends data as far as recovery and SND.WND permit, then probes and ACKs without data. */
function sendStream(tcb: Tcb, out: SegmentOutput, budget: number, now: number): boolean {
  const { recovery, options, receiveBuffer } = tcb;
  const acks = tcb.acks;
  updateWindow(tcb);
  // A full segment has no room for SACK blocks, so they are sent before it.
  if (acks.due > 0 && (receiveBuffer.hasGap || acks.isReportDue)) {
    if (!sendAcks(tcb, out, now)) return true;
  }
  let left = budget;
  while (recovery.plan(now, tcb.sendEnd, tcb.sndEdge, options.largest)) {
    if (left <= 0 || !sendPlanned(tcb, out, now)) return true;
    left -= recovery.planned.end - recovery.planned.start;
  }
  if (tcb.probes.isDue && !sendProbe(tcb, out, now)) return true;
  if (recovery.isWindowBlocked) tcb.probes.onWindowBlocked(recovery.rtt, now);
  else tcb.probes.onWindowOpened();
  return !sendAcks(tcb, out, now);
}

/** Called when the reader has made room. A window larger than a SYN can announce needs no segment of its own. */
function updateWindow(tcb: Tcb): void {
  const { receiveBuffer, options, isFinReceived } = tcb;
  if (isFinReceived || receiveBuffer.received === 0) return;
  if (receiveBuffer.isUpdateDue(options.announcedMss)) tcb.acks.require();
}

/** Sends the segment that `Recovery.plan` has chosen, with the ACK. */
function sendPlanned(tcb: Tcb, out: SegmentOutput, now: number): boolean {
  const { recovery, sendBuffer, options } = tcb;
  const { start, end } = recovery.planned;
  const dataEnd = Math.min(end, sendBuffer.end);
  const size = dataEnd - start;
  const hasFin = end > sendBuffer.end;
  // PSH on the last data that was written: the peer delivers it at once (RFC 9293 §3.9.1.2).
  const isPushed = size > 0 && dataEnd === sendBuffer.end;
  const flags = ACK | (isPushed ? PSH : 0) | (hasFin ? FIN : 0);
  writeHeader(tcb, out, start, flags, now);
  const at = out.begin(size);
  if (at < 0) return false;
  if (size > 0) sendBuffer.copy(start, size, out.buffer, at);
  out.end(size > options.mss ? options.mss : 0);
  if (tcb.trace !== undefined && recovery.planned.isRetransmission) {
    tcb.trace({ kind: 'retransmitted', offset: start, bytes: size }, now);
  }
  recovery.onSent(now);
  ackSent(tcb);
  tcb.probes.startUserTimeout(now);
  if (hasFin) finSent(tcb, now);
  return true;
}

function finSent(tcb: Tcb, now: number): void {
  if (tcb.state === 'ESTABLISHED') tcb.enter('FIN-WAIT-1', now);
  else if (tcb.state === 'CLOSE-WAIT') tcb.enter('LAST-ACK', now);
}

/** Sends a probe: SEG.SEQ = SND.UNA - 1, without data: the peer must respond with an ACK (RFC 9293 §3.8.4). */
function sendProbe(tcb: Tcb, out: SegmentOutput, now: number): boolean {
  writeHeader(tcb, out, tcb.recovery.sndUna - 1, ACK, now);
  if (out.begin(0) < 0) return false;
  out.end(0);
  tcb.probes.isDue = false;
  return true;
}

function sendAcks(tcb: Tcb, out: SegmentOutput, now: number): boolean {
  const { receiveBuffer, receiveSpace, options, timestamps, recovery } = tcb;
  const acks = tcb.acks;
  while (acks.due > 0) {
    writeHeader(tcb, out, recovery.sndNxt, ACK, now);
    const { segment } = out;
    if (options.sack) {
      const limit = timestamps.enabled ? SACK_BLOCKS_BESIDE_TIMESTAMPS : MAX_SACK_BLOCKS;
      const count = receiveBuffer.report(reported, limit);
      for (let edge = 0; edge < 2 * count; edge++) {
        segment.sackBlocks[edge] = receiveSpace.sequence(reported[edge] as number);
      }
      segment.sackCount = count;
      acks.onReported();
    }
    if (out.begin(0) < 0) return false;
    out.end(0);
    ackSent(tcb);
  }
  return true;
}

function sendTimeWaitAcks(tcb: Tcb, out: SegmentOutput, now: number): boolean {
  const acks = tcb.acks;
  const { timeWait } = tcb;
  while (acks.due > 0) {
    if (timeWait?.acknowledge(out, now) === false) return true;
    acks.onSent();
  }
  return false;
}

function ackSent(tcb: Tcb): void {
  tcb.acks.onSent();
  tcb.lastAckSent = tcb.rcvNxt;
}

function writeHeader(
  tcb: Tcb,
  out: SegmentOutput,
  offset: number,
  flags: number,
  now: number,
): void {
  const { segment } = out;
  segment.clear();
  segment.sequence = tcb.sendSpace.sequence(offset);
  segment.acknowledgment = tcb.receiveSpace.sequence(tcb.rcvNxt);
  segment.flags = flags;
  segment.window = tcb.announceWindow();
  if (tcb.timestamps.enabled) writeTimestamps(tcb, out, now);
}

function writeTimestamps(tcb: Tcb, out: SegmentOutput, now: number): void {
  const { segment } = out;
  const { timestamps } = tcb;
  segment.hasTimestamps = true;
  segment.timestamp = timestamps.at(now);
  segment.timestampEcho = timestamps.recent;
}
