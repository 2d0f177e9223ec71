import { TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import type { SharedMemory } from '../buffer-limits.ts';
import type { EventFlags } from '../events.ts';
import type { StateMachine } from '../lifecycle/state-machine.ts';
import type { DelayedAcks } from '../receive/delayed-acks.ts';
import type { Tcb } from '../tcb.ts';
import type { RejectedSegments } from './rejected-segments.ts';

/** The seventh and eighth step of §3.10.7.4: the segment text, and FIN. */
export class TextProcessing {
  readonly #tcb: Tcb;
  readonly #machine: StateMachine;
  readonly #acks: DelayedAcks;
  readonly #events: EventFlags;
  readonly #rejected: RejectedSegments;
  readonly #memory: SharedMemory;

  constructor(
    tcb: Tcb,
    machine: StateMachine,
    acks: DelayedAcks,
    events: EventFlags,
    rejected: RejectedSegments,
    memory: SharedMemory,
  ) {
    this.#tcb = tcb;
    this.#machine = machine;
    this.#acks = acks;
    this.#events = events;
    this.#rejected = rejected;
    this.#memory = memory;
  }

  process(segment: TcpSegment, segSeq: number, now: number): void {
    const tcb = this.#tcb;
    const { receiveBuffer } = tcb;
    const { state } = this.#machine;
    const hasFin = (segment.flags & TcpFlag.FIN) !== 0;
    const length = segment.payloadEnd - segment.payload;
    if (length === 0 && !hasFin) return;
    if (state !== 'ESTABLISHED' && state !== 'FIN-WAIT-1' && state !== 'FIN-WAIT-2') {
      // CLOSE-WAIT, CLOSING, LAST-ACK: the peer has sent its FIN, the text is ignored.
      this.#acks.require();
      return;
    }
    const size = Math.min(length, tcb.rcvFin - segSeq);
    if (size > 0) this.#insertText(segment, segSeq, size, now);
    else this.#acks.require();
    if (hasFin) {
      // A FIN beyond the window has to be sent again; a second one at another offset is invalid.
      const fin = segSeq + length;
      if (tcb.rcvFin === Infinity && fin <= receiveBuffer.window.edge) tcb.rcvFin = fin;
      this.#acks.require();
    }
    if (tcb.rcvFin <= receiveBuffer.received) this.#finReceived(now);
  }

  /** RCV.NXT advances over text in order; text out of order is held (SHLD-31) and acknowledged at once. */
  #insertText(segment: TcpSegment, segSeq: number, size: number, now: number): void {
    const { receiveBuffer, options } = this.#tcb;
    const acks = this.#acks;
    const { isShort } = this.#memory;
    const result = receiveBuffer.insert(segSeq, segment.bytes, segment.payload, size, isShort);
    switch (result) {
      case 'in-order':
        acks.onInOrder(size, options.announcedMss, now);
        this.#events.raise('readable');
        break;
      case 'filled':
        acks.require();
        this.#events.raise('readable');
        break;
      case 'out-of-order':
      case 'duplicate':
        acks.onOutOfOrder(options.sack);
        break;
      case 'dropped':
        acks.require();
        this.#rejected.drop('out-of-order-limit', segment, now);
        break;
      default:
        result satisfies never;
    }
  }

  /** RCV.NXT advances over the FIN, which is acknowledged. */
  #finReceived(now: number): void {
    const machine = this.#machine;
    const { state } = machine;
    this.#tcb.isFinReceived = true;
    this.#acks.require();
    this.#events.raise('end');
    if (state === 'ESTABLISHED') machine.enter('CLOSE-WAIT', now);
    else if (state === 'FIN-WAIT-1') machine.enter('CLOSING', now);
    else machine.enterTimeWait(this.#tcb.timeWaitFacts(), now);
  }
}
