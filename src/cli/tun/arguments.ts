import {
  chooseSubcommand,
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { commandLines, optionLines } from '../help.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';

const CHECK_OPTIONS = {
  ...CONFIG_OPTION,
  gateway: {
    type: 'boolean',
    summary: 'check also what a router of other machines needs',
  },
  json: { type: 'boolean', summary: 'print one line of JSON' },
} as const satisfies OptionTable;

const COMMANDS = [
  {
    name: 'check',
    operands: '',
    summary: 'read this machine, and print what breaks or leaks beside the tun inbounds',
    options: CHECK_OPTIONS,
  },
] as const satisfies readonly Omit<CommandSpec, 'commands'>[];

export const TUN = {
  name: 'tun',
  operands: 'COMMAND',
  summary: 'check this machine for a tun inbound',
  options: HELP_OPTION,
  commands: COMMANDS,
} as const satisfies CommandSpec;

export const TUN_HELP = `weir tun, the machine that a tun inbound is to work on

Usage: weir tun COMMAND [options]

Commands:
${commandLines(COMMANDS)}
check reads routes, rules, the firewall and the resolver of this machine (Linux) and changes
nothing. It needs no root, but reads less without it, and says what. The exit status is 1 when
something breaks.

Options:
${optionLines({ ...CHECK_OPTIONS, ...HELP_OPTION })}`;

export interface TunCheckArguments {
  readonly kind: 'check';
  readonly config: string | undefined;
  readonly isGateway: boolean;
  readonly json: boolean;
}

/** Parses the arguments of `weir tun`. @throws {UsageError} for invalid arguments */
export function parseTun(argv: readonly string[]): TunCheckArguments | { readonly kind: 'help' } {
  const parsed = parseOptions(argv, { ...CHECK_OPTIONS, ...HELP_OPTION });
  const { values } = parsed;
  if (values.help === true) return { kind: 'help' };
  const { chosen, operands } = chooseSubcommand(TUN, parsed);
  expectOperands(`tun ${chosen.name}`, operands);
  const { config, gateway = false, json = false } = values;
  if (config === '') throw new UsageError('--config needs the name of a file');
  return { kind: chosen.name, config, isGateway: gateway, json };
}
