import { requestUserFlows } from '@weir/server/control';
import { editConfigFile, type EditedFile, EditError } from '@weir/server/edits';
import { etagOf } from '@weir/server/loading';
import { applyEdit, type EditApplied, type EditTarget } from '@weir/client/client/apply-edit';
import { type EditedUsers, editText, type WrittenUser } from '@weir/config/edit';
import { type SourceText, withShownKeys } from '@weir/config/documents';
import { quoted } from '@weir/base/printable';
import { loadForms } from '@weir/proxy/protocols';

/** The text of a file with edited users. */
export interface AccountChange extends Omit<EditedUsers, 'secret'> {
  /** The secret, if the edit has generated or received one. */
  readonly secret?: string;
  /** The line at which a removed user began. */
  readonly line?: number;
}

/** An edit of one user of an inbound. */
export interface AccountEdit {
  readonly kind: 'add' | 'remove' | 'rotate';
  readonly config: string;
  readonly inbound: string;
  readonly name: string;
  /** Applies the edit to the text of a file; may be called several times. @throws {ConfigError | UserError} */
  readonly change: (source: SourceText) => AccountChange;
  /** Entity tag (`etagOf`) that the file must have to be edited. */
  readonly expected?: string | undefined;
  /** Whether to check everything and change nothing. */
  readonly dryRun: boolean;
}

/** The result of an edit, and where it is in force. */
interface EditedAccount {
  readonly change: AccountChange;
  readonly file: EditedFile;
  /** Where the edit is in force; `undefined` for a dry run. */
  readonly applied: EditApplied | undefined;
}

/**
 * Edits a user: checks the resulting file, writes it, and reloads the running Weir that serves it; if that rejects it,
 * the old file is restored.
 *
 * @throws {UserError} when there is nothing to change
 * @throws {EditError} when nothing was written; `stale` for other contents than those expected
 * @throws {WeirError} when the edit is not in force
 */
export async function editAccount(edit: AccountEdit, target: EditTarget): Promise<EditedAccount> {
  const { kind, config, inbound, name, expected, dryRun } = edit;
  await loadForms();
  let change: AccountChange | undefined;
  let file: EditedFile | undefined;
  const write = async (): Promise<EditedFile> => {
    file = await editConfigFile(
      config,
      (bytes) => {
        if (expected !== undefined && etagOf(bytes) !== expected) throw changed(config);
        return withShownKeys(() =>
          editText(bytes, config, (source) => {
            change = edit.change(source);
            return change.text;
          }),
        );
      },
      { dryRun },
    );
    return file;
  };
  let applied: EditApplied | undefined;
  if (dryRun) await write();
  else {
    const to = kind === 'add' ? 'to' : kind === 'remove' ? 'from' : 'of';
    const what = `user ${kind} ${quoted(name)} ${to} inbound ${quoted(inbound)}`;
    applied = await applyEdit({ config, what, write }, target);
  }
  if (!change || !file) throw new RangeError('the file was edited');
  return { change, file, applied };
}

const changed = (config: string): EditError =>
  new EditError('stale', `${config} has been changed since it was read`, {
    hint: 'nothing was edited; look at the users again',
  });

/** The user who owns the flows; flows without a label can be found only after the account was removed. */
type FlowsOwner = Pick<WrittenUser, 'inbound' | 'label'>;

/**
 * Counts the open flows of a user of the Weir at `socket`.
 * @returns `undefined` for a user without a label
 * @throws {WeirError} when the process does not respond
 */
export async function countAccountFlows(
  socket: string,
  { inbound, label }: FlowsOwner,
): Promise<number | undefined> {
  if (label === undefined) return undefined;
  return requestUserFlows(socket, { inbound, user: label, removed: false, close: false });
}

/**
 * Closes the flows of an account that an edit has removed or given another secret. They are found by the validity of
 * their account: labels may be missing, and then these are the flows of all removed accounts of the inbound.
 *
 * @param closing called with their number before they are closed
 * @returns how many were closed; `undefined` when the edit is in force in no running Weir
 * @throws {WeirError} when the process does not respond
 */
export async function closeAccountFlows(
  applied: EditApplied | undefined,
  { inbound, label }: FlowsOwner,
  closing?: (count: number) => void,
): Promise<number | undefined> {
  if (applied?.kind !== 'reloaded') return undefined;
  const { socket } = applied.serving;
  const flows = { inbound, user: label, removed: true };
  closing?.(await requestUserFlows(socket, { ...flows, close: false }));
  return requestUserFlows(socket, { ...flows, close: true });
}
