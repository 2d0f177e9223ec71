import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { READ_ONLY_OPTION, RUNNING_OPTIONS } from '../running-options.ts';

const OPTIONS = {
  ...RUNNING_OPTIONS,
  listen: {
    ...RUNNING_OPTIONS.listen,
    summary: 'has no effect here: taken because the other programs that watch take it',
  },
  ...READ_ONLY_OPTION,
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const TOP = {
  name: 'top',
  operands: '',
  summary: 'show and steer a running Weir in this terminal',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const TOP_HELP = `weir top, which shows and steers a running Weir in a terminal

Usage: weir top [options]

The key ? lists the keys. Every change is shown with its effect and its command before it is made.
Where the input or the output is no terminal, or TERM is dumb, it prints once what it would show,
and ends. NO_COLOR leaves colours away.

Options:
${optionLines(OPTIONS)}`;

/** Parses the arguments of `weir top`. @throws {UsageError} for invalid arguments */
export function parseTop(argv: readonly string[]) {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  if (values.help !== true) expectOperands(TOP.name, positionals);
  return values;
}
