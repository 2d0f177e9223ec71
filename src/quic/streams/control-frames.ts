import type { FrameLog } from '../recovery/delivery.ts';
import {
  maxStreamDataSize,
  resetStreamSize,
  stopSendingSize,
  streamDataBlockedSize,
  writeMaxStreamData,
  writeResetStream,
  writeStopSending,
  writeStreamDataBlocked,
} from '../wire/frame-writers.ts';
import type { Stream } from './stream.ts';

/**
 * Writes the control frames that a stream has due, as far as they fit: RESET_STREAM, STOP_SENDING,
 * MAX_STREAM_DATA, STREAM_DATA_BLOCKED. Returns the offset behind them.
 */
export function writeStreamControl(
  stream: Stream,
  out: Uint8Array,
  at: number,
  limit: number,
  log: FrameLog,
): number {
  const { id, send, receive } = stream;
  let next = at;
  if (send) {
    const code = send.resetDue;
    if (code !== undefined) {
      if (next + resetStreamSize(id, code, send.sent) > limit) return next;
      next = writeResetStream(out, next, id, code, send.sent);
      send.onResetSent(log);
    }
  }
  if (receive) {
    const code = receive.stopDue;
    if (code !== undefined) {
      if (next + stopSendingSize(id, code) > limit || log.isPacketFull) return next;
      next = writeStopSending(out, next, id, code);
      receive.onStopSent(log);
    }
    if (receive.isLimitDue) {
      if (next + maxStreamDataSize(id, receive.nextLimit) > limit || log.isPacketFull) {
        return next;
      }
      next = writeMaxStreamData(out, next, id, receive.announceLimit(log));
    }
  }
  if (send?.isBlockedDue) {
    if (next + streamDataBlockedSize(id, send.limit) > limit || log.isPacketFull) return next;
    next = writeStreamDataBlocked(out, next, id, send.reportBlocked(log));
  }
  return next;
}
