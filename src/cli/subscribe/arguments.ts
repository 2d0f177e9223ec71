import {
  chooseSubcommand,
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { commandLines, optionLines, subcommandOptionLines } from '../help.ts';
import { SOCKET_OPTION } from '../control/socket-option.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';
import { parseBytes, parseDuration } from '../option-values.ts';

/** Options of all commands. */
const SUBSCRIBE_OPTIONS = {
  config: {
    ...CONFIG_OPTION.config,
    summary: 'the configuration; its [subscribe].path is where nodes go',
  },
  json: { type: 'boolean', summary: 'print JSON' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

/** Options of commands that change nodes. */
const CHANGE_OPTIONS = {
  'dry-run': { type: 'boolean', summary: 'show what would change, and change nothing' },
  verbose: { type: 'boolean', summary: 'name the nodes' },
  ...SOCKET_OPTION,
} as const satisfies OptionTable;

const FETCH_FORCE = {
  force: { type: 'boolean', summary: 'accept a list that lacks most of the nodes' },
} as const satisfies OptionTable;

const ADD_OPTIONS = {
  ...CHANGE_OPTIONS,
  ...FETCH_FORCE,
  outbound: { type: 'string', value: 'TAG', summary: 'fetch through this outbound' },
  'user-agent': {
    type: 'string',
    value: 'TEXT',
    summary: 'what Weir says it is; providers choose the format by it',
  },
  interval: {
    type: 'string',
    value: 'TIME',
    summary:
      'the time between updates, such as 12h; otherwise what the\nprovider asks for, or a day',
  },
  'max-size': { type: 'string', value: 'SIZE', summary: 'the largest answer, such as 2M (4M)' },
  timeout: { type: 'string', value: 'TIME', summary: 'how long a fetch may take (30s)' },
} as const satisfies OptionTable;

const UPDATE_OPTIONS = {
  ...CHANGE_OPTIONS,
  ...FETCH_FORCE,
  all: { type: 'boolean', summary: 'all sources, which is the default' },
  'if-due': { type: 'boolean', summary: 'only sources whose interval is over' },
} as const satisfies OptionTable;

const REMOVE_OPTIONS = {
  ...CHANGE_OPTIONS,
  force: { type: 'boolean', summary: 'keep nodes that are in use as your own' },
} as const satisfies OptionTable;

const COMMANDS = [
  {
    name: 'add',
    operands: 'NAME URL',
    summary: 'add a source and its nodes; URL may be - for standard input',
    options: ADD_OPTIONS,
  },
  {
    name: 'update',
    operands: '[NAME...]',
    summary: 'fetch sources again and take over what has changed',
    options: UPDATE_OPTIONS,
  },
  {
    name: 'list',
    operands: '',
    summary: 'the sources, with the age of their nodes and the quota',
    options: {},
  },
  {
    name: 'remove',
    operands: 'NAME',
    summary: 'remove a source with its nodes',
    options: REMOVE_OPTIONS,
  },
] as const satisfies readonly CommandSpec[];

export const SUBSCRIBE = {
  name: 'subscribe',
  operands: 'COMMAND',
  summary: 'keep the nodes of subscriptions up to date',
  options: SUBSCRIBE_OPTIONS,
  commands: COMMANDS,
} as const satisfies CommandSpec;

export const SUBSCRIBE_HELP = `weir subscribe, nodes from the URLs of providers

Usage: weir subscribe COMMAND --config FILE [options]

Commands:
${commandLines(COMMANDS)}
Options:
${optionLines(SUBSCRIBE_OPTIONS)}
${subcommandOptionLines(COMMANDS)}A list is taken over when the whole configuration is valid with it, and the running Weir is
reloaded then. Anything else, such as a web page, an expired account or half a list, changes
nothing: the exit status is 1. A node keeps the name that it got first; one that is gone stays
while something refers to it.
`;

/** Parsed options that all commands share. */
interface CommonArguments {
  readonly config: string;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly socket: string | undefined;
}

export type SubscribeArguments =
  | (CommonArguments & {
      readonly kind: 'add';
      readonly name: string;
      /** The URL of the source; `-` to read it from standard input. */
      readonly url: string;
      readonly outbound: string | undefined;
      readonly userAgent: string | undefined;
      /** Update interval in seconds. */
      readonly interval: number | undefined;
      /** Maximum bytes of a response. */
      readonly maxSize: number | undefined;
      /** Time limit of a fetch, in seconds. */
      readonly timeout: number | undefined;
    })
  | (CommonArguments & {
      readonly kind: 'update';
      readonly names: readonly string[];
      readonly ifDue: boolean;
    })
  | (CommonArguments & { readonly kind: 'list' })
  | (CommonArguments & { readonly kind: 'remove'; readonly name: string });

/** Parses the arguments of `weir subscribe`. @throws {UsageError} for invalid arguments */
export function parseSubscribe(
  argv: readonly string[],
): SubscribeArguments | { readonly kind: 'help' } {
  const parsed = parse(argv);
  const { values } = parsed;
  if (values.help === true) return { kind: 'help' };
  const { chosen, operands } = chooseSubcommand(SUBSCRIBE, parsed);
  const { config = '', json = false, verbose = false, force = false, socket } = values;
  if (config === '') throw new UsageError(`subscribe ${chosen.name} needs --config FILE`);
  const common = { config, json, verbose, force, socket, dryRun: values['dry-run'] ?? false };
  return toArguments(chosen.name, operands, values, common);
}

function toArguments(
  kind: (typeof COMMANDS)[number]['name'],
  operands: readonly string[],
  values: Values,
  common: CommonArguments,
): SubscribeArguments {
  const [name = '', url = ''] = operands;
  switch (kind) {
    case 'add': {
      expectOperands('subscribe add', operands, 'NAME URL');
      const { outbound, interval, timeout } = values;
      return {
        ...common,
        kind,
        name,
        url,
        outbound,
        userAgent: values['user-agent'],
        interval: interval === undefined ? undefined : parseDuration('--interval', interval),
        maxSize:
          values['max-size'] === undefined
            ? undefined
            : parseBytes('--max-size', values['max-size']),
        timeout: timeout === undefined ? undefined : parseDuration('--timeout', timeout),
      };
    }
    case 'update':
      if (values.all === true && operands.length > 0) {
        throw new UsageError('subscribe update takes either names or --all');
      }
      return { ...common, kind, names: operands, ifDue: values['if-due'] ?? false };
    case 'list':
      expectOperands('subscribe list', operands);
      return { ...common, kind };
    case 'remove':
      expectOperands('subscribe remove', operands, 'NAME');
      return { ...common, kind, name };
    default:
      return kind satisfies never;
  }
}

type Values = ReturnType<typeof parse>['values'];

const parse = (argv: readonly string[]) =>
  parseOptions(argv, {
    ...SUBSCRIBE_OPTIONS,
    ...ADD_OPTIONS,
    ...UPDATE_OPTIONS,
    ...REMOVE_OPTIONS,
  });
