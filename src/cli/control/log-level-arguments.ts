import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  UsageError,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';

/** The socket of the packaged service. */
const SERVICE_SOCKET = '/run/weir/reload.sock';

const OPTIONS = {
  socket: {
    type: 'string',
    short: 's',
    value: 'PATH',
    summary: `the --reload-socket of the running Weir;\n${SERVICE_SOCKET} unless given`,
  },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const LOG_LEVEL = {
  name: 'log-level',
  operands: 'LEVEL',
  summary: 'change what a running Weir logs, until its next start',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const LOG_LEVEL_HELP = `weir log-level, which changes the log of a running Weir

Usage: weir log-level [options] LEVEL

LEVEL is off, error, warn, info, debug or trace, or a list as [log].level takes it: info,svc_app::instance=debug. It holds until
the next start; the configuration and RUST_LOG are read only there.

Options:
${optionLines(OPTIONS)}`;

export interface LogLevelArguments {
  readonly help: boolean;
  readonly socket: string;
  readonly level: string;
}

/** @throws {UsageError} for invalid arguments. */
export function parseLogLevel(argv: readonly string[]): LogLevelArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, socket = SERVICE_SOCKET } = values;
  if (!help) expectOperands(LOG_LEVEL.name, positionals, LOG_LEVEL.operands);
  if (socket === '') throw new UsageError('--socket needs the path of a socket');
  return { help, socket, level: positionals[0] ?? '' };
}
