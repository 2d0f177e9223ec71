import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { WHICH_OPTIONS, whichOf, type Which } from './socket-option.ts';

const OPTIONS = {
  ...WHICH_OPTIONS,
  level: {
    type: 'string',
    short: 'l',
    value: 'FILTER',
    summary:
      'only these lines: a level, or a list as [log].level takes\nit: warn,svc_app::instance=info',
  },
  'no-follow': { type: 'boolean', summary: 'print the latest lines and exit' },
  json: { type: 'boolean', summary: 'print a line of JSON for each, as WEIR_LOG=json does' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const LOG = {
  name: 'log',
  operands: '',
  summary: 'print the latest lines of the log of a running Weir, and follow it',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const LOG_HELP = `weir log, which prints the latest lines of the log of a running Weir and follows it

Usage: weir log [options]

Options:
${optionLines(OPTIONS)}The latest lines are 200 at most. Lines that the running Weir does not log are not here either: weir
log-level changes that. Lines that were lost because this command was not read are counted in their
place.
`;

export interface LogCommandArguments extends Which {
  readonly help: boolean;
  readonly filter: string | undefined;
  readonly follow: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir log`. @throws {UsageError} for invalid arguments */
export function parseLog(argv: readonly string[]): LogCommandArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, level, 'no-follow': noFollow = false, json = false } = values;
  if (!help) expectOperands(LOG.name, positionals);
  return { help, filter: level, follow: !noFollow, json, ...whichOf(values) };
}
