import { followLog, LogRefusedError, type LogEvent, type LoggedLine } from '@weir/server/control';
import { WeirError } from '@weir/base';
import type { LogLevel } from '@weir/base/log';
import { bodyInvalid, type ClashContext, clashError } from '../answers/endpoint.ts';
import { isLost } from '../leased-monitor.ts';
import { LOG_FILTERS } from '../translate/configs.ts';
import { type ClashSink, jsonLine } from './sinks.ts';

/** Feeds a client until it disconnects. */
export type ClashFeed = (sink: ClashSink) => void;

/** A path with a stream. */
export interface ClashStream {
  readonly path: string;
  /** Whether the stream requires a WebSocket; otherwise a plain request gets one value. */
  readonly isWebSocketOnly: boolean;
  /**
   * Called before a client is accepted.
   * @throws {LocalHttpError} to reject it
   */
  readonly open: (context: ClashContext, query: URLSearchParams) => Promise<ClashFeed> | ClashFeed;
}

const SECOND_MS = 1_000;
/** Limits of the milliseconds between snapshots: Weir is queried at most once a second anyway. */
const LEAST_INTERVAL = 100;
const LONGEST_INTERVAL = 3_600_000;

/**
 * Sends the current value at intervals. A client that has not accepted the previous value skips one, and is disconnected
 * when the API is lost, since there is no current value then.
 */
function everyTick(
  { live }: ClashContext,
  sink: ClashSink,
  intervalMs: number,
  text: () => Promise<readonly Uint8Array[] | undefined> | readonly Uint8Array[] | undefined,
): () => void {
  const use = live.use();
  let isBusy = false;
  const tick = async (isFirst: boolean): Promise<void> => {
    // Before the first value at most the head of the response is pending, which may not have been sent yet.
    if (isBusy || !(isFirst || sink.isReady)) return;
    isBusy = true;
    try {
      const current = isLost(live.monitor) ? undefined : await text();
      if (isLost(live.monitor)) sink.end();
      else if (current !== undefined) sink.send(current);
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      sink.end();
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(() => void tick(false), intervalMs);
  const stop = (): void => {
    clearInterval(timer);
    use[Symbol.dispose]();
  };
  if (sink.signal.aborted) stop();
  else sink.signal.addEventListener('abort', stop, { once: true });
  return () => void tick(true);
}

function openTraffic(context: ClashContext): ClashFeed {
  return (sink) => {
    everyTick(context, sink, SECOND_MS, () => {
      const { traffic } = context.live.monitor;
      return (
        traffic &&
        jsonLine({
          up: traffic.upRate,
          down: traffic.downRate,
          upTotal: traffic.up,
          downTotal: traffic.down,
        })
      );
    });
  };
}

function openMemory(context: ClashContext): ClashFeed {
  return (sink) => {
    let isFirst = true;
    everyTick(context, sink, SECOND_MS, () => {
      // mihomo starts charts at zero.
      const inuse = isFirst ? 0 : (context.live.monitor.status?.value.memory.resident ?? 0);
      isFirst = false;
      return jsonLine({ inuse, oslimit: 0 });
    });
  };
}

const INTERVAL = /^\d{1,9}$/;

async function openConnections(context: ClashContext, query: URLSearchParams): Promise<ClashFeed> {
  const asked = query.get('interval') ?? '';
  if (asked !== '' && !INTERVAL.test(asked)) throw bodyInvalid();
  const intervalMs = asked === '' ? SECOND_MS : Number(asked);
  const bounded = Math.min(Math.max(intervalMs, LEAST_INTERVAL), LONGEST_INTERVAL);
  using _use = context.live.use();
  // The first snapshot is sent immediately, and so needs the monitor's data.
  await Promise.all([context.facts.recent(), context.live.sampled()]);
  return (sink) => {
    const send = everyTick(context, sink, bounded, () => context.snapshots.latest());
    send();
  };
}

async function openLogs(
  { weir: { socket } }: ClashContext,
  query: URLSearchParams,
): Promise<ClashFeed> {
  const filter = LOG_FILTERS.get(query.get('level') || 'info');
  if (filter === undefined) throw bodyInvalid();
  const isStructured = query.get('format') === 'structured';
  if (filter === 'off') return () => undefined;
  if (socket === undefined) {
    throw clashError(502, 'Weir has no control socket, which its log is followed through');
  }
  const gone = new AbortController();
  const events = followLog(socket, { filter, signal: gone.signal });
  // The first event is `live`; a rejection in its place becomes the response.
  await events.next().catch((error: unknown) => {
    throw error instanceof LogRefusedError ? clashError(503, error.message) : error;
  });
  return (sink) => {
    const stop = (): void => gone.abort();
    if (sink.signal.aborted) stop();
    else sink.signal.addEventListener('abort', stop, { once: true });
    void sendLog(events, sink, isStructured);
  };
}

export const STREAMS: readonly ClashStream[] = [
  { path: '/traffic', isWebSocketOnly: false, open: openTraffic },
  { path: '/memory', isWebSocketOnly: false, open: openMemory },
  { path: '/logs', isWebSocketOnly: false, open: openLogs },
  { path: '/connections', isWebSocketOnly: true, open: openConnections },
];

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

const TYPES: Readonly<Record<LogLevel, string>> = {
  trace: 'debug',
  debug: 'debug',
  info: 'info',
  warn: 'warning',
  error: 'error',
};

/** A line of the log in mihomo's two forms. @param isStructured `?format=structured` */
export function clashLogLine(line: Omit<LoggedLine, 'kind'>, isStructured: boolean): unknown {
  const { at, level, target, message, fields } = line;
  const type = TYPES[level];
  const text = `${target}: ${message}`;
  if (!isStructured) return { type, payload: text };
  return {
    time: timeOf(at),
    // An exception in mihomo itself.
    level: type === 'warning' ? 'warn' : type,
    message: text,
    fields: Object.entries(fields).map(([key, value]) => ({ key, value: String(value) })),
  };
}

/** Lost lines, reported as a line of the log. */
export const lostLogLine = (count: number, at: number, isStructured: boolean): unknown =>
  clashLogLine(
    {
      at,
      level: 'warn',
      target: 'clash_api',
      message: `${count} ${count === 1 ? 'line was' : 'lines were'} lost: the reader was too slow`,
      fields: {},
    },
    isStructured,
  );

/** The local time of day: `14:03:22`. @param at Unix milliseconds */
function timeOf(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
