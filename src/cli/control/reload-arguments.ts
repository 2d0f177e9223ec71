import { expectOperands, HELP_OPTION, parseOptions, type CommandSpec } from '../command.ts';
import { UsageError } from '../../errors.ts';
import { optionLines } from '../help.ts';
import { WHICH_OPTIONS, whichOf, type Which } from './socket-option.ts';

export const RELOAD = {
  name: 'reload',
  operands: '[SOCKET]',
  summary: 'reload a running Weir; fails if the reload does',
  options: { ...WHICH_OPTIONS, ...HELP_OPTION },
} as const satisfies CommandSpec;

export const RELOAD_HELP = `weir reload, which waits for the outcome of a reload

Usage: weir reload [options] [SOCKET]

SOCKET is the control socket of a running Weir; it is found without one, as for --socket. The exit
status is 0 when the configuration is in force, and 1 with the reason on standard error when it is
not: the running one is kept then.

Options:
${optionLines(RELOAD.options)}`;

export type ReloadArguments = { readonly kind: 'help' } | ({ readonly kind: 'reload' } & Which);

/** Parses the arguments of `weir reload`. @throws {UsageError} for invalid arguments */
export function parseReload(argv: readonly string[]): ReloadArguments {
  const { values, positionals } = parseOptions(argv, RELOAD.options);
  if (values.help === true) return { kind: 'help' };
  const [operand] = positionals;
  if (operand !== undefined) {
    expectOperands(RELOAD.name, positionals, 'SOCKET');
    if (values.socket !== undefined) throw new UsageError('reload takes SOCKET or --socket');
  }
  return { kind: 'reload', ...whichOf({ ...values, socket: operand ?? values.socket }) };
}
