import { TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import type { TcpParts } from '../tcp-parts.ts';

/** Performs the seventh and eighth step of §3.10.7.4: the segment text, and FIN. */
export function processText(
  parts: TcpParts,
  segment: TcpSegment,
  segSeq: number,
  now: number,
): void {
  const { tcb, acks } = parts;
  const { receiveBuffer } = tcb;
  const { state } = parts.machine;
  const hasFin = (segment.flags & TcpFlag.FIN) !== 0;
  const length = segment.payloadEnd - segment.payload;
  if (length === 0 && !hasFin) return;
  if (state !== 'ESTABLISHED' && state !== 'FIN-WAIT-1' && state !== 'FIN-WAIT-2') {
    // CLOSE-WAIT, CLOSING, LAST-ACK: the peer has sent its FIN, the text is ignored.
    acks.require();
    return;
  }
  const size = Math.min(length, tcb.rcvFin - segSeq);
  if (size > 0) insertText(parts, segment, segSeq, size, now);
  else acks.require();
  if (hasFin) {
    // A FIN beyond the window has to be retransmitted; a second one at another offset is invalid.
    const fin = segSeq + length;
    if (tcb.rcvFin === Infinity && fin <= receiveBuffer.window.edge) tcb.rcvFin = fin;
    acks.require();
  }
  if (tcb.rcvFin <= receiveBuffer.received) finReceived(parts, now);
}

/** Inserts text: RCV.NXT advances over text in order; text out of order is held (SHLD-31) and acknowledged at once. */
function insertText(
  parts: TcpParts,
  segment: TcpSegment,
  segSeq: number,
  size: number,
  now: number,
): void {
  const { acks, events } = parts;
  const { receiveBuffer, options } = parts.tcb;
  const { isShort } = parts.memory;
  const result = receiveBuffer.insert(segSeq, segment.bytes, segment.payload, size, isShort);
  switch (result) {
    case 'in-order':
      acks.onInOrder(size, options.announcedMss, now);
      events.raise('readable');
      break;
    case 'filled':
      acks.require();
      events.raise('readable');
      break;
    case 'out-of-order':
    case 'duplicate':
      acks.onOutOfOrder(options.sack);
      break;
    case 'dropped':
      acks.require();
      parts.rejected.drop('out-of-order-limit', segment, now);
      break;
    default:
      result satisfies never;
  }
}

/** Handles the peer's FIN: RCV.NXT advances over it, and it is acknowledged. */
function finReceived({ tcb, machine, acks, events }: TcpParts, now: number): void {
  const { state } = machine;
  tcb.isFinReceived = true;
  acks.require();
  events.raise('end');
  if (state === 'ESTABLISHED') machine.enter('CLOSE-WAIT', now);
  else if (state === 'FIN-WAIT-1') machine.enter('CLOSING', now);
  else machine.enterTimeWait(tcb.timeWaitFacts(), now);
}
