import { expectOperands, HELP_OPTION, parseOptions, type CommandSpec } from '../command.ts';
import { optionLines } from '../help.ts';

export const RELOAD = {
  name: 'reload',
  operands: 'SOCKET',
  summary:
    'reload the Weir that was started with --reload-socket SOCKET;\nfails if the reload does',
  options: HELP_OPTION,
} as const satisfies CommandSpec;

export const RELOAD_HELP = `weir reload, which waits for the outcome of a reload

Usage: weir reload SOCKET

SOCKET is the --reload-socket of a running Weir. The exit status is 0 when the configuration is in force, and 1 with the
reason on standard error when it is not: the running one is kept then.

Options:
${optionLines(RELOAD.options)}`;

/**
 * The path of the socket; `undefined` for help.
 * @throws {UsageError} for invalid arguments.
 */
export function parseReload(argv: readonly string[]): string | undefined {
  const { values, positionals } = parseOptions(argv, RELOAD.options);
  if (values.help === true) return undefined;
  expectOperands(RELOAD.name, positionals, RELOAD.operands);
  return positionals[0];
}
