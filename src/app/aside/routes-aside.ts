import { readDocuments } from '../../config/sources/documents.ts';
import { editPick } from '../../config/edit/pick-editor.ts';
import type { FileReader } from '../../config/sources/input-files.ts';
import { routeView, type RouteView } from '../../config/route-view.ts';
import { FileLog, TooMuchToReadError } from '../log/file-log.ts';
import { SMALL, type ConfigThread } from './thread.ts';
import { hash } from 'node:crypto';

/** The files as they are written: plain data. */
export interface RoutesRead {
  /** Of the configuration file. */
  readonly bytes: Uint8Array;
  /** Of these bytes; computed where they are read, since megabytes take milliseconds. */
  readonly etag: string;
  readonly view: RouteView;
  /** Whether it has a `[subscribe]` table. */
  readonly subscribe: boolean;
}

/** @throws {ConfigError} as `readDocuments` does. */
export async function readRoutes(path: string | undefined, files: FileReader): Promise<RoutesRead> {
  const { bytes, file, subscribe } = await readDocuments({ path }, files);
  const view = routeView(file, subscribe);
  return { bytes, etag: etagOf(bytes), view, subscribe: file.subscribe !== undefined };
}

/** Reads small files at once, large ones in the thread. @throws {ConfigError} */
export async function readRoutesAside(
  path: string | undefined,
  thread: ConfigThread,
  signal?: AbortSignal,
): Promise<RoutesRead> {
  try {
    return await readRoutes(path, new FileLog(SMALL));
  } catch (error) {
    if (!(error instanceof TooMuchToReadError)) throw error;
  }
  return (await thread.run({ kind: 'routes', path }, signal)) as RoutesRead; // see thread-main.ts
}

/** Edits as `editPick` does, a large file in the thread. @throws {ConfigError} */
export async function editPickAside(
  { bytes, subscribe }: RoutesRead,
  group: string,
  target: string,
  path: string | undefined,
  thread: ConfigThread,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  if (bytes.length <= SMALL) return editPick(bytes, { subscribe }, group, target, path);
  const task = { kind: 'edit', path, bytes, subscribe, group, target } as const;
  return (await thread.run(task, signal)) as Uint8Array; // see thread-main.ts
}

/** The strong entity tag of a configuration file (RFC 9110 §8.8.3): its SHA-256 in quotes. */
export const etagOf = (bytes: Uint8Array): string => `"${hash('sha256', bytes)}"`;
