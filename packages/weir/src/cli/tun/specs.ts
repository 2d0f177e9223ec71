import { flag, HELP_OPTION, type CommandSpec, type OptionTable } from '../command.ts';
import { CONFIG_OPTION } from '../run/command.ts';

export const CHECK_OPTIONS = {
  ...CONFIG_OPTION,
  gateway: flag('check also what a router of other machines needs'),
  json: flag('print one line of JSON'),
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
