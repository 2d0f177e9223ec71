import { Socket } from 'node:net';
import { requestLogFilter } from '../../app/service/reload-socket.ts';
import { WeirError } from '../../errors.ts';
import { parseFilter } from '../../log/filter.ts';
import { printableLines } from '../../printable.ts';
import type { CommandIo } from '../command.ts';
import { LOG_LEVEL_HELP, parseLogLevel } from './log-level-arguments.ts';

/**
 * `weir log-level`. Resolves with the exit status: 1 if the filter of the running process is
 * unchanged.
 * @throws {UsageError}
 */
export async function logLevelCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, socket, level } = parseLogLevel(argv);
  if (help) {
    io.stdout.write(LOG_LEVEL_HELP);
    return 0;
  }
  try {
    // Reports a syntax error even if no process is running.
    parseFilter(level);
    const outcome = await requestLogFilter(new Socket(), socket, level);
    if (outcome.kind !== 'failed') return 0;
    throw new WeirError('log_level', outcome.line);
  } catch (error) {
    if (!(error instanceof WeirError || error instanceof RangeError)) throw error;
    io.stderr.write(`weir log-level: ${printableLines(error.message)}\n`);
    return 1;
  }
}
