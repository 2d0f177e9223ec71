import {
  chooseSubcommand,
  expectOperands,
  HELP_OPTION,
  parseOptions,
  type CommandSpec,
  type OptionTable,
} from '../command.ts';
import { UsageError } from '../../errors.ts';
import { SOCKET_OPTION } from '../control/socket-option.ts';
import { commandLines, optionLines } from '../help.ts';
import { CONFIG_OPTION } from '../run/arguments.ts';
import { hostOf } from '../option-values.ts';

const USER_OPTIONS = {
  config: { ...CONFIG_OPTION.config, summary: 'the configuration file' },
  inbound: { type: 'string', value: 'TAG', summary: 'the inbound; list shows all without it' },
  json: { type: 'boolean', summary: 'print one line of JSON' },
  ...HELP_OPTION,
} as const satisfies OptionTable;

const EDIT_OPTIONS = {
  ...SOCKET_OPTION,
  'dry-run': { type: 'boolean', summary: 'check everything, and change nothing' },
} as const satisfies OptionTable;

const SECRET_OPTIONS = {
  id: { type: 'string', value: 'UUID', summary: 'the id (vless, vmess) in place of a new one' },
  'password-file': {
    type: 'string',
    value: 'FILE',
    summary: 'the first line is the password, in place of a new one',
  },
  password: {
    type: 'string',
    value: 'TEXT',
    summary: 'the password itself, which other users of the machine can see',
  },
} as const satisfies OptionTable;

const LINK_OPTIONS = {
  link: { type: 'boolean', summary: 'print the share link of the user as well' },
  host: { type: 'string', value: 'HOST', summary: 'for --link: what clients dial' },
} as const satisfies OptionTable;

const FORCE_OPTION = {
  force: { type: 'boolean', summary: 'even if it changes who else can log in' },
} as const satisfies OptionTable;

const CLOSE_OPTION = {
  close: { type: 'boolean', summary: 'close the open flows of the user as well' },
} as const satisfies OptionTable;

const COMMANDS = [
  {
    name: 'add',
    operands: 'NAME',
    summary: 'add a user; prints its secret, which is made unless given',
    options: { ...EDIT_OPTIONS, ...SECRET_OPTIONS, ...LINK_OPTIONS, ...FORCE_OPTION },
  },
  {
    name: 'remove',
    operands: 'NAME',
    summary: 'remove a user, whose open flows go on unless closed',
    options: { ...EDIT_OPTIONS, ...CLOSE_OPTION, ...FORCE_OPTION },
  },
  {
    name: 'rotate',
    operands: 'NAME',
    summary: 'give a user another secret',
    options: { ...EDIT_OPTIONS, ...SECRET_OPTIONS, ...LINK_OPTIONS, ...CLOSE_OPTION },
  },
  { name: 'list', operands: '', summary: 'the users of the file, without secrets', options: {} },
] as const satisfies readonly CommandSpec[];

export const USER = {
  name: 'user',
  operands: 'COMMAND',
  summary: 'add, remove and list the users of inbounds',
  options: USER_OPTIONS,
  commands: COMMANDS,
} as const satisfies CommandSpec;

export const USER_HELP = `weir user, the users of a configuration file

Usage: weir user add|remove|rotate NAME --inbound TAG --config FILE [options]
       weir user list --config FILE [--inbound TAG] [--json]

Commands:
${commandLines(COMMANDS)}
Options:
${optionLines(USER_OPTIONS)}
Options of add, remove and rotate:
${optionLines({ ...EDIT_OPTIONS, ...SECRET_OPTIONS, ...LINK_OPTIONS, ...CLOSE_OPTION, ...FORCE_OPTION })}
Only the user's own table in the file changes. The result is checked as weir check does, the file
is replaced, and the running Weir that serves it is reloaded, which disturbs no other user. Vless
and vmess have no key for a name: it is kept in a comment beside the id, as # name: NAME.
`;

/** The source of a given secret. */
export type GivenSecret =
  | { readonly kind: 'id' | 'password'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string };

export interface UserArguments {
  readonly kind: 'add' | 'remove' | 'rotate';
  readonly config: string;
  readonly inbound: string;
  readonly name: string;
  readonly json: boolean;
  readonly socket: string | undefined;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly close: boolean;
  /** `undefined` to generate a new secret. */
  readonly secret: GivenSecret | undefined;
  /** The host that clients dial, for `--link`. */
  readonly linkHost: string | undefined;
}

export type UserCommand =
  | { readonly kind: 'help' }
  | {
      readonly kind: 'list';
      readonly config: string;
      readonly inbound: string | undefined;
      readonly json: boolean;
    }
  | UserArguments;

/** Parses the arguments of `weir user`. @throws {UsageError} for invalid arguments */
export function parseUser(argv: readonly string[]): UserCommand {
  const parsed = parse(argv);
  const { values } = parsed;
  if (values.help === true) return { kind: 'help' };
  const { chosen, operands } = chooseSubcommand(USER, parsed);
  const { config = '', inbound, json = false } = values;
  expectOperands(`user ${chosen.name}`, operands, chosen.operands);
  if (config === '') throw new UsageError(`user ${chosen.name} needs --config FILE`);
  if (chosen.name === 'list') return { kind: 'list', config, inbound, json };
  if (inbound === undefined) throw new UsageError(`user ${chosen.name} needs --inbound TAG`);
  return {
    kind: chosen.name,
    config,
    inbound,
    name: operands[0] ?? '',
    json,
    socket: values.socket,
    dryRun: values['dry-run'] ?? false,
    force: values.force ?? false,
    close: values.close ?? false,
    secret: secretOf(values),
    linkHost: linkHostOf(values),
  };
}

type Values = ReturnType<typeof parse>['values'];

const parse = (argv: readonly string[]) =>
  parseOptions(argv, {
    ...USER_OPTIONS,
    ...EDIT_OPTIONS,
    ...SECRET_OPTIONS,
    ...LINK_OPTIONS,
    ...CLOSE_OPTION,
    ...FORCE_OPTION,
  });

function secretOf(values: Values): GivenSecret | undefined {
  const { id, password, 'password-file': path } = values;
  const given: GivenSecret[] = [];
  if (id !== undefined) given.push({ kind: 'id', text: id });
  if (password !== undefined) given.push({ kind: 'password', text: password });
  if (path !== undefined) given.push({ kind: 'file', path });
  if (given.length > 1) {
    throw new UsageError('only one of --id, --password and --password-file can be given');
  }
  return given[0];
}

function linkHostOf({ link = false, host }: Values): string | undefined {
  if (link && host === undefined) throw new UsageError('--link needs --host HOST');
  if (!link && host !== undefined) throw new UsageError('--host goes with --link');
  return host === undefined ? undefined : hostOf('--host', host);
}
