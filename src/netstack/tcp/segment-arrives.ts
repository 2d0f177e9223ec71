import type { SegmentDropReason } from '../trace.ts';
import { MAX_SACK_BLOCKS, TcpFlag, type TcpSegment } from '../wire/tcp.ts';
import type { ControlBlock } from './control-block.ts';
import { Opening } from './lifecycle/opening.ts';
import type { ReceivedAck } from './recovery/received-ack.ts';

const { FIN, SYN, RST, ACK } = TcpFlag;

/** Of the segment at hand; one for all connections, since none is handled within another's call. */
const acknowledgment: ReceivedAck = {
  offset: 0,
  blocks: new Float64Array(2 * MAX_SACK_BLOCKS),
  blockCount: 0,
  echo: -1,
  isDuplicate: false,
};

/**
 * What a segment does to a connection: RFC 9293 §3.10.7 in its order, with the stricter checks of RFC 5961
 * and with PAWS (RFC 7323 §5). It takes nothing but what is valid, and writes nothing itself: what is to
 * be sent is due at the next `transmit`.
 */
export class SegmentArrives {
  readonly #block: ControlBlock;
  readonly #opening: Opening;

  /** @param keepAlive see `TcpSettings`. */
  constructor(block: ControlBlock, keepAlive: number) {
    this.#block = block;
    this.#opening = new Opening(block, keepAlive);
  }

  arrives(segment: TcpSegment, now: number): void {
    const block = this.#block;
    switch (block.state) {
      case 'CLOSED':
        break;
      case 'LISTEN':
        this.#opening.inListen(segment, now);
        break;
      case 'SYN-SENT':
        if (this.#opening.inSynSent(segment, now)) this.#takeText(segment, 0, now);
        break;
      case 'SYN-RECEIVED':
        if (block.synsSent === 0) this.#opening.whileHeld(segment, now);
        else this.#inOtherStates(segment, now);
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
        block.state satisfies never;
    }
  }

  // ---- §3.10.7.4: other states ----

  #inTimeWait(segment: TcpSegment, now: number): void {
    const block = this.#block;
    const verdict = block.timeWait?.segmentArrives(segment, now) ?? 'ignored';
    switch (verdict) {
      case 'restart':
        block.deadlines.set('close', block.timeWait?.expiresAt ?? now);
        block.acknowledgments.require();
        break;
      case 'acknowledge':
        block.acknowledgments.require();
        break;
      case 'closed':
        block.go('CLOSED', now);
        break;
      case 'ignored':
      case 'reopen': // The stack's: it needs another connection.
        break;
      default:
        verdict satisfies never;
    }
  }

  #inOtherStates(segment: TcpSegment, now: number): void {
    const block = this.#block;
    const { peer, timestamps } = block;
    const { flags } = segment;
    const next = block.receiveNext;
    let sequence = peer.offset(segment.sequence, next);

    // First, sequence numbers. PAWS comes before, and does not hold for RST (RFC 7323 §5.3).
    if (timestamps.enabled && (flags & RST) === 0) {
      if (!segment.hasTimestamps) {
        block.drop('timestamp', segment, now);
        return;
      }
      if (timestamps.isOld(segment.timestamp, now)) {
        this.#unacceptable(segment, 'timestamp', now);
        return;
      }
    }
    if (sequence === -1 && block.state === 'SYN-RECEIVED' && (flags & SYN) !== 0) {
      if ((flags & ACK) === 0) {
        // The client repeats its SYN: the SYN-ACK was lost.
        if (block.challenges.take(now)) block.isSynDue = true;
        return;
      }
      // Simultaneous open: the peer's SYN-ACK. Its SYN is known, its ACK is new (§3.5, figure 8).
      sequence = 0;
      block.acknowledgments.require();
    } else {
      const size = segment.payloadEnd - segment.payload;
      const end = sequence + size + ((flags & FIN) === 0 ? 0 : 1);
      const { edge } = block.receiveBuffer.window;
      // At the edge too: there an ACK is still good when the window is full or closed, its text is not.
      const isAcceptable = sequence <= edge && (end === sequence ? sequence >= next : end > next);
      if (!isAcceptable) {
        this.#outsideOfWindow(segment, sequence, next, now);
        return;
      }
      // Second, RST; fourth, SYN (third is security, which does not exist any more).
      if ((flags & RST) !== 0) {
        if (sequence === next) this.#resetByPeer(now);
        else this.#challenge('reset', segment, now);
        return;
      }
      if ((flags & SYN) !== 0) {
        this.#challenge('syn', segment, now);
        return;
      }
    }

    // Fifth, ACK.
    if ((flags & ACK) === 0) {
      block.drop('no-acknowledgment', segment, now);
      return;
    }
    const before = block.recovery.sndUna;
    const acknowledged = block.own.offset(segment.acknowledgment, before);
    if (block.state === 'SYN-RECEIVED') {
      if (acknowledged !== 0) {
        block.resetFor(segment);
        block.drop('acknowledgment', segment, now);
        return;
      }
      this.#opening.establish(now);
    } else if (
      acknowledged > block.recovery.sndNxt ||
      acknowledged < before - block.largestWindow
    ) {
      this.#challenge('acknowledgment', segment, now);
      return;
    }
    block.heardAt = now;
    block.keepAliveProbes = 0;
    block.unansweredProbes = 0;
    if (timestamps.enabled && sequence <= block.lastAcknowledged) {
      timestamps.update(segment.timestamp, now);
    }
    this.#takeAcknowledgment(segment, sequence, acknowledged, now);
    if (block.state === 'CLOSED' || block.state === 'TIME-WAIT') return;

    // Sixth: urgent data is data like any other (§3.8.5). Seventh, the text; eighth, FIN.
    this.#takeText(segment, sequence, now);
  }

  // ---- the steps ----

  #takeAcknowledgment(
    segment: TcpSegment,
    sequence: number,
    acknowledged: number,
    now: number,
  ): void {
    const block = this.#block;
    const { recovery, own, timestamps, sendBuffer } = block;
    const before = recovery.sndUna;
    const wasProbed = block.windowProbes > 0;
    const window = segment.window << block.options.sendScale;
    const edge = acknowledged + window;
    acknowledgment.offset = acknowledged;
    const echo = timestamps.enabled ? timestamps.sentAt(segment.timestampEcho, now) : -1;
    if (echo >= 0) block.receiveBuffer.window.onRoundTrip(now - echo);
    acknowledgment.echo = echo;
    acknowledgment.isDuplicate =
      acknowledged === before &&
      block.isAwaiting &&
      segment.payload === segment.payloadEnd &&
      (segment.flags & FIN) === 0 &&
      edge === block.windowEdge;
    const blocks = block.options.sack ? segment.sackCount : 0;
    acknowledgment.blockCount = blocks;
    for (let index = 0; index < 2 * blocks; index++) {
      acknowledgment.blocks[index] = own.offset(segment.sackBlocks[index] as number, before);
    }
    recovery.onAck(acknowledgment, now);

    if (acknowledged >= before) this.#takeWindow(window, edge, sequence, acknowledged);
    if (acknowledged > before) {
      sendBuffer.acknowledge(acknowledged);
      if (block.memory.mayGrow) sendBuffer.follow(block.control.controller.window);
      if (sendBuffer.takeWritable(block.memory.isShort)) block.events.raise('writable');
    }
    const isClosed = block.windowEdge <= recovery.sndUna;
    if (acknowledged > before || isClosed || wasProbed) block.restartUserTimeout(now);
    if (block.isFinAcknowledged) this.#finAcknowledged(now);
  }

  #takeWindow(window: number, edge: number, sequence: number, acknowledged: number): void {
    const block = this.#block;
    const isNewer =
      block.windowFromSequence < sequence ||
      (block.windowFromSequence === sequence && block.windowFromAcknowledgment <= acknowledged);
    if (!isNewer) return;
    if (edge > block.windowEdge) {
      block.windowProbes = 0;
      block.deadlines.clear('persist');
    }
    block.windowEdge = edge;
    block.windowFromSequence = sequence;
    block.windowFromAcknowledgment = acknowledged;
    if (window > block.largestWindow) block.largestWindow = window;
  }

  #finAcknowledged(now: number): void {
    const block = this.#block;
    const { state } = block;
    if (state === 'FIN-WAIT-1') block.go('FIN-WAIT-2', now);
    else if (state === 'CLOSING') block.enterTimeWait(now);
    else if (state === 'LAST-ACK') block.go('CLOSED', now);
    else return;
    block.events.raise('finished');
  }

  #takeText(segment: TcpSegment, sequence: number, now: number): void {
    const block = this.#block;
    const { state, receiveBuffer, acknowledgments } = block;
    const hasFin = (segment.flags & FIN) !== 0;
    const length = segment.payloadEnd - segment.payload;
    if (length === 0 && !hasFin) return;
    if (state !== 'ESTABLISHED' && state !== 'FIN-WAIT-1' && state !== 'FIN-WAIT-2') {
      // The peer has sent its FIN before: nothing follows it.
      acknowledgments.require();
      return;
    }
    const size = Math.min(length, block.peerFin - sequence);
    if (size > 0) {
      const { isShort } = block.memory;
      const result = receiveBuffer.insert(sequence, segment.bytes, segment.payload, size, isShort);
      switch (result) {
        case 'in-order':
          acknowledgments.onInOrder(size, block.options.announcedMss, now);
          block.events.raise('readable');
          break;
        case 'filled':
          acknowledgments.require();
          block.events.raise('readable');
          break;
        case 'out-of-order':
        case 'duplicate':
          block.isReportDue = true;
          acknowledgments.onOutOfOrder(block.options.sack);
          break;
        case 'dropped':
          acknowledgments.require();
          block.drop('out-of-order-limit', segment, now);
          break;
        default:
          result satisfies never;
      }
    }
    if (size <= 0) acknowledgments.require();
    if (hasFin) {
      // Beyond the window, it has to come again; at another place, it is not one.
      const fin = sequence + length;
      if (block.peerFin === Infinity && fin <= receiveBuffer.window.edge) block.peerFin = fin;
      acknowledgments.require();
    }
    if (block.peerFin <= receiveBuffer.received) this.#finReached(now);
  }

  #finReached(now: number): void {
    const block = this.#block;
    const { state } = block;
    block.isPeerFinReached = true;
    block.acknowledgments.require();
    block.events.raise('end');
    if (state === 'ESTABLISHED') block.go('CLOSE-WAIT', now);
    else if (state === 'FIN-WAIT-1') block.go('CLOSING', now);
    else block.enterTimeWait(now);
  }

  // ---- responses ----

  #outsideOfWindow(segment: TcpSegment, sequence: number, next: number, now: number): void {
    const block = this.#block;
    if ((segment.flags & RST) !== 0) {
      // Some systems (macOS) reset with the number of their FIN instead of the one behind it.
      if (block.isPeerFinReached && sequence === next - 1) this.#resetByPeer(now);
      else block.drop('reset', segment, now);
    } else if ((segment.flags & SYN) !== 0) this.#challenge('syn', segment, now);
    else this.#unacceptable(segment, 'sequence', now);
  }

  /** §3.10.7.4, first: an ACK in reply, unless it might be the reply to one of ours. */
  #unacceptable(segment: TcpSegment, reason: SegmentDropReason, now: number): void {
    const block = this.#block;
    block.drop(reason, segment, now);
    const isBare = segment.payload === segment.payloadEnd && (segment.flags & FIN) === 0;
    if (!isBare || block.challenges.takeStray(now)) block.acknowledgments.require();
  }

  /** RFC 5961: the peer confirms or corrects what may be forged when it sees where this side is. */
  #challenge(reason: SegmentDropReason, segment: TcpSegment, now: number): void {
    const block = this.#block;
    block.drop(reason, segment, now);
    if (!block.challenges.take(now)) return;
    block.acknowledgments.require();
    if (block.trace !== undefined) block.trace({ kind: 'challenge-ack' }, now);
  }

  #resetByPeer(now: number): void {
    const block = this.#block;
    const { state, recovery, sendBuffer } = block;
    if (state === 'SYN-RECEIVED') block.fail('refused', now);
    else if ((state === 'CLOSING' || state === 'LAST-ACK') && recovery.sndUna >= sendBuffer.end) {
      // Both streams are complete; only the ACK of the FIN is missing.
      block.go('CLOSED', now);
    } else block.fail('reset', now);
  }
}
