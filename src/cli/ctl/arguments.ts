import {
  expectOperands,
  HELP_OPTION,
  parseOptions,
  unknownCommand,
  UsageError,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { commandLines, optionLines } from '../help.ts';

const ROUTE_NAMES = ['groups', 'targets'] as const;

export type RouteNames = (typeof ROUTE_NAMES)[number];

export interface CtlArguments {
  readonly command: CtlCommand;
  /** The value of `--api`. */
  readonly api: string | undefined;
  readonly secretFile: string | undefined;
  /** JSON lines even on a terminal. */
  readonly json: boolean;
}

export type CtlCommand =
  | {
      readonly kind: 'routes';
      /** Only the names that `ctl pick` takes, for the scripts of `weir completion`. */
      readonly names: RouteNames | undefined;
    }
  | { readonly kind: 'help' | 'reload' | 'traffic' | 'events' | 'version' }
  | { readonly kind: 'connections'; readonly sessions: boolean }
  | {
      readonly kind: 'pick';
      readonly group: string;
      readonly target: string;
      readonly ifMatch: string | undefined;
    }
  | {
      readonly kind: 'close';
      readonly flows: readonly string[];
      readonly selector: ReadonlyMap<string, string>;
    };

const CLOSE_OPTIONS = {
  outbound: { type: 'string', value: 'TAG', summary: 'flows of this outbound' },
  inbound: { type: 'string', value: 'TAG', summary: 'flows of this inbound' },
  session: { type: 'string', value: 'ID', summary: 'flows of this session' },
  user: { type: 'string', value: 'NAME', summary: 'flows of this user' },
  all: { type: 'boolean', summary: 'every flow' },
} as const satisfies OptionTable;

const PICK_OPTIONS = {
  'if-match': {
    type: 'string',
    value: 'ETAG',
    summary: 'only if the configuration file still has this tag',
  },
} as const satisfies OptionTable;

const ROUTES_OPTIONS = {
  names: {
    type: 'string',
    value: 'groups|targets',
    choices: ROUTE_NAMES,
    summary:
      'only the names that pick takes, one on each line, without those\n' +
      'that hold control characters; fails after one second',
  },
} as const satisfies OptionTable;

const CONNECTIONS_OPTIONS = {
  sessions: { type: 'boolean', summary: 'the sessions that carry the flows' },
} as const satisfies OptionTable;

/** Options of all commands. */
const CTL_OPTIONS = {
  api: {
    type: 'string',
    value: 'WHERE',
    summary:
      'http://host:port, host:port, or the path of a unix socket\n' +
      '(default: $WEIR_API, then 127.0.0.1:9090)',
  },
  'secret-file': { type: 'string', value: 'FILE', summary: 'a file with the secret of [api]' },
  json: { type: 'boolean', summary: 'JSON lines also on a terminal' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

const COMMANDS = [
  {
    name: 'routes',
    operands: '',
    summary: 'the default route, the groups and the possible targets',
    options: ROUTES_OPTIONS,
  },
  {
    name: 'pick',
    operands: 'GROUP TARGET',
    summary: 'set the target of a group, or of "default"',
    options: PICK_OPTIONS,
  },
  {
    name: 'reload',
    operands: '',
    summary: 'read the configuration again and apply what has changed',
    options: {},
  },
  {
    name: 'connections',
    operands: '',
    summary: 'the live flows, or the sessions that carry them',
    options: CONNECTIONS_OPTIONS,
  },
  {
    name: 'close',
    operands: '[FLOW...]',
    summary: 'close flows by id, those that match all options given, or all',
    options: CLOSE_OPTIONS,
  },
  { name: 'traffic', operands: '', summary: 'totals and rates, once a second', options: {} },
  { name: 'events', operands: '', summary: 'flows as they open and close', options: {} },
  {
    name: 'version',
    operands: '',
    summary: 'the version of the running program',
    options: {},
  },
] as const satisfies readonly CommandSpec[];

export const CTL = {
  name: 'ctl',
  operands: 'COMMAND',
  summary: 'control a running Weir through its API',
  options: CTL_OPTIONS,
  commands: COMMANDS,
} as const satisfies CommandSpec;

export const CTL_HELP = `weir ctl, a client for the control API

Usage: weir ctl [options] COMMAND

Commands:
${commandLines(COMMANDS)}
Options:
${optionLines(CTL_OPTIONS)}
${COMMANDS.filter(({ options }) => Object.keys(options).length > 0)
  .map(({ name, options }) => `Options of ${name}:\n${optionLines(options)}\n`)
  .join('')}On a terminal the output is a table, in a pipe one line of JSON for each entry.
`;

const SELECTORS = ['outbound', 'inbound', 'session', 'user'] as const;

/** @throws {UsageError} for invalid arguments. */
export function parseCtl(argv: readonly string[]): CtlArguments {
  const { values, positionals } = parse(argv);
  const { api, 'secret-file': secretFile, json = false } = values;
  const [name, ...operands] = positionals;
  if (values.help === true) return { command: { kind: 'help' }, api, secretFile, json };
  if (name === undefined) throw new UsageError('ctl needs a command');
  const chosen = COMMANDS.find((command) => command.name === name);
  if (!chosen) throw unknownCommand(name, COMMANDS, ' of ctl');
  for (const option of Object.keys(values)) {
    if (!(option in CTL_OPTIONS) && !(option in chosen.options)) {
      throw new UsageError(`--${option} does not go with ctl ${name}`);
    }
  }
  return { command: toCommand(chosen.name, operands, values), api, secretFile, json };
}

function toCommand(
  name: (typeof COMMANDS)[number]['name'],
  operands: readonly string[],
  values: Values,
): CtlCommand {
  switch (name) {
    case 'routes':
      expectOperands(`ctl ${name}`, operands);
      return { kind: name, names: toRouteNames(values.names) };
    case 'reload':
    case 'traffic':
    case 'events':
    case 'version':
      expectOperands(`ctl ${name}`, operands);
      return { kind: name };
    case 'connections':
      expectOperands(`ctl ${name}`, operands);
      return { kind: name, sessions: values.sessions ?? false };
    case 'pick': {
      expectOperands('ctl pick', operands, 'GROUP TARGET');
      const [group = '', target = ''] = operands;
      if (group === '') throw new UsageError('ctl pick needs the name of a group');
      return { kind: name, group, target, ifMatch: values['if-match'] };
    }
    case 'close':
      return toClose(operands, values);
    default:
      return name satisfies never;
  }
}

function toRouteNames(text: string | undefined): RouteNames | undefined {
  if (text === undefined) return undefined;
  const names = ROUTE_NAMES.find((one) => one === text);
  if (!names) throw new UsageError(`--names is ${ROUTE_NAMES.join(' or ')}`);
  return names;
}

function toClose(flows: readonly string[], values: Values): CtlCommand {
  const selector = new Map<string, string>();
  for (const field of SELECTORS) {
    const value = values[field];
    if (value !== undefined) selector.set(field, value);
  }
  const ways = [flows.length > 0, selector.size > 0, values.all === true];
  if (ways.filter(Boolean).length !== 1) {
    throw new UsageError('ctl close needs either ids of flows, or selectors, or --all');
  }
  return { kind: 'close', flows, selector };
}

type Values = ReturnType<typeof parse>['values'];

const parse = (argv: readonly string[]) =>
  parseOptions(argv, {
    ...CTL_OPTIONS,
    ...ROUTES_OPTIONS,
    ...PICK_OPTIONS,
    ...CONNECTIONS_OPTIONS,
    ...CLOSE_OPTIONS,
  });
