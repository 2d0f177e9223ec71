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
  json: { type: 'boolean', summary: 'print one line of JSON' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const STATUS = {
  name: 'status',
  operands: '',
  summary: 'print the state of a running Weir: inbounds, balancers, limits,\nthe last reload',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const STATUS_HELP = `weir status, which prints the state of a running Weir

Usage: weir status [options]

Options:
${optionLines(OPTIONS)}The delay of the event loop is measured from the first request on.
`;

export interface StatusArguments extends Which {
  readonly help: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir status`. @throws {UsageError} for invalid arguments */
export function parseStatus(argv: readonly string[]): StatusArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, json = false } = values;
  if (!help) expectOperands(STATUS.name, positionals);
  return { help, json, ...whichOf(values) };
}
