import { HELP_OPTION, type CommandSpec, type OptionTable } from './command.ts';
import { CONFIG_OPTION } from './run/arguments.ts';

export const CHECK_OPTIONS = {
  ...CONFIG_OPTION,
  gateway: {
    type: 'boolean',
    summary: 'check also what a router of other machines needs',
  },
  json: { type: 'boolean', summary: 'print one line of JSON' },
} as const satisfies OptionTable;

export const TUN = {
  name: 'tun',
  operands: 'COMMAND',
  summary: 'check this machine for a tun inbound',
  options: HELP_OPTION,
  commands: [
    {
      name: 'check',
      operands: '',
      summary: 'read this machine, and print what breaks or leaks beside the tun inbounds',
      options: CHECK_OPTIONS,
    },
  ],
} as const satisfies CommandSpec;

export const COMPLETION = {
  name: 'completion',
  operands: 'bash|zsh|fish',
  summary: 'print a script that completes command lines in a shell',
  options: HELP_OPTION,
} as const satisfies CommandSpec;
