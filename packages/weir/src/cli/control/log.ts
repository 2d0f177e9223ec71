import { followLog, type LogEvent } from '@weir/server/control';
import { jsonLine, textLine } from '@weir/base/log';
import { printableLines } from '@weir/base/printable';
import { needServing } from '@weir/client';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { LOG } from './specs.ts';
import { whichOf } from '../running-options.ts';

const LOG_HELP = `weir log, which prints the latest lines of the log of a running Weir and follows it

Usage: weir log [options]

Options:
${optionLines(LOG.options)}The latest lines are 200 at most. Lines that the running Weir does not log are not here either: weir
log-level changes that. Lines that were lost because this command was not read are counted in their
place.
`;

const parseLog = parserOf(LOG, (values) => {
  const { level, 'no-follow': noFollow = false, json = false } = values;
  return { filter: level, follow: !noFollow, json, ...whichOf(values) };
});

/**
 * `weir log`: the log of a running Weir, until that ends. Resolves with the exit status.
 * @throws {UsageError}
 */
export const logCommand = commandOf(
  LOG.name,
  LOG_HELP,
  parseLog,
  async ({ socket, config, filter, follow, json }, io) => {
    const path = await needServing({ socket, config, env: io.env });
    const closed = new AbortController();
    io.stdout.once('error', () => closed.abort());
    try {
      const { signal } = closed;
      for await (const event of followLog(path, { filter, tail: true, follow, signal })) {
        await put(io.stdout, json ? jsonOf(event) : textOf(event), signal);
      }
    } catch (error) {
      if (!closed.signal.aborted) throw error;
    }
    return 0;
  },
);

/**
 * Writes a text, and waits while the output is not read, so that lines are lost at the other end of the socket, which
 * counts them.
 */
async function put(
  stream: NodeJS.WritableStream,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  stream.write(text, () => resolve());
  await promise;
  signal.removeEventListener('abort', onAbort);
}

function textOf(event: LogEvent): string {
  if (event.kind === 'live') return '';
  if (event.kind === 'lost') return `${lostText(event.count)}\n`;
  const { at, level, target, message } = event;
  return textLine(at, level, target, printableLines(message));
}

function jsonOf(event: LogEvent): string {
  if (event.kind === 'live') return '';
  if (event.kind === 'lost') return `${JSON.stringify({ lost: event.count })}\n`;
  const { at, level, target, message, fields } = event;
  return jsonLine(at, level, target, message, fields);
}

const lostText = (count: number): string =>
  `(${count} ${count === 1 ? 'line was' : 'lines were'} lost here: this command was not read)`;
