import { userInfo } from 'node:os';
import { MAX_CAUSE } from '@weir/server/control';
import type { EditedFile } from '@weir/server/edits';
import { outcomeLine, type ReloadOutcome } from '@weir/server/app/outcomes';
import { messageOf, WeirError } from '@weir/base';
import { printable, printableLines } from '@weir/base/printable';
import { findServing, type Serving } from './find-serving.ts';

/** An edit of the files of a configuration. */
export interface Edit {
  /** The configuration file. */
  readonly config: string;
  /** Description of the edit for logs and users: `user add "ann" to inbound "vless"`. */
  readonly what: string;
  /**
   * Writes the files, usually by `editConfigFile`.
   * @throws {WeirError} when nothing was written
   */
  readonly write: () => Promise<Pick<EditedFile, 'changed' | 'undo'>>;
}

/** How to reach the running Weir. */
export interface EditTarget {
  /** The value of `--socket`. */
  readonly socket: string | undefined;
  readonly io: {
    readonly stderr: NodeJS.WritableStream;
    readonly env: Readonly<Record<string, string | undefined>>;
  };
  /** `findServing`; replaced in tests. */
  readonly find?: typeof findServing;
}

/** The code of errors after which the files have the edit, and the running Weir may or may not have it. */
export const EDIT_WRITTEN = 'edit_outcome';

/** Where an edit is in force. */
export type EditApplied =
  /** In the files and in the running Weir, which accepts further requests. */
  | { readonly kind: 'reloaded'; readonly serving: Serving; readonly outcome: ReloadOutcome }
  /** Only in the files: no running Weir serves them. */
  | { readonly kind: 'written' }
  /** The files already had the edit. */
  | { readonly kind: 'unchanged' };

/**
 * Edits the files of a configuration and reloads the running Weir that serves them. A line on standard error names the
 * edit, its author, the time and the outcome; the running Weir logs the same.
 *
 * The Weir is looked for first, so that an ambiguous situation prevents the edit. If it rejects the reload, the old
 * files are restored: the edit is then in force neither in the files nor in the process.
 *
 * @throws {WeirError} when the edit is not in force, or that is not known; the message describes the state of the
 * files, and the code is `EDIT_WRITTEN` when they have the edit
 */
export async function applyEdit(
  { config, what, write }: Edit,
  { socket, io, find = findServing }: EditTarget,
): Promise<EditApplied> {
  const serving = await find(config, { socket, env: io.env });
  const { changed, undo } = await write();
  if (!changed) return { kind: 'unchanged' };
  const by = editedBy(io.env);
  const tell = (outcome: string): void =>
    void io.stderr.write(
      `${printableLines(`${new Date().toISOString()} ${printable(what)}, by ${by}: ${outcome}`)}\n`,
    );
  if (!serving) {
    tell('written; no running Weir serves this file');
    return { kind: 'written' };
  }
  const outcome = await serving.reload(causeOf(what, by)).catch((error: unknown) => {
    const message = `${config} is written, but whether it was reloaded is unknown: ${messageOf(error)}`;
    throw new WeirError(EDIT_WRITTEN, message, {
      cause: error,
      hint: '`weir reload` reads the files again, and says what has become of it',
    });
  });
  if (outcome.kind === 'failed') throw await refused(config, outcome.line, undo);
  tell(`written; ${outcomeLine(outcome)}`);
  return { kind: 'reloaded', serving, outcome };
}

/** The cause that the running Weir logs, truncated to the length that it accepts. */
function causeOf(what: string, by: string): string {
  const tail = `, by ${by}`;
  let text = printable(what);
  while (Buffer.byteLength(text + tail) > MAX_CAUSE) text = `${text.slice(0, -2).trimEnd()}…`;
  return (text + tail).toWellFormed();
}

async function refused(config: string, line: string, undo: EditedFile['undo']): Promise<WeirError> {
  try {
    await undo();
  } catch (error) {
    const message = `the running Weir has refused the edit, and it is still in the file: ${line}\n${messageOf(error)}`;
    return new WeirError(EDIT_WRITTEN, message, { cause: error });
  }
  const message = `the running Weir has refused the edit, and ${config} is as it was: ${line}`;
  return new WeirError('edit_refused', message);
}

/** Maximum bytes of a name; more than any system allows. */
const MAX_NAME = 64;

/** The user of this process for a log: `root (uid 0)`, or `root (uid 0) for ann` under sudo. */
export function editedBy(env: Readonly<Record<string, string | undefined>>): string {
  const uid = process.getuid?.() ?? -1;
  const sudo = uid === 0 ? env['SUDO_USER'] : undefined;
  const behind = sudo === undefined || sudo === '' ? '' : ` for ${shortened(sudo)}`;
  return `${nameOf(uid)}${behind}`;
}

function nameOf(uid: number): string {
  try {
    return `${shortened(userInfo().username)} (uid ${uid})`;
  } catch {
    return `uid ${uid}`; // the user has no entry in the user database
  }
}

const shortened = (name: string): string => printable(name).slice(0, MAX_NAME);
