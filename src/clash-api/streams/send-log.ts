import type { LogEvent } from '../../app/control/messages.ts';
import { WeirError } from '../../errors.ts';
import { clashLogLine, lostLogLine } from '../translate/log-lines.ts';
import { jsonLine, type ClashSink } from './clash-sink.ts';

/** Maximum bytes of log lines that wait for a client. */
const MAX_LOG_BACKLOG = 1 << 20;

/**
 * Sends log lines until the client disconnects or the Weir ends. Lines beyond the backlog are lost, which is reported
 * as soon as there is room again. Rejects only for a defect.
 */
export async function sendLog(
  events: AsyncIterable<LogEvent>,
  sink: ClashSink,
  isStructured: boolean,
): Promise<void> {
  let lost = 0;
  const send = (value: unknown): void => sink.send(jsonLine(value));
  const sendLost = (): void => {
    if (lost > 0) send(lostLogLine(lost, Date.now(), isStructured));
    lost = 0;
  };
  try {
    for await (const event of events) {
      const hasRoom = sink.backlog < MAX_LOG_BACKLOG;
      if (event.kind === 'lost') lost += event.count;
      if (event.kind === 'line' && !hasRoom) lost++;
      if (!hasRoom) continue;
      sendLost();
      if (event.kind === 'line') send(clashLogLine(event, isStructured));
    }
  } catch (error) {
    // The client has disconnected, or the Weir has ended.
    if (!sink.signal.aborted && !(error instanceof WeirError)) throw error;
  }
  sink.end();
}
