import { editConfigFile, EditError } from '@weir/server/edits';
import { etagOf } from '@weir/server/loading';
import { removePick } from '@weir/config/edit/pick-editor';
import { ConfigError } from '@weir/config';
import { routeView } from '@weir/config/route-view';
import { readDocuments } from '@weir/config/documents';
import { shownLines } from '@weir/config/effective';
import { loadRoutes } from '@weir/nodes/explain';
import { weirFiles } from '../config/weir-files.ts';
import { AROUND, foundError } from './config-check.ts';
import type { OfGroup, UnpickDone, UnpickPlan } from './file-requests.ts';

/*
 * Removes picks from the configuration file: the API can only set them. The edit is made as the API would make it: of
 * one place, of the version that was seen, and after a check.
 */

/** The routes as they would be without the pick of a group. @throws {ConfigError} */
export async function planUnpick({ path, pid, group }: OfGroup): Promise<UnpickPlan> {
  const files = await weirFiles(pid ?? undefined);
  const before = await readDocuments({ path }, files);
  const subscribe = before.file.subscribe !== undefined;
  const edited = removePick(before.bytes, { subscribe }, group, path);
  const after = await readDocuments({ path, bytes: edited }, files);
  const { default: fallback, groups } = routeView(after.file, after.subscribe);
  return {
    etag: etagOf(before.bytes),
    line: Buffer.compare(before.bytes, edited) === 0 ? null : firstChanged(before.bytes, edited),
    default: fallback,
    groups,
  };
}

/**
 * Removes the pick of a group from the file, if the file still has the entity tag `etag`.
 * @throws {EditError} when it cannot be written
 */
export async function unpick({
  path,
  pid,
  group,
  etag,
}: OfGroup & { readonly etag: string }): Promise<UnpickDone> {
  const files = await weirFiles(pid ?? undefined);
  let refused: UnpickDone | undefined;
  try {
    const { before, after } = await editConfigFile(
      path,
      async (bytes) => {
        if (etagOf(bytes) !== etag) throw new EditError('stale', `${path} has been changed`);
        const { file } = await readDocuments({ path, bytes }, files);
        return removePick(bytes, { subscribe: file.subscribe !== undefined }, group, path);
      },
      {
        check: async (_path, bytes) => {
          try {
            await loadRoutes(path, { files, bytes });
          } catch (error) {
            if (error instanceof ConfigError) refused = await refusedOf(error, path, bytes);
            throw error;
          }
        },
      },
    );
    return { kind: 'written', before, etag: etagOf(after) };
  } catch (error) {
    if (refused) return refused;
    if (error instanceof EditError && error.code === 'stale') return { kind: 'stale' };
    throw error;
  }
}

async function refusedOf(error: ConfigError, path: string, bytes: Uint8Array): Promise<UnpickDone> {
  const found = foundError(error);
  const { place } = found;
  const lines =
    place?.file === path
      ? await shownLines(new TextDecoder().decode(bytes), place.line - AROUND, place.line + AROUND)
      : [];
  return { kind: 'invalid', error: found, lines };
}

/** The line at which two texts begin to differ, from 1. */
function firstChanged(before: Uint8Array, after: Uint8Array): number {
  let line = 1;
  for (let at = 0; at < before.length && before[at] === after[at]; at++) {
    if (before[at] === NEWLINE) line++;
  }
  return line;
}

const NEWLINE = 0x0a;
