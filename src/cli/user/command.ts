import { closeAccountFlows, countAccountFlows } from '../../accounts/account-flows.ts';
import { editAccount, type AccountChange, type AccountEdit } from '../../accounts/edit-account.ts';
import { listAccounts } from '../../accounts/list-accounts.ts';
import type { EditApplied } from '../../client/apply-edit.ts';
import { findServing } from '../../client/find-serving.ts';
import {
  addUser,
  removeUser,
  rotateUser,
  type WrittenUser,
} from '../../config/edit/users/edit-users.ts';
import { SystemRandomSource } from '../../crypto/random-source.ts';
import { messageOf } from '../../errors.ts';
import { printable, printableJson, printableLines, quoted } from '../../printable.ts';
import { textTable } from '../../text/text-table.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { counted } from '../../text/amounts.ts';
import { parseUser, USER_HELP, type UserArguments } from './arguments.ts';
import { linkOf } from './link.ts';
import { secretMaker } from './secret.ts';

/**
 * `weir user`. Resolves with the exit status: 1 when nothing was changed.
 * @throws {UsageError}
 */
export async function userCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const command = parseUser(argv);
  return reportErrors('user', io, async () => {
    switch (command.kind) {
      case 'help':
        io.stdout.write(USER_HELP);
        return 0;
      case 'list':
        io.stdout.write(await listText(command));
        return 0;
      case 'add':
      case 'remove':
      case 'rotate':
        return edit(command, io);
      default:
        return command satisfies never;
    }
  });
}

async function listText({
  config,
  inbound,
  json,
}: {
  readonly config: string;
  readonly inbound: string | undefined;
  readonly json: boolean;
}): Promise<string> {
  const users = await listAccounts(config, inbound);
  if (json) {
    const shown = users.map(({ inbound, protocol, name = null, label = null, shown, index }) => ({
      inbound,
      protocol,
      name,
      label,
      shown,
      number: index + 1,
    }));
    return `${printableJson(shown)}\n`;
  }
  return textTable(
    ['inbound', 'protocol', 'user'],
    users.map((user) => [user.inbound, user.protocol, user.shown]),
  );
}

async function edit(asked: UserArguments, io: CommandIo): Promise<number> {
  const { config, inbound, dryRun, close, socket, linkHost: host } = asked;
  const note = (text: string): void => void io.stderr.write(`weir user: ${printableLines(text)}\n`);
  const { kind, name } = asked;
  const { change, file, applied } = await editAccount(
    { kind, config, inbound, name, change: await changeOf(asked), dryRun },
    { socket, io },
  );
  for (const text of change.notes) note(text);
  const link =
    host === undefined
      ? undefined
      : await notedLink(config, file.after, { inbound, index: change.user.index, host }, note);
  const closed = close ? await closeFlows(asked, change.user, applied, io, note) : undefined;
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
