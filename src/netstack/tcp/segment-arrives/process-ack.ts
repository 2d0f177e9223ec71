import { MAX_SACK_BLOCKS, TcpFlag, type TcpSegment } from '../../wire/tcp.ts';
import type { TcpParts } from '../tcp-parts.ts';
import type { ReceivedAck } from '../recovery/received-ack.ts';

/** One record for all connections: none is handled within a call of another. */
const receivedAck: ReceivedAck = {
  offset: 0,
  blocks: new Float64Array(2 * MAX_SACK_BLOCKS),
  blockCount: 0,
  echo: -1,
  isDuplicate: false,
};

/**
 * Performs the fifth step of §3.10.7.4 for an acceptable SEG.ACK: SND.UNA, the send window, and the states of closing.
 */
export function processAck(
  parts: TcpParts,
  segment: TcpSegment,
  segSeq: number,
  segAck: number,
  now: number,
): void {
  const { tcb, probes, memory } = parts;
  const { recovery, sendSpace, timestamps, sendBuffer } = tcb;
  const { sndUna } = recovery;
  const wasProbed = probes.isProbingWindow;
  // The window of a SYN-ACK, which only a simultaneous open brings here, is not scaled (RFC 7323 §2.2).
  const scale = (segment.flags & TcpFlag.SYN) === 0 ? tcb.options.sendScale : 0;
  const segWnd = segment.window << scale;
  const echo = timestamps.enabled ? timestamps.sentAt(segment.timestampEcho, now) : -1;
  if (echo >= 0) tcb.receiveBuffer.window.onRoundTrip(now - echo);
  const ack = receivedAck;
  ack.offset = segAck;
  ack.echo = echo;
  ack.isDuplicate =
    segAck === sndUna &&
    tcb.isAwaitingAck &&
    segment.payload === segment.payloadEnd &&
    (segment.flags & TcpFlag.FIN) === 0 &&
    segAck + segWnd === tcb.sndEdge;
  ack.blockCount = tcb.options.sack ? segment.sackCount : 0;
  for (let index = 0; index < 2 * ack.blockCount; index++) {
    ack.blocks[index] = sendSpace.offset(segment.sackBlocks[index] as number, sndUna);
  }
  // If SND.UNA < SEG.ACK =< SND.NXT, set SND.UNA <- SEG.ACK, and remove acknowledged segments from the retransmission
  // queue.
  recovery.onAck(ack, now);

  // If SND.UNA =< SEG.ACK =< SND.NXT, the send window should be updated.
  if (segAck >= sndUna) updateSendWindow(parts, segWnd, segSeq, segAck);
  if (segAck > sndUna) {
    sendBuffer.acknowledge(segAck);
    if (memory.mayGrow) sendBuffer.follow(recovery.cwnd);
    if (sendBuffer.takeWritable(memory.isShort)) parts.events.raise('writable');
  }
  if (segAck > sndUna || wasProbed || tcb.sndEdge <= recovery.sndUna) {
    probes.restartUserTimeout(tcb.isAwaitingAck || recovery.isWindowBlocked, now);
  }
  if (tcb.isFinAcknowledged) finAcknowledged(parts, now);
}

/**
 * Updates the send window: if SND.WL1 < SEG.SEQ, or SND.WL1 = SEG.SEQ and SND.WL2 =< SEG.ACK, sets SND.WND, SND.WL1 and
 * SND.WL2.
 */
function updateSendWindow(
  { tcb, probes }: TcpParts,
  segWnd: number,
  segSeq: number,
  segAck: number,
): void {
  const isNewer = tcb.sndWl1 < segSeq || (tcb.sndWl1 === segSeq && tcb.sndWl2 <= segAck);
  if (!isNewer) return;
  const edge = segAck + segWnd;
  if (edge > tcb.sndEdge) probes.onWindowOpened();
  tcb.sndEdge = edge;
  tcb.sndWl1 = segSeq;
  tcb.sndWl2 = segAck;
  if (segWnd > tcb.maxSndWnd) tcb.maxSndWnd = segWnd;
}

/**
 * Changes the state when the FIN is acknowledged: FIN-WAIT-1 enters FIN-WAIT-2, CLOSING enters TIME-WAIT, LAST-ACK
 * enters CLOSED.
 */
function finAcknowledged({ tcb, machine, events }: TcpParts, now: number): void {
  const { state } = machine;
  if (state === 'FIN-WAIT-1') machine.enter('FIN-WAIT-2', now);
  else if (state === 'CLOSING') machine.enterTimeWait(tcb.timeWaitFacts(), now);
  else if (state === 'LAST-ACK') machine.enter('CLOSED', now);
  else return;
  events.raise('finished');
}
