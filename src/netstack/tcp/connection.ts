import type { SendControl } from '../../congestion/send-control.ts';
import type { Trace } from '../trace.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import type { SharedMemory } from './buffer-limits.ts';
import { Deadlines } from './deadlines.ts';
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
import { SegmentArrives } from './segment-arrives/segment-arrives.ts';
import type { SegmentOutput, TcpPath } from './segment-output.ts';
import { SendBuffer } from './send-buffer.ts';
import type { TcpState } from './state.ts';
import { Tcb } from './tcb.ts';
import { Timestamps } from './timestamps.ts';
import { Transmitter } from './transmitter.ts';

/** For connections without a bound on memory. */
const ENOUGH_MEMORY: SharedMemory = { mayGrow: true, isShort: false };

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
  readonly #tcb: Tcb;
  readonly #machine: StateMachine;
  readonly #syn: SynRetransmission;
  readonly #probes: PeerProbes;
  readonly #deadlines = new Deadlines();
  readonly #acks = new DelayedAcks(this.#deadlines);
  readonly #reset = new PendingReset();
  readonly #events = new EventFlags();
  readonly #arrives: SegmentArrives;
  readonly #transmitter: Transmitter;
  readonly #memory: SharedMemory;
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
    const events = this.#events;
    const deadlines = this.#deadlines;
    const state = role === 'active' ? 'SYN-SENT' : 'LISTEN';
    const machine = new StateMachine(state, tcb.sendBuffer, events, deadlines, trace);
    const syn = new SynRetransmission(role, deadlines);
    const probes = new PeerProbes(deadlines, settings.keepAlive, trace, now);
    const parts = { machine, syn, probes, events, acks: this.#acks, reset: this.#reset };
    this.#tcb = tcb;
    this.#machine = machine;
    this.#syn = syn;
    this.#probes = probes;
    this.#memory = memory;
    this.#trace = trace;
    this.#arrives = new SegmentArrives(tcb, parts, memory, trace);
    this.#transmitter = new Transmitter(tcb, parts, trace);
  }

  get state(): TcpState {
    return this.#machine.state;
  }

  /** Why it ended early. */
  get failure(): TcpFailure | undefined {
    return this.#machine.failure;
  }

  /** Set when it is in TIME-WAIT: to be kept in its place. */
  get timeWait(): TimeWait | undefined {
    return this.#machine.timeWait;
  }

  /** Bytes that were written and are not acknowledged yet. */
  get unacknowledged(): number {
    return this.#tcb.sendBuffer.size;
  }

  /** When a segment of the peer came last, in milliseconds. */
  get heardAt(): number {
    return this.#probes.heardAt;
  }

  /** Bytes of memory held in both directions, with the overhead of chunks. */
  get held(): number {
    return this.#tcb.sendBuffer.charge + this.#tcb.receiveBuffer.memory;
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
    return this.#transmitter.transmit(now, out, budget);
  }

  /** When `onTimeout` is to be called, and `transmit` after it; Infinity for not at all. */
  nextTimeout(): number {
    if (this.#machine.state === 'CLOSED') return Infinity;
    return Math.min(this.#deadlines.next, this.#tcb.recovery.timeout);
  }

  /** Does what is due; before `nextTimeout()` it does nothing. */
  onTimeout(now: number): void {
    const deadlines = this.#deadlines;
    const machine = this.#machine;
    if (deadlines.take('close', now)) machine.enter('CLOSED', now);
    if (deadlines.take('handshake', now)) {
      const retries = machine.state === 'SYN-SENT' ? SYN_RETRIES : SYN_ACK_RETRIES;
      if (!this.#syn.onTimeout(retries)) machine.fail('timeout', now);
    }
    if (deadlines.take('keepAlive', now)) {
      if (!this.#probes.onKeepAliveTimeout(this.#tcb.isAwaitingAck, now)) this.#giveUp(now);
    }
    if (deadlines.take('user', now)) this.#giveUp(now);
    if (machine.state === 'CLOSED') return;
    this.#acks.onTimeout(now);
    if (deadlines.take('persist', now)) this.#probes.onPersistTimeout(now);
    this.#tcb.recovery.onTimeout(now);
  }

  /**
   * The next event; `undefined` when there is none. 'closed' is held back until the RST that is due, or the
   * last ACK in TIME-WAIT, was written.
   */
  nextEvent(): TcpEvent | undefined {
    const isAckDue = this.#machine.state === 'TIME-WAIT' && this.#acks.due > 0;
    return this.#events.next(!this.#reset.isDue && !isAckDue);
  }

  /** Whether this sequence number is in flight: ICMP errors about others are ignored (RFC 5927 §4.1). */
  isInFlight(sequence: number): boolean {
    const { sendSpace, recovery } = this.#tcb;
    const { state } = this.#machine;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      return this.#syn.isSent && sequence === sendSpace.initial;
    }
    const { sndUna, sndNxt } = recovery;
    const offset = sendSpace.offset(sequence, sndUna);
    return offset >= sndUna && offset < sndNxt;
  }

  /** The path takes packets of another size: a verified ICMP message says so, or the MTU has changed. */
  onPathMtu(segmentBytes: number, now: number): void {
    const { options, recovery } = this.#tcb;
    if (!options.setSegmentBytes(segmentBytes)) return;
    if (this.#trace !== undefined) this.#trace({ kind: 'mtu', bytes: segmentBytes }, now);
    const { state } = this.#machine;
    if (state !== 'LISTEN' && state !== 'SYN-SENT' && state !== 'SYN-RECEIVED') {
      recovery.setMss(options.mss, now);
    }
  }

  /**
   * ICMP reports that a packet with this sequence number cannot be delivered. That ends an attempt to
   * connect; for others it may pass, and retransmission goes on (RFC 1122 §4.2.3.9, RFC 5927 §5.2).
   */
  onUnreachable(sequence: number, now: number): void {
    const machine = this.#machine;
    if (machine.state === 'SYN-SENT' && this.isInFlight(sequence)) machine.fail('unreachable', now);
  }

  /**
   * Whether the peer keeps its window closed and lives: it has responded to all probes of the window but
   * the one that may be on its way. Such a reader rests, and may go on (RFC 9293 §3.8.6.1).
   */
  get isPeerResting(): boolean {
    return this.#tcb.recovery.isWindowBlocked && this.#probes.isAnswered;
  }

  /** Whether something was sent that had no answer, and is sent again after ever longer waits. */
  get isBackedOff(): boolean {
    const { state } = this.#machine;
    switch (state) {
      case 'SYN-SENT':
      case 'SYN-RECEIVED':
        return this.#syn.isSent && !this.#syn.isDue;
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        return this.#tcb.recovery.timeouts > 0 || this.#probes.isBackedOff;
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
    const { state } = this.#machine;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      this.#syn.onPathRestored();
      return;
    }
    this.#tcb.recovery.onPathRestored(now);
    this.#probes.onPathRestored();
  }

  // ---- the application's calls ----

  /** Passive: the SYN-ACK leaves with the next `transmit`. */
  accept(): void {
    const syn = this.#syn;
    if (syn.isAccepted) return;
    syn.isAccepted = true;
    if (this.#machine.state === 'SYN-RECEIVED') syn.isDue = true;
  }

  /**
   * Passive, instead of `accept`: with a RST, or in silence. Then the client sends its SYN again, and that
   * is a new request.
   */
  refuse(how: 'reset' | 'silent', now: number): void {
    const machine = this.#machine;
    if (this.#syn.isAccepted || machine.state === 'CLOSED') return;
    if (how === 'reset') this.abort(now);
    else machine.fail('aborted', now);
  }

  /**
   * Queues a chunk, which belongs to the connection from now on. After `closeWrite` and the end it is
   * discarded.
   * @param isOwned whether its memory comes with it: nothing else refers to it.
   * @returns whether more may be written now; otherwise 'writable' follows.
   */
  write(chunk: Uint8Array, isOwned = false): boolean {
    const { isFinQueued, sendBuffer } = this.#tcb;
    if (isFinQueued || this.#machine.state === 'CLOSED') return false;
    return sendBuffer.write(chunk, this.#memory.isShort, isOwned);
  }

  /** Half-closes: a FIN follows what was written. Idempotent. */
  closeWrite(): void {
    this.#tcb.isFinQueued = true;
  }

  /**
   * The next chunk, which belongs to the caller; the window opens by it. `undefined`: none for now.
   */
  read(now: number): Uint8Array | undefined {
    return this.#tcb.receiveBuffer.take(now, this.#memory.mayGrow);
  }

  /** Whether there is nothing to read any more: everything up to the peer's FIN was read. */
  get isEnded(): boolean {
    const { isFinReceived, receiveBuffer } = this.#tcb;
    return isFinReceived && receiveBuffer.readable === 0;
  }

  /** Ends it now (RFC 9293 §3.10.5): with a RST, if the peer knows of it. Idempotent. */
  abort(now: number): void {
    const { recovery, sendBuffer, receiveBuffer } = this.#tcb;
    const machine = this.#machine;
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
        // Data may still wait for its ACK: the peer must not take what it has for all of it.
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
    this.#machine.fail('timeout', now);
  }

  /** <SEQ=SND.NXT><ACK=RCV.NXT><CTL=RST,ACK>, or SEQ=ISS before the SYN was sent. */
  #resetPeer(): void {
    const { sendSpace, receiveSpace, recovery, rcvNxt } = this.#tcb;
    const sequence = this.#syn.isSent ? sendSpace.sequence(recovery.sndNxt) : sendSpace.initial;
    this.#reset.toPeer(sequence, receiveSpace.sequence(rcvNxt));
  }
}
