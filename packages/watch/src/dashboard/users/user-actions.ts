import {
  closeAccountFlows,
  countAccountFlows,
  editAccount,
  type AccountEdit,
} from '@weir/nodes/accounts';
import { userSecret } from '@weir/nodes/accounts/new-secrets';
import { etagOf } from '@weir/server/loading';
import { outcomeLine } from '@weir/server/app/outcomes';
import { findServing } from '@weir/client';
import { addUser, removeUser } from '@weir/config/edit';
import { SystemRandomSource } from '@weir/base/random';
import { messageOf } from '@weir/base';
import { ActionError, Parameters } from '../parameters.ts';
import type { DashboardContext, PageAction } from '../contract.ts';
import { commandLine } from '../shared/texts.ts';
import type { JsonValue } from '../shared/protocol.ts';
import type { UsersInFile } from './users-in-file.ts';
import { noEdit } from './users-topic.ts';
import type {
  AdditionDone,
  AdditionPreview,
  RemovalDone,
  RemovalPreview,
  UserAddition,
  UserRemoval,
} from './view.ts';

export interface UserActionParts {
  readonly context: DashboardContext;
  readonly file: UsersInFile;
  /** Receives a line for each edit. */
  readonly stderr: NodeJS.WritableStream;
}

/** The action `user-remove-preview`: the effect that `user-remove` would have. */
export const removalPreview = ({ context, stderr }: UserActionParts): PageAction => ({
  name: 'user-remove-preview',
  changes: false,
  run: async (parameters): Promise<RemovalPreview> => {
    const removal = readUser(parameters);
    const { config, socket } = needFile({ ...context, readOnly: false });
    const io = { stderr, env: context.env };
    const edit = removalEdit(config, removal, { dryRun: true });
    const { change, file } = await editAccount(edit, { socket, io });
    const serving = await findServing(config, { socket, env: context.env });
    const { user, line = 1, notes } = change;
    const flows = serving ? await countAccountFlows(serving.socket, user) : 0;
    return {
      etag: etagOf(file.before),
      file: config,
      line,
      protocol: user.protocol,
      name: user.shown,
      flows: flows ?? null,
      notes,
      commands: {
        remove: userCommand('remove', removal, config, socket),
        close: userCommand('remove', { ...removal, close: true }, config, socket),
      },
    };
  },
});

/**
 * The action `user-remove`: removes a user from the file and reloads; closes the user's flows if requested by
 * `ClosingRemoval`.
 */
export const removeAccount = ({ context, file, stderr }: UserActionParts): PageAction => ({
  name: 'user-remove',
  changes: true,
  run: async (parameters): Promise<RemovalDone> => {
    const removal = readUser(parameters);
    const given = new Parameters(parameters);
    const [expected, close] = [given.text('etag'), given.flag('close')];
    const { config, socket } = needFile(context);
    const io = { stderr, env: context.env };
    const edit = removalEdit(config, removal, { dryRun: false, expected });
    const { change, applied } = await editAccount(edit, { socket, io });
    await Promise.all([file.refresh(), context.monitor.refresh()]);
    const reload = applied?.kind === 'reloaded' ? outcomeLine(applied.outcome) : null;
    const closed = close
      ? await closeAccountFlows(applied, change.user).catch((error: unknown) => {
          const message = `the user is removed, but its flows were not closed: ${messageOf(error)}`;
          throw new ActionError('not-closed', message, { cause: error });
        })
      : undefined;
    return { reload, closed: closed ?? null };
  },
});

/** The action `user-add-preview`: the effect that `user-add` would have. */
export const additionPreview = ({ context, stderr }: UserActionParts): PageAction => ({
  name: 'user-add-preview',
  changes: false,
  run: async (parameters): Promise<AdditionPreview> => {
    const addition = readUser(parameters);
    const { config, socket } = needFile({ ...context, readOnly: false });
    const edit = additionEdit(config, addition, { dryRun: true });
    const { change, file } = await editAccount(edit, { socket, io: { stderr, env: context.env } });
    return {
      etag: etagOf(file.before),
      file: config,
      protocol: change.user.protocol,
      notes: change.notes,
      command: userCommand('add', addition, config, socket),
    };
  },
});

/**
 * The action `user-add`: adds a user with a new secret to the file, and reloads. The secret does not leave the file.
 */
export const addAccount = ({ context, file, stderr }: UserActionParts): PageAction => ({
  name: 'user-add',
  changes: true,
  run: async (parameters): Promise<AdditionDone> => {
    const addition = readUser(parameters);
    const expected = new Parameters(parameters).text('etag');
    const { config, socket } = needFile(context);
    const edit = additionEdit(config, addition, { dryRun: false, expected });
    const { applied } = await editAccount(edit, { socket, io: { stderr, env: context.env } });
    await Promise.all([file.refresh(), context.monitor.refresh()]);
    const { inbound, name } = addition;
    const user = name.startsWith('-') ? [`--user=${name}`] : ['--user', name];
    const words = ['weir', 'share', '--config', config, '--inbound', inbound, ...user];
    return {
      reload: applied?.kind === 'reloaded' ? outcomeLine(applied.outcome) : null,
      share: commandLine([...words, '--host', 'HOST']),
    };
  },
});

const additionEdit = (
  config: string,
  { inbound, name, force }: UserAddition,
  more: Pick<AccountEdit, 'dryRun' | 'expected'>,
): AccountEdit => {
  const random = new SystemRandomSource();
  return {
    kind: 'add',
    config,
    inbound,
    name,
    change: (source) => {
      // The secret is not passed on: results are sent to a page.
      const { text, user, kind, notes } = addUser(source, {
        inbound,
        name,
        force,
        secret: (of, method) => userSecret(of, method, random),
      });
      return { text, user, kind, notes };
    },
    ...more,
  };
};

function readUser(parameters: JsonValue): UserRemoval & UserAddition {
  const given = new Parameters(parameters);
  return {
    inbound: given.text('inbound'),
    name: given.text('name'),
    force: given.flag('force'),
  };
}

const removalEdit = (
  config: string,
  { inbound, name, force }: UserRemoval,
  more: Pick<AccountEdit, 'dryRun' | 'expected'>,
): AccountEdit => ({
  kind: 'remove',
  config,
  inbound,
  name,
  change: (source) => removeUser(source, { inbound, name, force }),
  ...more,
});

/** The configuration file and control socket, if users can be edited. @throws {ActionError} */
function needFile(context: DashboardContext) {
  const { config, socket } = context;
  const reason = noEdit(context);
  if (reason !== null || config === undefined || socket === undefined) {
    throw new ActionError('unavailable', reason ?? '');
  }
  return { config, socket };
}

function userCommand(
  verb: 'add' | 'remove',
  { inbound, name, close = false, force }: UserRemoval & { readonly close?: boolean },
  config: string,
  socket: string,
): string {
  const options = ['--inbound', inbound, '--config', config, '--socket', socket];
  if (close) options.push('--close');
  if (force) options.push('--force');
  // A name may look like an option.
  const operand = name.startsWith('-') ? ['--', name] : [name];
  return commandLine(['weir', 'user', verb, ...options, ...operand]);
}
