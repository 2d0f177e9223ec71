import type { SendControl } from '../../congestion/send-control.ts';
import type { Trace } from '../trace.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import type { SharedMemory } from './buffer-limits.ts';
import { NamedDeadlines } from '../../collections/named-deadlines.ts';
import type { TcpParts } from './tcp-parts.ts';
import { TCP_DEADLINES, type Deadlines } from './deadlines.ts';
import { EventFlags, type TcpEvent, type TcpFailure } from './events.ts';
import { PeerProbes } from './lifecycle/peer-probes.ts';
import { StateMachine } from './lifecycle/state-machine.ts';
import { SynRetransmission } from './lifecycle/syn-retransmission.ts';
import type { TimeWait } from './lifecycle/time-wait.ts';
import { SYN_ACK_RETRIES, SYN_RETRIES } from './limits.ts';
import { NegotiatedOptions } from './options.ts';
import { PendingReset } from './pending-reset.ts';
import { DelayedAcks } from './receive/delayed-acks.ts';
import { ReceiveBuffer } from './receive/receive-buffer.ts';
import { Recovery } from './recovery/recovery.ts';
import { RejectedSegments } from './segment-arrives/rejected-segments.ts';
import { SegmentArrives } from './segment-arrives/segment-arrives.ts';
import type { SegmentOutput, TcpPath } from './segment-output.ts';
import { SendBuffer } from './send-buffer.ts';
import type { TcpState } from './state.ts';
import { Tcb } from './tcb.ts';
import { Timestamps } from './timestamps.ts';
import { Transmitter } from './transmitter.ts';

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

/**
 * A TCP connection (RFC 9293) as a function of segments and time, in milliseconds. No method throws, whatever the peer
 * sends.
 *
 * After each call that is not a query, the caller handles events, then calls `transmit`, as for `Stack`; `closed` may
 * follow.
 *
 * An active connection sends its SYN with the first `transmit`. A passive one is in LISTEN until its SYN arrives; the
 * SYN-ACK is sent after `accept`, which may be called earlier.
 */
export class TcpConnection {
  readonly #parts: TcpParts;
  readonly #deadlines: Deadlines = new NamedDeadlines(TCP_DEADLINES);
  readonly #arrives: SegmentArrives;
  readonly #transmitter: Transmitter;
  readonly #trace: Trace | undefined;

  constructor(options: TcpConnectionOptions) {
    const { role, control, settings, now, trace } = options;
    const { memory = ENOUGH_MEMORY } = settings;
    const negotiated = new NegotiatedOptions(options.path);
    const tcb = new Tcb(
      options.initialSequence,
      new Timestamps(options.timestampOffset),
      negotiated,
      new SendBuffer(),
      new ReceiveBuffer(now, settings.receiveBuffer),
      new Recovery(control, negotiated.mss, settings.isPaced, trace),
    );
    if (memory.isShort) tcb.receiveBuffer.window.shrink();
    const events = new EventFlags();
    const deadlines = this.#deadlines;
    const acks = new DelayedAcks(deadlines);
    const state = role === 'active' ? 'SYN-SENT' : 'LISTEN';
    const parts: TcpParts = {
      tcb,
      machine: new StateMachine(state, tcb.sendBuffer, events, deadlines, trace),
      syn: new SynRetransmission(role, deadlines),
      probes: new PeerProbes(deadlines, settings.keepAlive, trace, now),
      acks,
      reset: new PendingReset(),
      events,
      rejected: new RejectedSegments(acks, trace),
      memory,
    };
    this.#parts = parts;
    this.#trace = trace;
    this.#arrives = new SegmentArrives(parts);
    this.#transmitter = new Transmitter(parts, trace);
  }

  get state(): TcpState {
    return this.#parts.machine.state;
  }

  /** The reason why the connection ended early. */
  get failure(): TcpFailure | undefined {
    return this.#parts.machine.failure;
  }

  /** The state in TIME-WAIT, which replaces the connection. */
  get timeWait(): TimeWait | undefined {
    return this.#parts.machine.timeWait;
  }

  /** Number of bytes that were written and are not acknowledged. */
  get unacknowledged(): number {
    return this.#parts.tcb.sendBuffer.size;
  }

  /** Time at which the last acceptable segment of the peer arrived, in milliseconds. */
  get heardAt(): number {
    return this.#parts.probes.heardAt;
  }

  /** Memory in bytes held in both directions, with the overhead of chunks. */
  get held(): number {
    return this.#parts.tcb.sendBuffer.charge + this.#parts.tcb.receiveBuffer.memory;
  }

  // ---- the stack's calls ----

  /** SEGMENT ARRIVES (§3.10.7). @param segment reused by the caller, so valid during the call only. */
  segmentArrives(segment: TcpSegment, now: number): void {
    this.#arrives.arrives(segment, now);
  }

  /**
   * Writes the segments that may be sent now, up to about `budget` bytes of payload.
   * @returns whether there are more: the call is repeated when the output has room and other connections have had their
   * turn.
   */
  transmit(now: number, out: SegmentOutput, budget: number): boolean {
    return this.#transmitter.transmit(now, out, budget);
  }

  /** Returns the time at which `onTimeout`, and `transmit` after it, must be called; Infinity for never. */
  nextTimeout(): number {
    if (this.#parts.machine.state === 'CLOSED') return Infinity;
    return Math.min(this.#deadlines.next, this.#parts.tcb.recovery.timeout);
  }

  /** Handles the deadlines that have passed; before `nextTimeout()` it does nothing. */
  onTimeout(now: number): void {
    const deadlines = this.#deadlines;
    const machine = this.#parts.machine;
    if (deadlines.take('close', now)) machine.enter('CLOSED', now);
    if (deadlines.take('handshake', now)) {
      const retries = machine.state === 'SYN-SENT' ? SYN_RETRIES : SYN_ACK_RETRIES;
      if (!this.#parts.syn.onTimeout(retries)) machine.fail('timeout', now);
    }
    if (deadlines.take('keepAlive', now)) {
      if (!this.#parts.probes.onKeepAliveTimeout(this.#parts.tcb.isAwaitingAck, now))
        this.#giveUp(now);
    }
    if (deadlines.take('user', now)) this.#giveUp(now);
    if (machine.state === 'CLOSED') return;
    this.#parts.acks.onTimeout(now);
    if (deadlines.take('persist', now)) this.#parts.probes.onPersistTimeout(now);
    this.#parts.tcb.recovery.onTimeout(now);
  }

  /**
   * Returns the next event; `undefined` if there is none. 'closed' is deferred until the pending RST, or the last ACK
   * in TIME-WAIT, was written.
   */
  nextEvent(): TcpEvent | undefined {
    const isAckDue = this.#parts.machine.state === 'TIME-WAIT' && this.#parts.acks.due > 0;
    return this.#parts.events.next(!this.#parts.reset.isDue && !isAckDue);
  }

  /** Whether SND.UNA =< SEG.SEQ < SND.NXT: other ICMP errors are ignored (RFC 5927 §4.1). */
  isInFlight(sequence: number): boolean {
    const { sendSpace, recovery } = this.#parts.tcb;
    const { state } = this.#parts.machine;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      return this.#parts.syn.isSent && sequence === sendSpace.initial;
    }
    const { sndUna, sndNxt } = recovery;
    const offset = sendSpace.offset(sequence, sndUna);
    return offset >= sndUna && offset < sndNxt;
  }

  /** Applies a change of the path MTU, by a verified ICMP message or with the MTU of the device. */
  onPathMtu(segmentBytes: number, now: number): void {
    const { options, recovery } = this.#parts.tcb;
    if (!options.setSegmentBytes(segmentBytes)) return;
    if (this.#trace !== undefined) this.#trace({ kind: 'mtu', bytes: segmentBytes }, now);
    const { state } = this.#parts.machine;
    if (state !== 'LISTEN' && state !== 'SYN-SENT' && state !== 'SYN-RECEIVED') {
      recovery.setMss(options.mss, now);
    }
  }

  /**
   * Handles an ICMP report that a packet with this sequence number cannot be delivered. It ends an attempt to connect.
   * For an established connection it may be transient, and retransmission continues (RFC 1122 §4.2.3.9, RFC 5927 §5.2).
   */
  onUnreachable(sequence: number, now: number): void {
    const machine = this.#parts.machine;
    if (machine.state === 'SYN-SENT' && this.isInFlight(sequence)) machine.fail('unreachable', now);
  }

  /**
   * Whether the peer keeps its window closed but responds: it has responded to all window probes except the one
   * that may be in flight. It may do so indefinitely (RFC 9293 §3.8.6.1).
   */
  get isPeerResting(): boolean {
    return this.#parts.tcb.recovery.isWindowBlocked && this.#parts.probes.isAnswered;
  }

  /** Whether a segment is unanswered and retransmitted with exponential backoff. */
  get isBackedOff(): boolean {
    const { state } = this.#parts.machine;
    switch (state) {
      case 'SYN-SENT':
      case 'SYN-RECEIVED':
        return this.#parts.syn.isSent && !this.#parts.syn.isDue;
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        return this.#parts.tcb.recovery.timeouts > 0 || this.#parts.probes.isBackedOff;
      case 'LISTEN':
      case 'TIME-WAIT':
      case 'CLOSED':
        return false;
      default:
        return state satisfies never;
    }
  }

  /**
   * Called when the path delivers packets again after an outage: unanswered segments are sent with the next `transmit`,
   * and backoff starts again. No effect unless `isBackedOff`.
   */
  onPathRestored(now: number): void {
    if (!this.isBackedOff) return;
    const { state } = this.#parts.machine;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      this.#parts.syn.onPathRestored();
      return;
    }
    this.#parts.tcb.recovery.onPathRestored(now);
    this.#parts.probes.onPathRestored();
  }

  // ---- the application's calls ----

  /** Accepts a passive connection: the SYN-ACK is sent with the next `transmit`. */
  accept(): void {
    const syn = this.#parts.syn;
    if (syn.isAccepted) return;
    syn.isAccepted = true;
    if (this.#parts.machine.state === 'SYN-RECEIVED') syn.isDue = true;
  }

  /**
   * Refuses a passive connection instead of `accept`, with a RST or without a response. In the latter case the client
   * retransmits its SYN, which is a new request.
   */
  refuse(how: 'reset' | 'silent', now: number): void {
    const machine = this.#parts.machine;
    if (this.#parts.syn.isAccepted || machine.state === 'CLOSED') return;
    if (how === 'reset') this.abort(now);
    else machine.fail('aborted', now);
  }

  /**
   * Queues a chunk, which the caller must not change afterwards. After `closeWrite`, and in CLOSED, the chunk is
   * discarded.
   * @param isOwned whether the caller gives up the memory: nothing else refers to it.
   * @returns whether more may be written now; if not, 'writable' follows.
   */
  write(chunk: Uint8Array, isOwned = false): boolean {
    const { isFinQueued, sendBuffer } = this.#parts.tcb;
    if (isFinQueued || this.#parts.machine.state === 'CLOSED') return false;
    return sendBuffer.write(chunk, this.#parts.memory.isShort, isOwned);
  }

  /** Half-closes the connection: a FIN follows the written data. Idempotent. */
  closeWrite(): void {
    this.#parts.tcb.isFinQueued = true;
  }

  /** Returns the next chunk, which the caller owns; `undefined` if there is none. Opens the receive window. */
  read(now: number): Uint8Array | undefined {
    return this.#parts.tcb.receiveBuffer.take(now, this.#parts.memory.mayGrow);
  }

  /** Whether everything up to the peer's FIN was read. */
  get isEnded(): boolean {
    const { isFinReceived, receiveBuffer } = this.#parts.tcb;
    return isFinReceived && receiveBuffer.readable === 0;
  }

  /** ABORT (RFC 9293 §3.10.5): sends a RST if the peer has a connection. Idempotent. */
  abort(now: number): void {
    const { recovery, sendBuffer, receiveBuffer } = this.#parts.tcb;
    const machine = this.#parts.machine;
    switch (machine.state) {
      case 'LISTEN':
      case 'SYN-SENT':
        break;
      case 'SYN-RECEIVED':
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
        this.#resetPeer();
        break;
      case 'CLOSING':
      case 'LAST-ACK':
        // With unacknowledged data the peer must not take a clean end for the end of the stream.
        if (recovery.sndUna < sendBuffer.end) this.#resetPeer();
        break;
      case 'TIME-WAIT':
      case 'CLOSED':
        return;
      default:
        machine.state satisfies never;
    }
    machine.fail('aborted', now);
    receiveBuffer.clear();
  }

  #giveUp(now: number): void {
    this.#resetPeer();
    this.#parts.machine.fail('timeout', now);
  }

  /** <SEQ=SND.NXT><ACK=RCV.NXT><CTL=RST,ACK>, or SEQ=ISS before the SYN was sent. */
  #resetPeer(): void {
    const { sendSpace, receiveSpace, recovery, rcvNxt } = this.#parts.tcb;
    const sequence = this.#parts.syn.isSent
      ? sendSpace.sequence(recovery.sndNxt)
      : sendSpace.initial;
    this.#parts.reset.toPeer(sequence, receiveSpace.sequence(rcvNxt));
  }
}
