import { readDocuments } from '../config/documents.ts';
import { editPick } from '../config/edit/pick-editor.ts';
import type { FileReader } from '../config/files.ts';
import { routeView, type RouteView } from '../config/route-view.ts';
import { FileLog, TooMuchToReadError } from './file-log.ts';
import { SMALL, inThread } from './thread.ts';

/** The files as they are written: plain data. */
export interface RoutesRead {
  /** The configuration file's own. */
  readonly bytes: Uint8Array;
  readonly view: RouteView;
  /** Whether it has a `[subscribe]` table. */
  readonly subscribe: boolean;
}

/** @throws {ConfigError} as `readDocuments` does. */
export async function readRoutes(path: string | undefined, files: FileReader): Promise<RoutesRead> {
  const { bytes, file, subscribe } = await readDocuments({ path }, files);
  return { bytes, view: routeView(file, subscribe), subscribe: file.subscribe !== undefined };
}

/** Reads small files at once, large ones in another thread. @throws {ConfigError} */
export async function readRoutesAside(
  path: string | undefined,
  signal?: AbortSignal,
): Promise<RoutesRead> {
  try {
    return await readRoutes(path, new FileLog(SMALL));
  } catch (error) {
    if (!(error instanceof TooMuchToReadError)) throw error;
  }
  return (await inThread({ kind: 'routes', path }, signal)) as RoutesRead; // as the task answers
}

/** Edits as `editPick` does, a large file in another thread. @throws {ConfigError} */
export async function editPickAside(
  { bytes, subscribe }: RoutesRead,
  group: string,
  target: string,
  path: string | undefined,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (bytes.length <= SMALL) return editPick(bytes, { subscribe }, group, target, path);
  const task = { kind: 'edit', path, bytes, subscribe, group, target } as const;
  return (await inThread(task, signal)) as Uint8Array; // as the task answers
}
