import type { Trace } from '../trace.ts';
import { MAX_SACK_BLOCKS, TcpFlag } from '../wire/tcp.ts';
import type { TcpParts } from './tcp-parts.ts';
import type { SegmentOutput } from './segment-output.ts';

const { FIN, SYN, RST, PSH, ACK } = TcpFlag;

/** SACK blocks of the segment that is being written. All connections share the array. */
const reported = new Float64Array(2 * MAX_SACK_BLOCKS);
/** SACK blocks that fit into the options beside timestamps (RFC 2018 §3). */
const SACK_BLOCKS_BESIDE_TIMESTAMPS = 3;

/** Writes the segments that a connection has to send now: a RST, a SYN, data with its FIN, probes, ACKs. */
export class Transmitter {
  readonly #parts: TcpParts;
  readonly #trace: Trace | undefined;

  constructor(parts: TcpParts, trace: Trace | undefined) {
    this.#parts = parts;
    this.#trace = trace;
  }

  /** Writes the segments that may be sent now; see `TcpConnection.transmit`. */
  transmit(now: number, out: SegmentOutput, budget: number): boolean {
    if (this.#parts.reset.isDue && !this.#sendReset(out, now)) return true;
    const { state } = this.#parts.machine;
    switch (state) {
      case 'LISTEN':
      case 'CLOSED':
        return false;
      case 'SYN-SENT':
        return this.#parts.syn.isDue && !this.#sendSyn(out, SYN, now);
      case 'SYN-RECEIVED':
        if (this.#parts.syn.isDue && !this.#sendSyn(out, SYN | ACK, now)) return true;
        return !this.#sendAcks(out, now);
      case 'TIME-WAIT':
        return this.#sendTimeWaitAcks(out, now);
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        return this.#sendStream(out, budget, now);
      default:
        state satisfies never;
        return false;
    }
  }

  #sendReset(out: SegmentOutput, now: number): boolean {
    const { sequence, acknowledgment } = this.#parts.reset;
    const { segment } = out;
    segment.clear();
    segment.sequence = sequence;
    segment.flags = RST;
    if (acknowledgment !== undefined) {
      segment.flags = RST | ACK;
      segment.acknowledgment = acknowledgment;
    }
    if (this.#parts.tcb.timestamps.enabled) this.#stamp(out, now);
    if (out.begin(0) < 0) return false;
    out.end(0);
    this.#parts.reset.onSent();
    return true;
  }

  #sendSyn(out: SegmentOutput, flags: number, now: number): boolean {
    const { sendSpace, receiveSpace, receiveBuffer, options, rcvNxt } = this.#parts.tcb;
    const { segment } = out;
    segment.clear();
    segment.sequence = sendSpace.initial;
    segment.flags = flags;
    segment.window = receiveBuffer.announce(options.announcedMss, 0);
    options.writeSyn(segment);
    if (segment.hasTimestamps) this.#stamp(out, now);
    if ((flags & ACK) !== 0) segment.acknowledgment = receiveSpace.sequence(rcvNxt);
    if (out.begin(0) < 0) return false;
    out.end(0);
    this.#parts.syn.onSent(now);
    return true;
  }

  /** Sends data as far as recovery and SND.WND permit, then probes and ACKs without data. */
  #sendStream(out: SegmentOutput, budget: number, now: number): boolean {
    const tcb = this.#parts.tcb;
    const { recovery, options, receiveBuffer } = tcb;
    const acks = this.#parts.acks;
    this.#updateWindow();
    // A full segment has no room for SACK blocks, so they are sent before it.
    if (acks.due > 0 && (receiveBuffer.hasGap || acks.isReportDue)) {
      if (!this.#sendAcks(out, now)) return true;
    }
    let left = budget;
    while (recovery.plan(now, tcb.sendEnd, tcb.sndEdge, options.largest)) {
      if (left <= 0 || !this.#sendPlanned(out, now)) return true;
      left -= recovery.planned.end - recovery.planned.start;
    }
    if (this.#parts.probes.isDue && !this.#sendProbe(out, now)) return true;
    if (recovery.isWindowBlocked) this.#parts.probes.onWindowBlocked(recovery.rtt, now);
    else this.#parts.probes.onWindowOpened();
    return !this.#sendAcks(out, now);
  }

  /** Called when the reader has made room. A window larger than a SYN can announce needs no segment of its own. */
  #updateWindow(): void {
    const { receiveBuffer, options, isFinReceived } = this.#parts.tcb;
    if (isFinReceived || receiveBuffer.received === 0) return;
    if (receiveBuffer.isUpdateDue(options.announcedMss)) this.#parts.acks.require();
  }

  /** Sends the segment that `Recovery.plan` has chosen, with the ACK. */
  #sendPlanned(out: SegmentOutput, now: number): boolean {
    const { recovery, sendBuffer, options } = this.#parts.tcb;
    const { start, end } = recovery.planned;
    const dataEnd = Math.min(end, sendBuffer.end);
    const size = dataEnd - start;
    const hasFin = end > sendBuffer.end;
    // PSH on the last data that was written: the peer delivers it at once (RFC 9293 §3.9.1.2).
    const isPushed = size > 0 && dataEnd === sendBuffer.end;
    const flags = ACK | (isPushed ? PSH : 0) | (hasFin ? FIN : 0);
    this.#header(out, start, flags, now);
    const at = out.begin(size);
    if (at < 0) return false;
    if (size > 0) sendBuffer.copy(start, size, out.buffer, at);
    out.end(size > options.mss ? options.mss : 0);
    if (this.#trace !== undefined && recovery.planned.isRetransmission) {
      this.#trace({ kind: 'retransmitted', offset: start, bytes: size }, now);
    }
    recovery.onSent(now);
    this.#ackSent();
    this.#parts.probes.startUserTimeout(now);
    if (hasFin) this.#finSent(now);
    return true;
  }

  #finSent(now: number): void {
    const machine = this.#parts.machine;
    if (machine.state === 'ESTABLISHED') machine.enter('FIN-WAIT-1', now);
    else if (machine.state === 'CLOSE-WAIT') machine.enter('LAST-ACK', now);
  }

  /** Sends a probe: SEG.SEQ = SND.UNA - 1, without data: the peer must respond with an ACK (RFC 9293 §3.8.4). */
  #sendProbe(out: SegmentOutput, now: number): boolean {
    this.#header(out, this.#parts.tcb.recovery.sndUna - 1, ACK, now);
    if (out.begin(0) < 0) return false;
    out.end(0);
    this.#parts.probes.isDue = false;
    return true;
  }

  #sendAcks(out: SegmentOutput, now: number): boolean {
    const { receiveBuffer, receiveSpace, options, timestamps, recovery } = this.#parts.tcb;
    const acks = this.#parts.acks;
    while (acks.due > 0) {
      this.#header(out, recovery.sndNxt, ACK, now);
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
      this.#ackSent();
    }
    return true;
  }

  #sendTimeWaitAcks(out: SegmentOutput, now: number): boolean {
    const acks = this.#parts.acks;
    const { timeWait } = this.#parts.machine;
    while (acks.due > 0) {
      if (timeWait?.acknowledge(out, now) === false) return true;
      acks.onSent();
    }
    return false;
  }

  #ackSent(): void {
    const tcb = this.#parts.tcb;
    this.#parts.acks.onSent();
    tcb.lastAckSent = tcb.rcvNxt;
  }

  #header(out: SegmentOutput, offset: number, flags: number, now: number): void {
    const tcb = this.#parts.tcb;
    const { segment } = out;
    segment.clear();
    segment.sequence = tcb.sendSpace.sequence(offset);
    segment.acknowledgment = tcb.receiveSpace.sequence(tcb.rcvNxt);
    segment.flags = flags;
    segment.window = tcb.announceWindow();
    if (tcb.timestamps.enabled) this.#stamp(out, now);
  }

  #stamp(out: SegmentOutput, now: number): void {
    const { segment } = out;
    const { timestamps } = this.#parts.tcb;
    segment.hasTimestamps = true;
    segment.timestamp = timestamps.at(now);
    segment.timestampEcho = timestamps.recent;
  }
}
