import { Socket } from 'node:net';
import { asError, messageOf, WeirError } from '../../errors.ts';
import { ControlRequestError, send } from './control-client.ts';
import { toLogEvent, type LogEvent, type LogRequest } from './log-messages.ts';

/** The running Weir has rejected a request for its log; the message is its reason. */
export class LogRefusedError extends WeirError {
  constructor(reason: string) {
    super('log_refused', reason);
  }
}

/** Maximum characters of a line; the longest is an error's text with its place. */
const MAX_LINE = 4 << 20;

const WHAT = 'log';

export interface LogSelection extends LogRequest {
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The log of the process that serves `path`: the latest lines if `tail` is set, then `live`, then lines as they are
 * logged, until that process ends. Lines that are not read in time are lost for this follower, and reported as `lost`.
 *
 * @throws {LogRefusedError} for an invalid filter, and when there are too many followers
 * @throws {ControlRequestError}
 * @throws the reason of `signal`
 */
export async function* followLog(
  path: string,
  { signal, ...request }: LogSelection = {},
): AsyncGenerator<LogEvent, void, undefined> {
  let isLive = false;
  try {
    for await (const line of linesFrom(path, `log ${JSON.stringify(request)}`, signal)) {
      const event = toLogEvent(line);
      if (!event) throw new WeirError('log_line', 'the process sent something else than log lines');
      if (event.kind === 'failed') throw new LogRefusedError(event.line);
      if (event.kind === 'live') isLive = true;
      yield event;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof LogRefusedError) throw error;
    throw new ControlRequestError(WHAT, path, messageOf(error), { cause: error });
  }
  if (isLive) return;
  const reason =
    'the process gave none: it has ended, or is an older Weir, which has no such request';
  throw new ControlRequestError(WHAT, path, reason);
}

/** The lines of a response, until the end of the connection. */
async function* linesFrom(
  path: string,
  request: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  // An abort between two waits is thrown by the next one.
  const client = new Socket().setEncoding('utf8').on('error', () => undefined);
  const onAbort = (): void => void client.destroy(asError(signal?.reason));
  signal?.addEventListener('abort', onAbort);
  let pieces: string[] = [];
  let chars = 0;
  try {
    await send(client, path, request, signal);
    for await (const text of client as AsyncIterable<string>) {
      const [first = '', ...others] = text.split('\n');
      pieces.push(first);
      chars += first.length;
      if (chars > MAX_LINE) throw new WeirError('log_line', 'a line of the log is too long');
      for (const next of others) {
        yield pieces.join('');
        pieces = [next];
        chars = next.length;
      }
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    client.destroy();
  }
}
