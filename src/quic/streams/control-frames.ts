import type { CarriedLog } from '../recovery/carried.ts';
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

/** Where the frames of streams are noted while a packet is written; a `CarriedLog` is one. */
export type StreamFrameNotes = Pick<
  CarriedLog,
  | 'isPacketFull'
  | 'stream'
  | 'resetStream'
  | 'stopSending'
  | 'maxData'
  | 'maxStreamData'
  | 'maxStreams'
  | 'dataBlocked'
  | 'streamDataBlocked'
  | 'streamsBlocked'
>;

/**
 * Writes the control frames that a stream has due, as far as they fit: RESET_STREAM, STOP_SENDING,
 * MAX_STREAM_DATA, STREAM_DATA_BLOCKED. Returns the offset behind them.
 */
export function writeStreamControl(
  stream: Stream,
  out: Uint8Array,
  at: number,
  limit: number,
  carried: StreamFrameNotes,
): number {
  const { id, send, receive } = stream;
  let next = at;
  if (send) {
    const code = send.resetDue;
    if (code !== undefined) {
      if (next + resetStreamSize(id, code, send.sent) > limit) return next;
      next = writeResetStream(out, next, id, code, send.sent);
      carried.resetStream(id);
      send.resetWritten();
    }
  }
  if (receive) {
    const code = receive.stopDue;
    if (code !== undefined) {
      if (next + stopSendingSize(id, code) > limit || carried.isPacketFull) return next;
      next = writeStopSending(out, next, id, code);
      carried.stopSending(id);
      receive.stopWritten();
    }
    if (receive.isLimitDue) {
      if (next + maxStreamDataSize(id, receive.nextLimit) > limit || carried.isPacketFull) {
        return next;
      }
      const granted = receive.announceLimit();
      next = writeMaxStreamData(out, next, id, granted);
      carried.maxStreamData(id, granted);
    }
  }
  if (send?.isBlockedDue) {
    if (next + streamDataBlockedSize(id, send.limit) > limit || carried.isPacketFull) return next;
    const blockedAt = send.reportBlocked();
    next = writeStreamDataBlocked(out, next, id, blockedAt);
    carried.streamDataBlocked(id, blockedAt);
  }
  return next;
}
