import { SYN_ACK_RETRIES, SYN_RETRIES } from '../limits.ts';
import type { TcpSegment } from '../wire/tcp.ts';
import { segmentArrives } from './segment-arrives.ts';
import type { SegmentOutput } from './segment-output.ts';
import type { TcpEvent, TcpFailure, TcpState } from './state.ts';
import { Tcb, type TcpConnectionOptions } from './tcb.ts';
import type { TimeWait } from './time-wait.ts';
import { transmit } from './transmit.ts';

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
  readonly #tcb: Tcb;

  constructor(options: TcpConnectionOptions) {
    this.#tcb = new Tcb(options);
  }

  get state(): TcpState {
    return this.#tcb.state;
  }

  /** The reason why the connection ended early. */
  get failure(): TcpFailure | undefined {
    return this.#tcb.failure;
  }

  /** The state in TIME-WAIT, which replaces the connection. */
  get timeWait(): TimeWait | undefined {
    return this.#tcb.timeWait;
  }

  /** Number of bytes that were written and are not acknowledged. */
  get unacknowledged(): number {
    return this.#tcb.sendBuffer.size;
  }

  /** Time at which the last acceptable segment of the peer arrived, in milliseconds. */
  get heardAt(): number {
    return this.#tcb.probes.heardAt;
  }

  /** Memory in bytes held in both directions, with the overhead of chunks. */
  get held(): number {
    return this.#tcb.sendBuffer.charge + this.#tcb.receiveBuffer.memory;
  }

  // ---- the stack's calls ----

  /** SEGMENT ARRIVES (§3.10.7). @param segment reused by the caller, so valid during the call only. */
  segmentArrives(segment: TcpSegment, now: number): void {
    segmentArrives(this.#tcb, segment, now);
  }

  /**
   * Writes the segments that may be sent now, up to about `budget` bytes of payload.
   * @returns whether there are more: the call is repeated when the output has room and other connections have had their
   * turn.
   */
  transmit(now: number, out: SegmentOutput, budget: number): boolean {
    return transmit(this.#tcb, now, out, budget);
  }

  /** Returns the time at which `onTimeout`, and `transmit` after it, must be called; Infinity for never. */
  nextTimeout(): number {
    const tcb = this.#tcb;
    if (tcb.state === 'CLOSED') return Infinity;
    return Math.min(tcb.deadlines.next, tcb.recovery.timeout);
  }

  /** Handles the deadlines that have passed; before `nextTimeout()` it does nothing. */
  onTimeout(now: number): void {
    const tcb = this.#tcb;
    const { deadlines } = tcb;
    if (deadlines.take('close', now)) tcb.enter('CLOSED', now);
    if (deadlines.take('handshake', now)) {
      const retries = tcb.state === 'SYN-SENT' ? SYN_RETRIES : SYN_ACK_RETRIES;
      if (!tcb.syn.onTimeout(retries)) tcb.fail('timeout', now);
    }
    if (deadlines.take('keepAlive', now)) {
      if (!tcb.probes.onKeepAliveTimeout(tcb.isAwaitingAck, now)) this.#giveUp(now);
    }
    if (deadlines.take('user', now)) this.#giveUp(now);
    if (tcb.state === 'CLOSED') return;
    tcb.acks.onTimeout(now);
    if (deadlines.take('persist', now)) tcb.probes.onPersistTimeout(now);
    tcb.recovery.onTimeout(now);
  }

  /**
   * Returns the next event; `undefined` if there is none. 'closed' is deferred until the pending RST, or the last ACK
   * in TIME-WAIT, was written.
   */
  nextEvent(): TcpEvent | undefined {
    const tcb = this.#tcb;
    const isAckDue = tcb.state === 'TIME-WAIT' && tcb.acks.due > 0;
    return tcb.events.next(!tcb.reset.isDue && !isAckDue);
  }

  /** Whether SND.UNA =< SEG.SEQ < SND.NXT: other ICMP errors are ignored (RFC 5927 §4.1). */
  isInFlight(sequence: number): boolean {
    const { sendSpace, recovery, state } = this.#tcb;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      return this.#tcb.syn.isSent && sequence === sendSpace.initial;
    }
    const { sndUna, sndNxt } = recovery;
    const offset = sendSpace.offset(sequence, sndUna);
    return offset >= sndUna && offset < sndNxt;
  }

  /** Applies a change of the path MTU, by a verified ICMP message or with the MTU of the device. */
  onPathMtu(segmentBytes: number, now: number): void {
    const tcb = this.#tcb;
    const { options, recovery, state } = tcb;
    if (!options.setSegmentBytes(segmentBytes)) return;
    if (tcb.trace !== undefined) tcb.trace({ kind: 'mtu', bytes: segmentBytes }, now);
    if (state !== 'LISTEN' && state !== 'SYN-SENT' && state !== 'SYN-RECEIVED') {
      recovery.setMss(options.mss, now);
    }
  }

  /**
   * Handles an ICMP report that a packet with this sequence number cannot be delivered. It ends an attempt to connect.
   * For an established connection it may be transient, and retransmission continues (RFC 1122 §4.2.3.9, RFC 5927 §5.2).
   */
  onUnreachable(sequence: number, now: number): void {
    if (this.#tcb.state === 'SYN-SENT' && this.isInFlight(sequence))
      this.#tcb.fail('unreachable', now);
  }

  /**
   * Whether the peer keeps its window closed but responds: it has responded to all window probes except the one
   * that may be in flight. It may do so indefinitely (RFC 9293 §3.8.6.1).
   */
  get isPeerResting(): boolean {
    return this.#tcb.recovery.isWindowBlocked && this.#tcb.probes.isAnswered;
  }

  /** Whether a segment is unanswered and retransmitted with exponential backoff. */
  get isBackedOff(): boolean {
    const tcb = this.#tcb;
    const { state } = tcb;
    switch (state) {
      case 'SYN-SENT':
      case 'SYN-RECEIVED':
        return tcb.syn.isSent && !tcb.syn.isDue;
      case 'ESTABLISHED':
      case 'FIN-WAIT-1':
      case 'FIN-WAIT-2':
      case 'CLOSE-WAIT':
      case 'CLOSING':
      case 'LAST-ACK':
        return tcb.recovery.timeouts > 0 || tcb.probes.isBackedOff;
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
    const tcb = this.#tcb;
    if (!this.isBackedOff) return;
    const { state } = tcb;
    if (state === 'SYN-SENT' || state === 'SYN-RECEIVED') {
      tcb.syn.onPathRestored();
      return;
    }
    tcb.recovery.onPathRestored(now);
    tcb.probes.onPathRestored();
  }

  // ---- the application's calls ----

  /** Accepts a passive connection: the SYN-ACK is sent with the next `transmit`. */
  accept(): void {
    const syn = this.#tcb.syn;
    if (syn.isAccepted) return;
    syn.isAccepted = true;
    if (this.#tcb.state === 'SYN-RECEIVED') syn.isDue = true;
  }

  /**
   * Refuses a passive connection instead of `accept`, with a RST or without a response. In the latter case the client
   * retransmits its SYN, which is a new request.
   */
  refuse(how: 'reset' | 'silent', now: number): void {
    const tcb = this.#tcb;
    if (tcb.syn.isAccepted || tcb.state === 'CLOSED') return;
    if (how === 'reset') this.abort(now);
    else tcb.fail('aborted', now);
  }

  /**
   * Queues a chunk, which the caller must not change afterwards. After `closeWrite`, and in CLOSED, the chunk is
   * discarded.
   * @param isOwned whether the caller gives up the memory: nothing else refers to it.
   * @returns whether more may be written now; if not, 'writable' follows.
   */
  write(chunk: Uint8Array, isOwned = false): boolean {
    const tcb = this.#tcb;
    const { isFinQueued, sendBuffer } = tcb;
    if (isFinQueued || tcb.state === 'CLOSED') return false;
    return sendBuffer.write(chunk, tcb.memory.isShort, isOwned);
  }

  /** Half-closes the connection: a FIN follows the written data. Idempotent. */
  closeWrite(): void {
    this.#tcb.isFinQueued = true;
  }

  /** Returns the next chunk, which the caller owns; `undefined` if there is none. Opens the receive window. */
  read(now: number): Uint8Array | undefined {
    return this.#tcb.receiveBuffer.take(now, this.#tcb.memory.mayGrow);
  }

  /** Whether everything up to the peer's FIN was read. */
  get isEnded(): boolean {
    const { isFinReceived, receiveBuffer } = this.#tcb;
    return isFinReceived && receiveBuffer.readable === 0;
  }

  /** ABORT (RFC 9293 §3.10.5): sends a RST if the peer has a connection. Idempotent. */
  abort(now: number): void {
    const tcb = this.#tcb;
    const { recovery, sendBuffer, receiveBuffer } = tcb;
    switch (tcb.state) {
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
        tcb.state satisfies never;
    }
    tcb.fail('aborted', now);
    receiveBuffer.clear();
  }

  #giveUp(now: number): void {
    this.#resetPeer();
    this.#tcb.fail('timeout', now);
  }

  /** <SEQ=SND.NXT><ACK=RCV.NXT><CTL=RST,ACK>, or SEQ=ISS before the SYN was sent. */
  #resetPeer(): void {
    const tcb = this.#tcb;
    const { sendSpace, receiveSpace, recovery, rcvNxt } = tcb;
    const sequence = tcb.syn.isSent ? sendSpace.sequence(recovery.sndNxt) : sendSpace.initial;
    tcb.reset.toPeer(sequence, receiveSpace.sequence(rcvNxt));
  }
}
