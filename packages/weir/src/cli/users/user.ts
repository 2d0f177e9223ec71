import { loadForms } from '@weir/proxy/protocols';
import {
  closeAccountFlows,
  countAccountFlows,
  editAccount,
  type AccountChange,
  type AccountEdit,
  listAccounts,
} from '@weir/nodes/accounts';
import { EDIT_WRITTEN, type EditApplied } from '@weir/client/client/apply-edit';
import { findServing } from '@weir/client';
import { addUser, removeUser, rotateUser, type WrittenUser, listUsers } from '@weir/config/edit';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import { codeOf, messageOf, UsageError, WeirError } from '@weir/base';
import { printable, printableJson, printableLines, quoted } from '@weir/base/printable';
import { textTable } from '@weir/base/tables';
import {
  commandLines,
  commandOf,
  type CommandIo,
  optionLines,
  subcommandParser,
  type SubcommandValues,
} from '../command.ts';
import { counted } from '@weir/base/text/amounts';
import { hostOf } from '../option-values.ts';
import {
  USER,
  EDIT_OPTIONS,
  SECRET_OPTIONS,
  LINK_OPTIONS,
  FORCE_OPTION,
  CLOSE_OPTION,
  LIMIT_OPTIONS,
} from './specs.ts';
import {
  dropLimits,
  knownLimits,
  LIMIT_COLUMNS,
  limitCells,
  limitFields,
  limitsOf,
  writeLimits,
} from './user-limits.ts';
import { loadConfigFile } from '@weir/server/loading';
import { decodeSource } from '@weir/config/documents';
import { adviceOn, configServers, shareLink, shareOptions } from '@weir/nodes/share';
import { ShareError } from '@weir/proxy/protocols/forms';
import { accountOf } from '@weir/nodes/accounts/limits';
import { userSecret } from '@weir/nodes/accounts/new-secrets';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { UserForm } from '@weir/proxy/protocols/forms';

const USER_HELP = `weir user, the users of a configuration file

Usage: weir user add|remove|rotate NAME --inbound TAG --config FILE [options]
       weir user list --config FILE [--inbound TAG] [--json]

Commands:
${commandLines(USER.commands)}
Options:
${optionLines(USER.options)}
Options of add, remove and rotate:
${optionLines({ ...EDIT_OPTIONS, ...SECRET_OPTIONS, ...LINK_OPTIONS, ...CLOSE_OPTION, ...FORCE_OPTION })}
Limits, of add; remove takes --limits alone:
${optionLines(LIMIT_OPTIONS)}
Only the user's own table in the file changes. The result is checked as weir check does, the file
is replaced, and the running Weir that serves it is reloaded, which disturbs no other user. Vless
and vmess have no key for a name: it is kept in a comment beside the id, as # name: NAME.
`;

/** The source of a given secret. */
type GivenSecret =
  | { readonly kind: 'id' | 'password'; readonly text: string }
  | { readonly kind: 'file'; readonly path: string };

const parseUser = subcommandParser(USER, (kind, values, [name = '']) => {
  const { config, inbound, json = false } = values;
  if (config === undefined) throw new UsageError(`user ${kind} needs --config FILE`);
  if (kind === 'list') return { kind, config, inbound, json, socket: values.socket };
  if (inbound === undefined) throw new UsageError(`user ${kind} needs --inbound TAG`);
  return {
    kind,
    config,
    inbound,
    name,
    json,
    socket: values.socket,
    dryRun: values['dry-run'] ?? false,
    force: values.force ?? false,
    close: values.close ?? false,
    /** `undefined` to generate a new secret. */
    secret: secretOf(values),
    /** The host that clients dial, for `--link`. */
    linkHost: linkHostOf(values),
    /** The limits file, and what to write into it. */
    limits: values.limits,
    limitKeys: kind === 'add' ? limitsOf(values) : undefined,
  };
});

type UserCommand = NonNullable<ReturnType<typeof parseUser>>;
type UserList = Extract<UserCommand, { readonly kind: 'list' }>;
type UserArguments = Exclude<UserCommand, UserList>;

type Values = SubcommandValues<typeof USER>;

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

/**
 * `weir user`. Resolves with the exit status: 1 when nothing was changed.
 * @throws {UsageError}
 */
export const userCommand = commandOf('user', USER_HELP, parseUser, async (command, io) => {
  if (command.kind !== 'list') return edit(command, io);
  io.stdout.write(await listText(command, io.env));
  return 0;
});

async function listText(
  { config, inbound, json, socket }: UserList,
  env: CommandIo['env'],
): Promise<string> {
  const users = await listAccounts(config, inbound);
  const known = await knownLimits(config, socket, env);
  const reportOf = (user: WrittenUser) => known.get(accountOf(user) ?? '');
  if (json) {
    const shown = users.map((user) => ({
      inbound: user.inbound,
      protocol: user.protocol,
      name: user.name ?? null,
      label: user.label ?? null,
      shown: user.shown,
      number: user.index + 1,
      ...limitFields(reportOf(user)),
    }));
    return `${printableJson(shown)}\n`;
  }
  const more = known.size > 0;
  return textTable(
    ['inbound', 'protocol', 'user', ...(more ? LIMIT_COLUMNS : [])],
    users.map((user) => [
      user.inbound,
      user.protocol,
      user.shown,
      ...(more ? limitCells(reportOf(user)) : []),
    ]),
  );
}

async function edit(asked: UserArguments, io: CommandIo): Promise<number> {
  const { config, inbound, dryRun, close, socket, linkHost: host, limitKeys } = asked;
  const note = (text: string): void => void io.stderr.write(`weir user: ${printableLines(text)}\n`);
  const { kind, name } = asked;
  // Before the user is added: it must not be without limits for a moment.
  const undoLimits = limitKeys && (await writeLimits(name, limitKeys, asked, io.env, note));
  const { change, file, applied } = await editAccount(
    { kind, config, inbound, name, change: await changeOf(asked), dryRun },
    { socket, io },
  ).catch(async (error: unknown) => {
    if (codeOf(error) !== EDIT_WRITTEN) await undoLimits?.();
    throw error;
  });
  for (const text of change.notes) note(text);
  const link =
    host === undefined
      ? undefined
      : await notedLink(config, file.after, { inbound, index: change.user.index, host }, note);
  const closed = close ? await closeFlows(asked, change.user, applied, io, note) : undefined;
  if (kind === 'remove') await dropLimits(change.user, asked, io.env, note);
  if (dryRun) note('nothing was changed: --dry-run');
  io.stdout.write(resultText(asked, change, link, closed));
  return 0;
}

/**
 * The share link of a user; `note` is called with the reason if there is none, or with what clients do with the
 * certificate.
 */
async function notedLink(
  config: string,
  written: Uint8Array,
  user: { readonly inbound: string; readonly index: number; readonly host: string },
  note: (text: string) => void,
): Promise<string | undefined> {
  try {
    const { link, advice } = await linkOf(config, written, user);
    if (advice !== undefined) note(advice);
    return link;
  } catch (error) {
    note(`no link: ${messageOf(error)}`);
    return undefined;
  }
}

async function changeOf(asked: UserArguments): Promise<AccountEdit['change']> {
  const { kind, inbound, name, force } = asked;
  if (kind === 'remove') return (source) => removeUser(source, { inbound, name, force });
  const secret = await secretMaker(asked.secret, new SystemRandomSource());
  return kind === 'add'
    ? (source) => addUser(source, { inbound, name, secret, force })
    : (source) => rotateUser(source, { inbound, name, secret });
}

/**
 * Closes the flows of an edited account; before the edit (`--dry-run`) they are counted.
 * @returns how many; `undefined` when this is unknown
 */
async function closeFlows(
  { config, inbound, dryRun, socket }: UserArguments,
  user: WrittenUser,
  applied: EditApplied | undefined,
  io: CommandIo,
  note: (text: string) => void,
): Promise<number | undefined> {
  if (!dryRun) {
    const whose = user.label === undefined ? ', of all removed accounts that have no label' : '';
    return closeAccountFlows(applied, user, (count) =>
      note(`closing ${counted(count, 'flow')} of inbound ${quoted(inbound)}${whose}`),
    );
  }
  const serving = await findServing(config, { socket, env: io.env });
  if (!serving) {
    note('no running Weir serves this file, so there is no flow to close');
    return undefined;
  }
  const count = await countAccountFlows(serving.socket, user);
  if (count === undefined) {
    note('flows of a user without a label can be counted only after the removal');
  }
  return count;
}

function resultText(
  { kind, json, secret: given, dryRun }: UserArguments,
  { user, kind: form, secret }: AccountChange,
  link: string | undefined,
  closed: number | undefined,
): string {
  // The user knows a given secret; a secret of a dry run is never written.
  const made = given === undefined && !dryRun ? secret : undefined;
  if (json) {
    const result = {
      action: kind,
      inbound: user.inbound,
      protocol: user.protocol,
      name: user.shown,
      ...(made !== undefined && { [form.secret]: made }),
      ...(link !== undefined && { link }),
      ...(closed !== undefined && { flows: closed }),
    };
    return `${printableJson(result)}\n`;
  }
  const lines = [
    ...(made === undefined ? [] : [`${form.secret} ${made}`]),
    ...(link === undefined ? [] : [link]),
    ...(closed === undefined
      ? []
      : [`${counted(closed, 'flow')} ${dryRun ? 'would be closed' : 'closed'}`]),
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

/**
 * The share link of a user in a file, and what clients do with a certificate that they would reject.
 * @param index of the user in the list of its inbound
 * @throws {ShareError} when clients cannot reach the inbound by `host`
 */
async function linkOf(
  config: string,
  bytes: Uint8Array,
  { inbound: tag, index, host }: { inbound: string; index: number; host: string },
): Promise<{ readonly link: string; readonly advice: string | undefined }> {
  await loadForms();
  const loaded = await loadConfigFile(config, { bytes });
  const users = listUsers(decodeSource(bytes, config));
  const options = shareOptions(host);
  const found = configServers(loaded, users, (each) => (each === tag ? options : undefined));
  const [refused] = found.refused;
  const server = found.servers[index]?.server;
  if (!server) throw found.leftOut[0]?.error ?? new ShareError('the user has no link of its own');
  const advice =
    refused && adviceOn(refused.certificate, { form: 'link', insecure: false }, refused.protocol);
  return { link: shareLink(server), advice };
}

/** Maximum bytes of the file; longer than any password. */
const MAX_FILE = 4096;

/** Provides the secret of a user. */
type SecretMaker = (kind: UserForm, method: string | undefined) => string;

/**
 * A maker of the given secret, or of new ones. It throws a UsageError for a given secret that is invalid for the
 * inbound's protocol.
 * @throws {WeirError} when the file cannot be read
 */
async function secretMaker(
  given: GivenSecret | undefined,
  random: RandomSource,
): Promise<SecretMaker> {
  if (!given) {
    return (kind, method) => userSecret(kind, method, random);
  }
  const text = given.kind === 'file' ? await firstLine(given.path) : given.text;
  return (kind) => {
    const isId = kind.secret === 'id';
    if (isId && given.kind !== 'id') throw new UsageError('a user of this inbound has an --id');
    if (!isId && given.kind === 'id') {
      throw new UsageError('a user of this inbound has a password, not an --id');
    }
    return text;
  };
}

async function firstLine(path: string): Promise<string> {
  try {
    const bytes = await new FileDigests(MAX_FILE).read(path);
    const [line = ''] = Buffer.from(bytes).toString().split(/\r?\n/, 1);
    if (line !== '') return line;
  } catch (error) {
    throw new WeirError('password_file', `cannot read ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  throw new WeirError('password_file', `the first line of ${path} is empty`);
}
