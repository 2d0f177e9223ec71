import type { SendControl } from '../../congestion/send-control.ts';
import type { Trace } from '../trace.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import { ControlBlock, type SharedMemory } from './control-block.ts';
import type { TcpEvent, TcpFailure } from './events.ts';
import { KEEP_ALIVE_INTERVAL, KEEP_ALIVE_PROBES, SYN_ACK_RETRIES, SYN_RETRIES } from './limits.ts';
import { NegotiatedOptions } from './options.ts';
import { Output } from './output.ts';
import { ReceiveBuffer } from './receive/receive-buffer.ts';
import { Recovery } from './recovery/recovery.ts';
import { SegmentArrives } from './segment-arrives.ts';
import type { SegmentOutput, TcpPath } from './segment-output.ts';
import { SendBuffer } from './send-buffer.ts';
import type { TcpState } from './state.ts';
import type { TimeWait } from './lifecycle/time-wait.ts';
import { Timestamps } from './timestamps.ts';

export interface TcpSettings {
  /** Milliseconds of silence of the peer after which it is probed; 0 for never. */
  readonly keepAlive: number;
  /** Bytes that the receive window grows to at most. */
  readonly receiveBuffer: number;
  /** Whether segments are spread over the round trip: not towards a local device. */
  readonly isPaced: boolean;
  /** Left out, there is enough. */
  readonly memory?: SharedMemory | undefined;
}

/** What a connection is created with. */
export interface TcpConnectionOptions {
  readonly role: 'active' | 'passive';
  /** See `InitialSequences`. */
  readonly initialSequence: number;
  /** Added to the clock in timestamps (RFC 7323 §5.4), see `InitialSequences`. */
  readonly timestampOffset: number;
  readonly path: TcpPath;
  readonly settings: TcpSettings;
  /** The connection's own. */
  readonly control: SendControl;
  readonly trace: Trace | undefined;
  readonly now: number;
}

/**
 * A TCP connection (RFC 9293) as a function of segments and time, in milliseconds. Nothing that a peer
 * sends makes a method throw.
 *
 * After every call but the pure queries: `transmit` until it returns false or the output is full, events
 * until there are none, `transmit` again where handling them has called anything, then `nextTimeout`.
 *
 * An active connection sends its SYN with the first `transmit`. A passive one is in LISTEN until it is given
 * its SYN; the SYN-ACK leaves after `accept`, which may be called before.
 */
export class TcpConnection {
  readonly #block: ControlBlock;
  readonly #arrives: SegmentArrives;
  readonly #output: Output;
  readonly #keepAlive: number;

  constructor(options: TcpConnectionOptions) {
    const { settings, now, trace } = options;
    const negotiated = new NegotiatedOptions(options.path);
    this.#block = new ControlBlock(
      options.role,
      options.initialSequence,
      new Timestamps(options.timestampOffset),
      negotiated,
      new SendBuffer(),
      new ReceiveBuffer(now, settings.receiveBuffer),
      new Recovery(options.control, negotiated.mss, settings.isPaced, trace),
      options.control,
      trace,
      now,
    );
    if (settings.memory) this.#block.memory = settings.memory;
    if (settings.memory?.isShort === true) this.#block.receiveBuffer.window.shrink();
    this.#keepAlive = settings.keepAlive;
    this.#arrives = new SegmentArrives(this.#block, settings.keepAlive);
    this.#output = new Output(this.#block);
  }

  get state(): TcpState {
    return this.#block.state;
  }

  /** Why it ended early. */
  get failure(): TcpFailure | undefined {
    return this.#block.failure;
  }

  /** Set when it is in TIME-WAIT: to be kept in its place. */
  get timeWait(): TimeWait | undefined {
    return this.#block.timeWait;
  }

  /** Bytes that were written and are not acknowledged yet. */
  get unacknowledged(): number {
    return this.#block.sendBuffer.size;
  }

  /** When a segment of the peer came last, in milliseconds. */
  get heardAt(): number {
    return this.#block.heardAt;
  }

  /** Bytes that it holds in both directions, with what they cost beside. */
  get held(): number {
    return this.#block.sendBuffer.charge + this.#block.receiveBuffer.memory;
  }

  // ---- the stack's calls ----

  /** @param segment reused by the caller: valid during the call only. */
  segmentArrives(segment: TcpSegment, now: number): void {
    this.#arrives.arrives(segment, now);
  }

  /**
   * Writes what may leave now: some `budget` bytes of payload and what belongs to them.
   * @returns whether there is more: to be called again when the output has room and others had their turn.
   */
  transmit(now: number, out: SegmentOutput, budget: number): boolean {
    return this.#output.transmit(now, out, budget);
  }

  /** When `onTimeout` is to be called, and `transmit` after it; Infinity for not at all. */
  nextTimeout(): number {
    const { deadlines, recovery, state } = this.#block;
    if (state === 'CLOSED') return Infinity;
    return Math.min(deadlines.next, recovery.timeout);
  }

  /** Does what is due; before `nextTimeout()` it does nothing. */
  onTimeout(now: number): void {
    const block = this.#block;
    const { deadlines, acknowledgments, recovery } = block;
    if (deadlines.take('close', now)) block.go('CLOSED', now);
    if (deadlines.take('handshake', now)) this.#repeatSyn(now);
    if (deadlines.take('keepAlive', now)) this.#probeSilentPeer(now);
    if (deadlines.take('user', now)) this.#giveUp(now);
    if (block.state === 'CLOSED') return;
    acknowledgments.onTimeout(now);
    if (deadlines.take('persist', now)) this.#probeWindow(now);
    recovery.onTimeout(now);
  }

  /** The next event; `undefined` when there is none. 'closed' comes when the last segment was written. */
  nextEvent(): TcpEvent | undefined {
    return this.#block.nextEvent();
  }

  /** Whether this sequence number is in flight: ICMP errors about others are ignored (RFC 5927 §4.1). */
  isInFlight(sequence: number): boolean {
    const { own, recovery, state, synsSent } = this.#block;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      return synsSent > 0 && sequence === own.initial;
    }
    const offset = own.offset(sequence, recovery.sndUna);
    return offset >= recovery.sndUna && offset < recovery.sndNxt;
  }

  /** The path takes packets of another size: a verified ICMP message says so, or the MTU has changed. */
  onPathMtu(segmentBytes: number, now: number): void {
    const { options, recovery, state, trace } = this.#block;
    if (!options.setSegmentBytes(segmentBytes)) return;
    if (trace !== undefined) trace({ kind: 'mtu', bytes: segmentBytes }, now);
    if (state !== 'LISTEN' && state !== 'SYN-SENT' && state !== 'SYN-RECEIVED') {
      recovery.setMss(options.mss, now);
    }
  }

  /**
   * ICMP reports that a packet with this sequence number cannot be delivered. That ends an attempt to
   * connect; for others it may pass, and retransmission goes on (RFC 1122 §4.2.3.9, RFC 5927 §5.2).
   */
  onUnreachable(sequence: number, now: number): void {
    const block = this.#block;
    if (block.state === 'SYN-SENT' && this.isInFlight(sequence)) block.fail('unreachable', now);
  }

  /**
   * Whether the peer keeps its window closed and lives: it has responded to all probes of the window but
   * the one that may be on its way. Such a reader rests, and may go on (RFC 9293 §3.8.6.1).
   */
  get isPeerResting(): boolean {
    const { recovery, unansweredProbes } = this.#block;
    return recovery.isWindowBlocked && unansweredProbes < 2;
  }

  /** Whether something was sent that had no answer, and is sent again after ever longer waits. */
  get isBackedOff(): boolean {
    const { state, synsSent, isSynDue, recovery, windowProbes, keepAliveProbes } = this.#block;
    switch (state) {
      case 'SYN-SENT':
      case 'SYN-RECEIVED':
        return synsSent > 0 && !isSynDue;
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        return recovery.timeouts > 0 || windowProbes > 0 || keepAliveProbes > 0;
      case 'LISTEN':
      case 'TIME-WAIT':
      case 'CLOSED':
        return false;
      default:
        return state satisfies never;
    }
  }

  /**
   * The path delivers again after a time in which it did not: what had no answer is sent again with the next
   * `transmit` instead of at the end of its wait, and the waits begin anew. For connections that are
   * `isBackedOff`; others do nothing.
   */
  onPathRestored(now: number): void {
    if (!this.isBackedOff) return;
    const block = this.#block;
    if (block.state === 'SYN-SENT' || block.state === 'SYN-RECEIVED') {
      block.synsUnanswered = 0;
      block.isSynDue = true;
      return;
    }
    block.recovery.onPathRestored(now);
    if (block.windowProbes > 0) {
      block.windowProbes = 0;
      block.deadlines.clear('persist');
      block.isProbeDue = true;
    }
    if (block.keepAliveProbes > 0) block.isProbeDue = true;
  }

  // ---- the application's calls ----

  /** Passive: the SYN-ACK leaves with the next `transmit`. */
  accept(): void {
    const block = this.#block;
    if (block.admission !== 'held') return;
    block.admission = 'accepted';
    if (block.state === 'SYN-RECEIVED') block.isSynDue = true;
  }

  /**
   * Passive, instead of `accept`: with a RST, or in silence. Then the client sends its SYN again, and that
   * is a new request.
   */
  refuse(how: 'reset' | 'silent', now: number): void {
    const block = this.#block;
    if (block.admission !== 'held' || block.state === 'CLOSED') return;
    if (how === 'reset') this.abort(now);
    else block.fail('aborted', now);
  }

  /**
   * Queues a chunk, which belongs to the connection from now on. After `closeWrite` and the end it is
   * discarded.
   * @param isOwned whether its memory comes with it: nothing else refers to it.
   * @returns whether more may be written now; otherwise 'writable' follows.
   */
  write(chunk: Uint8Array, isOwned = false): boolean {
    const block = this.#block;
    if (block.isFinQueued || block.state === 'CLOSED') return false;
    return block.sendBuffer.write(chunk, block.memory.isShort, isOwned);
  }

  /** Half-closes: a FIN follows what was written. Idempotent. */
  closeWrite(): void {
    this.#block.isFinQueued = true;
  }

  /**
   * The next chunk, which belongs to the caller; the window opens by it. `undefined`: none for now.
   */
  read(now: number): Uint8Array | undefined {
    const { receiveBuffer, memory } = this.#block;
    return receiveBuffer.take(now, memory.mayGrow);
  }

  /** Whether there is nothing to read any more: everything up to the peer's FIN was read. */
  get isEnded(): boolean {
    const { isPeerFinReached, receiveBuffer } = this.#block;
    return isPeerFinReached && receiveBuffer.readable === 0;
  }

  /** Ends it now (RFC 9293 §3.10.5): with a RST, if the peer knows of it. Idempotent. */
  abort(now: number): void {
    const block = this.#block;
    switch (block.state) {
      case 'LISTEN':
      case 'SYN-SENT':
        break;
      case 'SYN-RECEIVED':
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
        block.resetPeer();
        break;
      case 'CLOSING':
      case 'LAST-ACK':
        // Data may still wait for its ACK: the peer must not take what it has for all of it.
        if (block.recovery.sndUna < block.sendBuffer.end) block.resetPeer();
        break;
      case 'TIME-WAIT':
      case 'CLOSED':
        return;
      default:
        block.state satisfies never;
    }
    block.fail('aborted', now);
    block.receiveBuffer.clear();
  }

  // ---- timeouts ----

  #repeatSyn(now: number): void {
    const block = this.#block;
    const retries = block.state === 'SYN-SENT' ? SYN_RETRIES : SYN_ACK_RETRIES;
    if (block.synsUnanswered > retries) block.fail('timeout', now);
    else block.isSynDue = true;
  }

  /** RFC 9293 §3.8.4. Data in flight and closed windows are probes of their own. */
  #probeSilentPeer(now: number): void {
    const block = this.#block;
    const { deadlines } = block;
    const dueAt = block.heardAt + this.#keepAlive;
    if (dueAt > now) {
      deadlines.set('keepAlive', dueAt);
    } else if (block.isAwaiting || deadlines.isSet('persist')) {
      deadlines.set('keepAlive', now + this.#keepAlive);
    } else if (block.keepAliveProbes >= KEEP_ALIVE_PROBES) {
      this.#giveUp(now);
    } else {
      block.keepAliveProbes++;
      block.isProbeDue = true;
      deadlines.set('keepAlive', now + KEEP_ALIVE_INTERVAL);
      if (block.trace !== undefined) block.trace({ kind: 'keep-alive' }, now);
    }
  }

  #probeWindow(now: number): void {
    const block = this.#block;
    const { trace } = block;
    block.windowProbes++;
    block.unansweredProbes++;
    block.isProbeDue = true;
    if (trace !== undefined) trace({ kind: 'window-probe', count: block.windowProbes }, now);
  }

  #giveUp(now: number): void {
    const block = this.#block;
    block.resetPeer();
    block.fail('timeout', now);
  }
}
