import { flag, option, HELP_OPTION, type CommandSpec, type OptionTable } from '../command.ts';
import { CONFIG_OPTION } from '../run/command.ts';

/*
 * Names, operands and options of the commands for the configuration file.
 * Help, completions and the manual page are made of them without loading a command.
 */

export const SHOW = {
  name: 'show',
  operands: '',
  summary:
    'print the configuration that is in force, with the place of\neach value; secrets are starred',
  options: {
    ...CONFIG_OPTION,
    json: flag('print one line of JSON: values, and their places'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const FORMAT = {
  name: 'format',
  operands: '[FILE]',
  summary: 'lay out a configuration or subscribe file, comments kept',
  options: {
    config: { ...CONFIG_OPTION.config, summary: 'the same as the operand' },
    check: flag('only report whether the layout is canonical'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const EXPLAIN = {
  name: 'explain',
  operands: 'HOST:PORT',
  summary: 'print the route of a destination, and the rules that were passed over',
  options: {
    ...CONFIG_OPTION,
    from: option('IP', 'the address of the client; 127.0.0.1 unless given'),
    inbound: option('TAG', 'the inbound that the client uses; the first one unless given'),
    network: option('NETWORK', 'tcp, which is the default, or udp', { choices: ['tcp', 'udp'] }),
    sniffed: option('NAME', 'the domain in the first bytes of a flow to an IP address'),
    batch: option(
      'FILE',
      'compare routes with the expectations of FILE, lines such as\n' +
        'HOST:PORT [from=IP] [inbound=TAG] [network=udp] [sniffed=NAME] => OUTBOUND;\n' +
        'the exit status is 1 if any differs',
    ),
    write: flag('with --batch: write the outbounds as they are into FILE'),
    json: flag('print one line of JSON'),
    ...HELP_OPTION,
  },
} as const satisfies CommandSpec;

export const GEO_OPTIONS = {
  config: {
    ...CONFIG_OPTION.config,
    summary: 'a configuration whose [route] names the files',
  },
  geosite: option('FILE', 'a geosite.dat, in place of --config'),
  geoip: option('FILE', 'a geoip.dat, in place of --config'),
  json: flag('print a line of JSON for each list'),
} as const satisfies OptionTable;

export const GEO = {
  name: 'geo',
  operands: 'COMMAND',
  summary: 'print what geosite and geoip files hold',
  options: HELP_OPTION,
  commands: [
    {
      name: 'list',
      operands: '',
      summary: 'the codes of the files, with the numbers of their entries',
      options: GEO_OPTIONS,
    },
    {
      name: 'lookup',
      operands: 'HOST',
      summary: 'the codes that contain a name or an address',
      options: GEO_OPTIONS,
    },
  ],
} as const satisfies CommandSpec;

export const SCHEMA = {
  name: 'schema',
  operands: '',
  summary: 'print a JSON Schema of the configuration file, for editors',
  options: { limits: flag('of the file of weir run --limits in its place'), ...HELP_OPTION },
} as const satisfies CommandSpec;
