import { TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import type { ControlBlock } from '../control-block.ts';
import { SequenceSpace } from '../sequence.ts';

const { SYN, RST, ACK } = TcpFlag;

/** What segments do before the connection is established: RFC 9293 §3.10.7.2 and §3.10.7.3. */
export class Opening {
  readonly #block: ControlBlock;
  readonly #keepAlive: number;

  /** @param keepAlive see `TcpSettings`. */
  constructor(block: ControlBlock, keepAlive: number) {
    this.#block = block;
    this.#keepAlive = keepAlive;
  }

  // ---- §3.10.7.2: LISTEN ----

  inListen(segment: TcpSegment, now: number): void {
    const block = this.#block;
    const { flags } = segment;
    if ((flags & RST) !== 0) block.drop('reset', segment, now);
    else if ((flags & ACK) !== 0) block.resetFor(segment);
    else if ((flags & SYN) === 0) block.drop('no-acknowledgment', segment, now);
    else {
      this.#takeSyn(segment, now);
      block.go('SYN-RECEIVED', now);
      if (block.admission === 'accepted') block.isSynDue = true;
      else block.events.raise('requested');
    }
  }

  /**
   * SYN-RECEIVED before the SYN-ACK was sent: the client knows of nothing, and sends its SYN again. That
   * is absorbed; another SYN is another connection of a client that has given up the first.
   */
  whileHeld(segment: TcpSegment, now: number): void {
    const block = this.#block;
    const { flags } = segment;
    if ((flags & RST) !== 0) {
      if (segment.sequence === block.peer.sequence(0)) block.fail('refused', now);
      else block.drop('reset', segment, now);
    } else if ((flags & ACK) !== 0) block.resetFor(segment);
    else if ((flags & SYN) !== 0 && segment.sequence !== block.peer.initial) {
      this.#takeSyn(segment, now);
    } else block.drop('state', segment, now);
  }

  // ---- §3.10.7.3: SYN-SENT ----

  /** @returns whether it has established the connection: then its text is taken. */
  inSynSent(segment: TcpSegment, now: number): boolean {
    const block = this.#block;
    const { flags } = segment;
    const hasAcknowledgment = (flags & ACK) !== 0;
    if (hasAcknowledgment) {
      const isAcceptable = block.synsSent > 0 && segment.acknowledgment === block.own.sequence(0);
      if (!isAcceptable) {
        if ((flags & RST) === 0) block.resetFor(segment);
        block.drop('acknowledgment', segment, now);
        return false;
      }
    }
    if ((flags & RST) !== 0) {
      if (hasAcknowledgment) block.fail('refused', now);
      else block.drop('reset', segment, now);
      return false;
    }
    if ((flags & SYN) === 0) {
      block.drop('state', segment, now);
      return false;
    }
    this.#takeSyn(segment, now);
    if (!hasAcknowledgment) {
      // Simultaneous open (§3.5): the SYN-ACK is sent in place of the next SYN.
      block.go('SYN-RECEIVED', now);
      block.isSynDue = true;
      return false;
    }
    this.establish(now);
    block.acknowledgments.require();
    return true;
  }

  /** This side's SYN is acknowledged. */
  establish(now: number): void {
    const block = this.#block;
    block.go('ESTABLISHED', now);
    block.isSynDue = false;
    block.deadlines.clear('handshake');
    block.recovery.start(block.options.sack, block.options.mss);
    const roundTrip = block.synsSent === 1 ? now - block.synSentAt : undefined;
    block.recovery.onHandshake(roundTrip, now);
    if (roundTrip !== undefined) block.receiveBuffer.window.onRoundTrip(roundTrip);
    if (this.#keepAlive > 0) block.deadlines.set('keepAlive', now + this.#keepAlive);
    block.events.raise('established');
  }

  #takeSyn(segment: TcpSegment, now: number): void {
    const block = this.#block;
    const { options, timestamps } = block;
    block.peer = new SequenceSpace(segment.sequence);
    options.onSyn(segment);
    timestamps.enabled = options.timestamps;
    timestamps.recent = segment.timestamp;
    timestamps.recentAt = now;
    // The window of a SYN is not scaled. Data that came with it is not taken: the peer sends it again.
    block.windowEdge = segment.window;
    block.largestWindow = segment.window;
    block.windowFromSequence = -1;
    block.windowFromAcknowledgment = -1;
    block.heardAt = now;
  }
}
