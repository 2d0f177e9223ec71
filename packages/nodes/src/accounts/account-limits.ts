import { requestLimits } from '@weir/server/control';
import { editConfigFile } from '@weir/server/edits';
import { findServing } from '@weir/client';
import { decodeSource, type SourceText, withShownKeys } from '@weir/config/documents';
import { editText, type WrittenUser } from '@weir/config/edit';
import { readLimits } from '@weir/config/limits/read-limits';
import { loadForms } from '@weir/proxy/protocols';
import { messageOf, WeirError } from '@weir/base';
import { ConfigError, renderConfigError } from '@weir/config';
import { readStored, replaceStored } from '../subscribe/files/stored-file.ts';

/** The name of an account in a limits file; `undefined` for one that has only its number in a list. */
export const accountOf = ({ label, name, shown }: WrittenUser): string | undefined =>
  label ?? name ?? (shown.startsWith('#') ? undefined : shown);

interface LimitsEdit {
  /** Path of the limits file, which is created if it does not exist. */
  readonly path: string;
  /** A file whose permissions a new one has. */
  readonly like: string;
  /** Applies the edit to the text of the file. @throws {ConfigError | UserError} */
  readonly change: (source: SourceText) => string;
  /** Whether to check everything and change nothing. */
  readonly dryRun: boolean;
}

interface EditedLimits {
  readonly changed: boolean;
  /** Restores the file. @throws {WeirError} when it has been changed since */
  readonly undo: () => Promise<void>;
}

const NEW_FILE = `# Limits of accounts: weir run --limits FILE. docs/limits.md describes the keys.

`;

/**
 * Edits a limits file: checks the result, and replaces the file. A running Weir reads it again by itself.
 * @throws {UserError} when there is nothing to change
 * @throws {WeirError} when nothing was written
 */
export async function editLimits({
  path,
  like,
  change,
  dryRun,
}: LimitsEdit): Promise<EditedLimits> {
  // The first error in a document masks values by the tables of all protocols.
  await loadForms();
  const check = (_path: string, bytes: Uint8Array): Promise<unknown> =>
    readLimits(path, { read: () => Promise.resolve(bytes) });
  if ((await readStored(path)) !== undefined) {
    return editConfigFile(path, (bytes) => withShownKeys(() => editText(bytes, path, change)), {
      check,
      dryRun,
    });
  }
  const after = await firstText(path, change, check);
  if (after === undefined || dryRun) return { changed: after !== undefined, undo: async () => {} };
  const { undo } = await replaceStored([{ path, before: undefined, after, access: { like } }]);
  return { changed: true, undo };
}

/** The contents of a new file; `undefined` where the edit adds nothing. */
async function firstText(
  path: string,
  change: LimitsEdit['change'],
  check: (path: string, bytes: Uint8Array) => Promise<unknown>,
): Promise<Uint8Array | undefined> {
  const text = await withShownKeys(() => change(decodeSource(new Uint8Array(), path)));
  if (text === '') return undefined;
  const after = Buffer.from(NEW_FILE + text);
  try {
    await check(path, after);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new WeirError('limits', renderConfigError(error), { cause: error });
  }
  return after;
}

/**
 * The limits file of the running Weir that serves a configuration.
 * @returns `undefined` where none runs, or it has no limits
 */
export async function servedLimits(
  config: string,
  search: { readonly socket: string | undefined; readonly env: NodeJS.ProcessEnv },
): Promise<string | undefined> {
  const serving = await findServing(config, search);
  if (!serving) return undefined;
  try {
    return (await requestLimits(serving.socket)).file ?? undefined;
  } catch (error) {
    throw new WeirError('limits', `the limits file is not known: ${messageOf(error)}`, {
      cause: error,
      hint: 'name it with --limits FILE',
    });
  }
}
