import {
  chooseSubcommand,
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import type { RunningSearch } from '../../client/find-running.ts';
import { UsageError } from '../../errors.ts';
import { SOCKET_OPTION } from '../control/socket-option.ts';
import { commandLines, optionLines, subcommandOptionLines } from '../help.ts';
import { RUNNING_OPTIONS, searchOf } from '../running-options.ts';

const ROUTE_NAMES = ['groups', 'targets'] as const;

export type RouteNames = (typeof ROUTE_NAMES)[number];

export interface CtlArguments {
  readonly command: CtlCommand;
  /** Options that select a running Weir. */
  readonly search: Omit<RunningSearch, 'env'>;
  /** Whether to write JSON lines even on a terminal. */
  readonly json: boolean;
}

export type CtlCommand =
  | {
      readonly kind: 'routes';
      /** Lists only the names that `ctl pick` accepts, for the scripts of `weir completion`. */
      readonly names: RouteNames | undefined;
    }
  | { readonly kind: 'help' | 'reload' | 'traffic' | 'events' | 'version' }
  | { readonly kind: 'connections'; readonly sessions: boolean }
  | {
      readonly kind: 'pick';
      readonly group: string;
      readonly target: string;
      readonly ifMatch: string | undefined;
      /** Whether to close the flows that are open on the old target. */
      readonly close: boolean;
      /** Whether to only report how many flows there are. */
      readonly dryRun: boolean;
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
  close: {
    type: 'boolean',
    summary: "close the group's flows that are open on the old target",
  },
  'dry-run': {
    type: 'boolean',
    summary: 'with --close: print how many flows that are, and change nothing',
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
  api: RUNNING_OPTIONS.api,
  'secret-file': RUNNING_OPTIONS['secret-file'],
  config: RUNNING_OPTIONS.config,
  ...SOCKET_OPTION,
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
${subcommandOptionLines(COMMANDS)}On a terminal the output is a table, in a pipe one line of JSON for each entry.
`;

const SELECTORS = ['outbound', 'inbound', 'session', 'user'] as const;

/** Parses the arguments of `weir ctl`. @throws {UsageError} for invalid arguments */
export function parseCtl(argv: readonly string[]): CtlArguments {
  const parsed = parse(argv);
  const { values } = parsed;
  const { json = false } = values;
  const search = searchOf(values);
  if (values.help === true) return { command: { kind: 'help' }, search, json };
  const { chosen, operands } = chooseSubcommand(CTL, parsed);
  return { command: toCommand(chosen.name, operands, values), search, json };
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
      const { close = false, 'dry-run': dryRun = false, 'if-match': ifMatch } = values;
      if (dryRun && !close) throw new UsageError('--dry-run goes with --close');
      return { kind: name, group, target, ifMatch, close, dryRun };
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
