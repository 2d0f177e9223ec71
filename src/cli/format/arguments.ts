import { HELP_OPTION, parseOptions, type CommandSpec, type OptionTable } from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const OPTIONS = {
  config: { ...CONFIG_OPTION.config, summary: 'the same as the operand' },
  check: { type: 'boolean', summary: 'only report whether the layout is canonical' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const FORMAT = {
  name: 'format',
  operands: '[FILE]',
  summary: 'lay out a configuration or subscribe file, comments kept',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const FORMAT_HELP = `weir format, the layout of a file

Usage: weir format [--check] FILE
       weir format - < FILE

Only white space and line breaks change: no indentation but inside brackets, one space around =,
an empty line above each header; comments stay where they are aligned. The file is replaced as a
whole; - reads standard input and writes standard output. With --check nothing is written, and the
exit status is 1 for another layout.

Options:
${optionLines(OPTIONS)}`;

export interface FormatArguments {
  readonly help: boolean;
  /** Path of the file; `-` for standard input. */
  readonly file: string;
  readonly check: boolean;
}

/** Parses the arguments of `weir format`. @throws {UsageError} for invalid arguments */
export function parseFormat(argv: readonly string[]): FormatArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, check = false, config } = values;
  const files = [...(config === undefined ? [] : [config]), ...positionals];
  if (!help && (files.length !== 1 || files[0] === '')) {
    throw new UsageError('format needs one FILE, or - for standard input');
  }
  return { help, check, file: files[0] ?? '' };
}
