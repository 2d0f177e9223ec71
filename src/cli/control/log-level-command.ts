import { requestLogFilter } from '../../app/control/control-client.ts';
import { WeirError } from '../../errors.ts';
import { parseFilter } from '../../log/filter.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { needServing } from '../../client/find-serving.ts';
import { LOG_LEVEL, LOG_LEVEL_HELP, parseLogLevel } from './log-level-arguments.ts';

/**
 * `weir log-level`. Resolves with the exit status: 1 if the filter of the running process is
 * unchanged.
 * @throws {UsageError}
 */
export async function logLevelCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { help, socket, config, level } = parseLogLevel(argv);
  if (help) {
    io.stdout.write(LOG_LEVEL_HELP);
    return 0;
  }
  return reportErrors(LOG_LEVEL.name, io, async () => {
    // Reports a syntax error even if no process is running.
    checkFilter(level);
    const outcome = await requestLogFilter(
      await needServing({ socket, config, env: io.env }),
      level,
    );
    if (outcome.kind !== 'failed') return 0;
    throw new WeirError('log_level', outcome.line);
  });
}

/** Checks the syntax of a filter. @throws {WeirError} if it is invalid */
function checkFilter(text: string): void {
  try {
    parseFilter(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new WeirError('log_level', error.message, { cause: error });
  }
}
