import { ipVersion, unmapIPv4 } from '../../net/addresses/address.ts';
import { normalizeHost } from '../../net/addresses/host-name.ts';
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

const GEO_OPTIONS = {
  config: {
    ...CONFIG_OPTION.config,
    summary: 'a configuration whose [route] names the files',
  },
  geosite: { type: 'string', value: 'FILE', summary: 'a geosite.dat, in place of --config' },
  geoip: { type: 'string', value: 'FILE', summary: 'a geoip.dat, in place of --config' },
  json: { type: 'boolean', summary: 'print a line of JSON for each list' },
} as const satisfies OptionTable;

const COMMANDS = [
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
] as const satisfies readonly Omit<CommandSpec, 'commands'>[];

export const GEO = {
  name: 'geo',
  operands: 'COMMAND',
  summary: 'print what geosite and geoip files hold',
  options: HELP_OPTION,
  commands: COMMANDS,
} as const satisfies CommandSpec;

export const GEO_HELP = `weir geo, the lists of geosite and geoip files

Usage: weir geo list [options]
       weir geo lookup HOST [options]

Commands:
${commandLines(COMMANDS)}
A name is looked up in the geosite file, an address in the geoip file; nothing is resolved.

Options:
${optionLines({ ...GEO_OPTIONS, ...HELP_OPTION })}`;

export interface GeoArguments {
  readonly kind: 'list' | 'lookup';
  readonly config: string | undefined;
  /** Paths of files that replace those of the configuration. */
  readonly geosite: string | undefined;
  readonly geoip: string | undefined;
  /** The host in the form of flows; empty for `list`. */
  readonly host: string;
  readonly json: boolean;
}

/** Parses the arguments of `weir geo`. @throws {UsageError} for invalid arguments */
export function parseGeo(argv: readonly string[]): GeoArguments | { readonly kind: 'help' } {
  const parsed = parseOptions(argv, { ...GEO_OPTIONS, ...HELP_OPTION });
  const { values } = parsed;
  if (values.help === true) return { kind: 'help' };
  const { chosen, operands } = chooseSubcommand(GEO, parsed);
  expectOperands(`geo ${chosen.name}`, operands, chosen.operands);
  const { config, geosite, geoip, json = false } = values;
  for (const [name, value] of Object.entries({ config, geosite, geoip })) {
    if (value === '') throw new UsageError(`--${name} needs the name of a file`);
  }
  if (config !== undefined && (geosite ?? geoip) !== undefined) {
    throw new UsageError('--geosite and --geoip are in place of --config');
  }
  const written = operands[0] ?? '';
  const host = chosen.name === 'list' ? '' : normalizeHost(written);
  if (host === undefined) {
    throw new UsageError(`${JSON.stringify(written)} is neither a name nor an address`);
  }
  return {
    kind: chosen.name,
    config,
    geosite,
    geoip,
    host: ipVersion(host) === 0 ? host : unmapIPv4(host),
    json,
  };
}
