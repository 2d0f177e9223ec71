import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { optionLines } from '../help.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const OPTIONS = {
  ...CONFIG_OPTION,
  json: { type: 'boolean', summary: 'print one line of JSON: values, and their places' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

export const SHOW = {
  name: 'show',
  operands: '',
  summary:
    'print the configuration that is in force, with the place of\neach value; secrets are starred',
  options: OPTIONS,
} as const satisfies CommandSpec;

export const SHOW_HELP = `weir show, the configuration that is in force

Usage: weir show [options]

Prints TOML: the nodes and rules of the subscribe file are among the others, picks are targets,
keys that the file leaves out have their defaults. The comment after each value is its place.
Passwords, keys and ids are ***, so the output cannot be run. Paths of WebSockets, names of gRPC
services and URLs of resolvers are in it: look through it before you show it to others.

Options:
${optionLines(OPTIONS)}`;

export interface ShowArguments {
  readonly help: boolean;
  /** `undefined` for the built-in configuration. */
  readonly config: string | undefined;
  readonly json: boolean;
}

/** Parses the arguments of `weir show`. @throws {UsageError} for invalid arguments */
export function parseShow(argv: readonly string[]): ShowArguments {
  const { values, positionals } = parseOptions(argv, OPTIONS);
  const { help = false, config, json = false } = values;
  if (!help) expectOperands(SHOW.name, positionals);
  return { help, config, json };
}
