import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { RoutePick } from '@weir/client/api';
import { editPick } from '@weir/config/edit/pick-editor';
import { ConfigError } from '@weir/config';
import { readDocuments } from '@weir/config/documents';
import { shownLines } from '@weir/config/effective';
import { hintsOf, messageOf } from '@weir/base';
import type { LineView, PlaceView } from '../config/view.ts';
import { weirFiles } from '../config/weir-files.ts';
import { EffectiveText } from './effective-text.ts';
import type { CheckFound, FoundError, OfFile, OfPick } from './file-requests.ts';
import { MAX_BYTES, type KeptReading } from './kept-reading.ts';

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
export const foundError = (error: unknown): FoundError => ({
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
