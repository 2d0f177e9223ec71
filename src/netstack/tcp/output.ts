import { MAX_SACK_BLOCKS, TcpFlag } from '../wire/tcp.ts';
import type { ControlBlock } from './control-block.ts';
import {
  FIRST_HANDSHAKE_TIMEOUT,
  FIRST_WINDOW_PROBE,
  LEAST_WINDOW_PROBE,
  MAX_HANDSHAKE_TIMEOUT,
  MAX_WINDOW_PROBE,
  USER_TIMEOUT,
} from './limits.ts';
import type { SegmentOutput } from './segment-output.ts';

const { FIN, SYN, RST, PSH, ACK } = TcpFlag;

/** SACK blocks of the segment at hand: of one connection at a time. */
const reported = new Float64Array(2 * MAX_SACK_BLOCKS);
/** Blocks that there is room for beside timestamps (RFC 2018 §3). */
const SACK_BLOCKS_BESIDE_TIMESTAMPS = 3;

/** Writes what a connection has to send now: a RST, a SYN, data with its FIN, probes, ACKs. */
export class Output {
  readonly #block: ControlBlock;

  constructor(block: ControlBlock) {
    this.#block = block;
  }

  /** See `TcpConnection.transmit`. */
  transmit(now: number, out: SegmentOutput, budget: number): boolean {
    const block = this.#block;
    if (block.reset !== undefined && !this.#sendReset(out, now)) return true;
    switch (block.state) {
      case 'LISTEN':
      case 'CLOSED':
        return false;
      case 'SYN-SENT':
        return block.isSynDue && !this.#sendSyn(out, SYN, now);
      case 'SYN-RECEIVED':
        if (block.isSynDue && !this.#sendSyn(out, SYN | ACK, now)) return true;
        return !this.#sendAcknowledgments(out, now);
      case 'TIME-WAIT':
        return this.#acknowledgeInTimeWait(out, now);
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        return this.#sendStream(out, budget, now);
      default:
        block.state satisfies never;
        return false;
    }
  }

  #sendReset(out: SegmentOutput, now: number): boolean {
    const block = this.#block;
    const { reset } = block;
    if (reset === undefined) return true;
    const { segment } = out;
    segment.clear();
    segment.sequence = reset.sequence;
    segment.flags = RST;
    if (reset.acknowledgment !== undefined) {
      segment.flags = RST | ACK;
      segment.acknowledgment = reset.acknowledgment;
    }
    if (block.timestamps.enabled) this.#stamp(out, now);
    if (out.begin(0) < 0) return false;
    out.end(0);
    block.reset = undefined;
    return true;
  }

  #sendSyn(out: SegmentOutput, flags: number, now: number): boolean {
    const block = this.#block;
    const { segment } = out;
    segment.clear();
    segment.sequence = block.own.initial;
    segment.flags = flags;
    segment.window = block.receiveBuffer.announce(block.options.announcedMss, 0);
    block.options.writeSyn(segment);
    if (segment.hasTimestamps) this.#stamp(out, now);
    if ((flags & ACK) !== 0) segment.acknowledgment = block.peer.sequence(block.receiveNext);
    if (out.begin(0) < 0) return false;
    out.end(0);
    const backoff = 2 ** block.synsUnanswered;
    const interval = Math.min(FIRST_HANDSHAKE_TIMEOUT * backoff, MAX_HANDSHAKE_TIMEOUT);
    block.deadlines.set('handshake', now + interval);
    block.isSynDue = false;
    block.synsSent++;
    block.synsUnanswered++;
    block.synSentAt = now;
    return true;
  }

  /** Data as far as recovery and the peer's window permit, then what has to be said without data. */
  #sendStream(out: SegmentOutput, budget: number, now: number): boolean {
    const block = this.#block;
    const { recovery, options, receiveBuffer, acknowledgments } = block;
    this.#updateWindow();
    // SACK blocks have no room beside full segments.
    if (acknowledgments.due > 0 && (receiveBuffer.hasGap || block.isReportDue)) {
      if (!this.#sendAcknowledgments(out, now)) return true;
    }
    let left = budget;
    while (recovery.plan(now, block.sendEnd, block.windowEdge, options.largest)) {
      if (left <= 0 || !this.#sendPlanned(out, now)) return true;
      left -= recovery.planned.end - recovery.planned.start;
    }
    if (block.isProbeDue && !this.#sendProbe(out, now)) return true;
    this.#watchWindow(now);
    return !this.#sendAcknowledgments(out, now);
  }

  /** The reader has made room. What was more than a SYN can say does not need a segment of its own. */
  #updateWindow(): void {
    const { receiveBuffer, options, acknowledgments, isPeerFinReached } = this.#block;
    if (isPeerFinReached || receiveBuffer.received === 0) return;
    if (receiveBuffer.isUpdateDue(options.announcedMss)) acknowledgments.require();
  }

  /** Sends what `Recovery.plan` has chosen, with the ACK. */
  #sendPlanned(out: SegmentOutput, now: number): boolean {
    const block = this.#block;
    const { recovery, sendBuffer, options } = block;
    const { start, end } = recovery.planned;
    const dataEnd = Math.min(end, sendBuffer.end);
    const size = dataEnd - start;
    const hasFin = end > sendBuffer.end;
    // PSH where the writer has stopped: the peer passes on what it has (RFC 9293 §3.9.1.2).
    const isPushed = size > 0 && dataEnd === sendBuffer.end;
    const flags = ACK | (isPushed ? PSH : 0) | (hasFin ? FIN : 0);
    this.#header(out, start, flags, now);
    const at = out.begin(size);
    if (at < 0) return false;
    if (size > 0) sendBuffer.copy(start, size, out.buffer, at);
    out.end(size > options.mss ? options.mss : 0);
    if (block.trace !== undefined && recovery.planned.isRetransmission) {
      block.trace({ kind: 'retransmitted', offset: start, bytes: size }, now);
    }
    recovery.onSent(now);
    this.#acknowledged();
    if (!block.deadlines.isSet('user')) block.deadlines.set('user', now + USER_TIMEOUT);
    if (hasFin) this.#finSent(now);
    return true;
  }

  #finSent(now: number): void {
    const block = this.#block;
    if (block.state === 'ESTABLISHED') block.go('FIN-WAIT-1', now);
    else if (block.state === 'CLOSE-WAIT') block.go('LAST-ACK', now);
  }

  /** Data waits for a window that may never open by itself: its update may be lost (§3.8.6.1). */
  #watchWindow(now: number): void {
    const block = this.#block;
    const { deadlines, recovery } = block;
    if (!recovery.isWindowBlocked) {
      block.windowProbes = 0;
      deadlines.clear('persist');
      return;
    }
    if (deadlines.isSet('persist')) return;
    const { rtt } = block.control;
    const first =
      rtt.firstSampleAt === undefined
        ? FIRST_WINDOW_PROBE
        : Math.max(rtt.smoothed + 4 * rtt.variation, LEAST_WINDOW_PROBE);
    const interval = Math.min(first * 2 ** block.windowProbes, MAX_WINDOW_PROBE);
    deadlines.set('persist', now + interval);
    if (!deadlines.isSet('user')) deadlines.set('user', now + USER_TIMEOUT);
  }

  /** A segment from before the window, without data: the peer has to respond with its state (§3.8.4). */
  #sendProbe(out: SegmentOutput, now: number): boolean {
    const block = this.#block;
    this.#header(out, block.recovery.sndUna - 1, ACK, now);
    if (out.begin(0) < 0) return false;
    out.end(0);
    block.isProbeDue = false;
    return true;
  }

  #sendAcknowledgments(out: SegmentOutput, now: number): boolean {
    const block = this.#block;
    const { acknowledgments, receiveBuffer, options, timestamps } = block;
    while (acknowledgments.due > 0) {
      this.#header(out, block.recovery.sndNxt, ACK, now);
      const { segment } = out;
      if (options.sack) {
        const limit = timestamps.enabled ? SACK_BLOCKS_BESIDE_TIMESTAMPS : MAX_SACK_BLOCKS;
        const count = receiveBuffer.report(reported, limit);
        for (let edge = 0; edge < 2 * count; edge++) {
          segment.sackBlocks[edge] = block.peer.sequence(reported[edge] as number);
        }
        segment.sackCount = count;
        block.isReportDue = false;
      }
      if (out.begin(0) < 0) return false;
      out.end(0);
      this.#acknowledged();
    }
    return true;
  }

  #acknowledgeInTimeWait(out: SegmentOutput, now: number): boolean {
    const { acknowledgments, timeWait } = this.#block;
    while (acknowledgments.due > 0) {
      if (timeWait?.acknowledge(out, now) === false) return true;
      acknowledgments.onSent();
    }
    return false;
  }

  #acknowledged(): void {
    const block = this.#block;
    block.acknowledgments.onSent();
    block.lastAcknowledged = block.receiveNext;
  }

  #header(out: SegmentOutput, offset: number, flags: number, now: number): void {
    const block = this.#block;
    const { segment } = out;
    segment.clear();
    segment.sequence = block.own.sequence(offset);
    segment.acknowledgment = block.peer.sequence(block.receiveNext);
    segment.flags = flags;
    segment.window = block.announceWindow();
    if (block.timestamps.enabled) this.#stamp(out, now);
  }

  #stamp(out: SegmentOutput, now: number): void {
    const { segment } = out;
    const { timestamps } = this.#block;
    segment.hasTimestamps = true;
    segment.timestamp = timestamps.at(now);
    segment.timestampEcho = timestamps.recent;
  }
}
