import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { WHICH_OPTIONS, whichOf, type Which } from './socket-option.ts';

const OPTIONS = { ...WHICH_OPTIONS, ...HELP_OPTION } as const satisfies OptionTable;

export const LOG_LEVEL = {
  name: 'log-level',
  operands: 'LEVEL',
  summary: 'change what a running Weir logs, until its next start',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const LOG_LEVEL_HELP = `weir log-level, which changes the log of a running Weir

Usage: weir log-level [options] LEVEL

LEVEL is off, error, warn, info, debug or trace, or a list as [log].level takes it:
info,svc_app::instance=debug. It holds until the next start; the configuration and RUST_LOG are
read only there.

Options:
${optionLines(OPTIONS)}`;

export interface LogLevelArguments extends Which {
  readonly help: boolean;
  readonly level: string;
}

/** Parses the arguments of `weir log-level`. @throws {UsageError} for invalid arguments */
export function parseLogLevel(argv: readonly string[]): LogLevelArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false } = values;
  if (!help) expectOperands(LOG_LEVEL.name, positionals, LOG_LEVEL.operands);
  return { help, level: positionals[0] ?? '', ...whichOf(values) };
}
