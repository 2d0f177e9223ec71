import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { RoutePick } from '@weir/client/api';
import { editPick, removePick } from '@weir/config/edit/pick-editor';
import { ConfigError } from '@weir/config';
import { readDocuments } from '@weir/config/documents';
import { shownLines } from '@weir/config/effective';
import { hintsOf, messageOf } from '@weir/base';
import type { LineView, PlaceView } from '../config/view.ts';
import { weirFiles } from '../config/weir-files.ts';
import { EffectiveText } from './effective-text.ts';
import type {
  CheckFound,
  FoundError,
  OfFile,
  OfPick,
  OfGroup,
  UnpickDone,
  UnpickPlan,
} from './file-requests.ts';
import { MAX_BYTES, type KeptReading } from './read-configuration.ts';
import { editConfigFile, EditError } from '@weir/server/edits';
import { etagOf } from '@weir/server/loading';
import { routeView } from '@weir/config/route-view';
import { loadRoutes } from '@weir/nodes/explain';

/** Number of lines shown before and after a place. */
export const AROUND = 3;
/** Larger files are not searched for the lines around a place. */
const MAX_TEXT = 4 << 20;

/** Loads a configuration as the running Weir would, without building anything. */
export async function checkFiles(
  { pick, ...file }: OfPick,
  kept: KeptReading<EffectiveText>,
): Promise<CheckFound> {
  try {
    const edited = pick ? await editedBy(file, pick) : undefined;
    const text = edited
      ? await EffectiveText.read(file, new FileDigests(MAX_BYTES), edited)
      : await kept.of(file);
    return { kind: 'valid', warnings: text.warnings, lines: text.lines };
  } catch (error) {
    return { kind: 'invalid', error: foundError(error) };
  }
}

/** An error as plain data, with its place if it is a ConfigError. */
const foundError = (error: unknown): FoundError => ({
  message: messageOf(error),
  place: error instanceof ConfigError ? placeOf(error) : null,
  hints: hintsOf(error),
});

/** The lines around a place, with possible secrets starred; empty where the file cannot be read. */
export async function linesAround({
  place,
  pick,
  ...file
}: OfPick & { readonly place: PlaceView }): Promise<readonly LineView[]> {
  if (place.file === null) return [];
  try {
    const isEdited = pick !== null && place.file === file.path;
    const edited = isEdited ? await editedBy(file, pick) : undefined;
    const files = await weirFiles(file.pid ?? undefined);
    const bytes = edited ?? (await files.read(place.file));
    if (bytes.length > MAX_TEXT) return [];
    const text = new TextDecoder().decode(bytes);
    return await shownLines(text, place.line - AROUND, place.line + AROUND);
  } catch {
    return []; // the place alone is shown
  }
}

/** The file with a pick applied; `undefined` where the file itself is invalid, which its check reports. */
async function editedBy({ path, pid }: OfFile, pick: RoutePick): Promise<Uint8Array | undefined> {
  if (path === null) return undefined;
  try {
    const { bytes, file } = await readDocuments({ path }, await weirFiles(pid ?? undefined));
    const subscribe = file.subscribe !== undefined;
    return editPick(bytes, { subscribe }, pick.group, pick.target, path);
  } catch {
    return undefined;
  }
}

function placeOf({ location }: ConfigError): PlaceView | null {
  if (!location) return null;
  const { file, line, column } = location;
  return { file: file ?? null, line, column };
}

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
