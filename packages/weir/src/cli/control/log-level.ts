import { requestLogFilter } from '@weir/server/control';
import { WeirError } from '@weir/base';
import { parseFilter } from '@weir/base/log';
import { commandOf, optionLines, parserOf } from '../command.ts';
import { needServing } from '@weir/client';
import { LOG_LEVEL } from './specs.ts';
import { whichOf } from '../running-options.ts';

const LOG_LEVEL_HELP = `weir log-level, which changes the log of a running Weir

Usage: weir log-level [options] LEVEL

LEVEL is off, error, warn, info, debug or trace, or a list as [log].level takes it:
info,svc_app::instance=debug. It holds until the next start; the configuration and RUST_LOG are
read only there.

Options:
${optionLines(LOG_LEVEL.options)}`;

const parseLogLevel = parserOf(LOG_LEVEL, (values, [level = '']) => ({
  level,
  ...whichOf(values),
}));

/**
 * `weir log-level`. Resolves with the exit status: 1 if the filter of the running process is
 * unchanged.
 * @throws {UsageError}
 */
export const logLevelCommand = commandOf(
  LOG_LEVEL.name,
  LOG_LEVEL_HELP,
  parseLogLevel,
  async ({ socket, config, level }, io) => {
    // Reports a syntax error even if no process is running.
    checkFilter(level);
    const outcome = await requestLogFilter(
      await needServing({ socket, config, env: io.env }),
      level,
    );
    if (outcome.kind !== 'failed') return 0;
    throw new WeirError('log_level', outcome.line);
  },
);

/** Checks the syntax of a filter. @throws {WeirError} if it is invalid */
function checkFilter(text: string): void {
  try {
    parseFilter(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new WeirError('log_level', error.message, { cause: error });
  }
}
