import { editConfigFile, EditError } from '@weir/server/edits';
import { etagOf } from '@weir/server/loading';

/**
 * Writes an earlier version of a file back, if the file still has the entity tag `from`.
 *
 * @returns the reason when another writer came first and nothing was written
 * @throws {EditError} when it cannot be written
 */
export async function restoreFile(
  path: string,
  { from, bytes }: { readonly from: string; readonly bytes: Uint8Array },
): Promise<string | undefined> {
  try {
    await editConfigFile(
      path,
      (current) => {
        if (etagOf(current) === from) return bytes;
        throw new EditError('stale', `${path} has been changed meanwhile and was left alone`);
      },
      // This version has been loaded before; the reload reports whether the files that it refers to are still valid.
      { check: () => Promise.resolve() },
    );
    return undefined;
  } catch (error) {
    if (!(error instanceof EditError) || error.code !== 'stale') throw error;
    return error.message;
  }
}
