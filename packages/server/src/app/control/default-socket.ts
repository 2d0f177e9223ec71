import { mkdirSync, readdirSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, WeirError } from '@weir/base';
import { isStaleSocket } from '@weir/proxy/listeners';
import { problemOfFolder, SERVICE_FOLDER, userFolder } from './control-folder.ts';
import type { ControlHandlers } from './control-handlers.ts';
import { ControlSocket } from './control-socket.ts';

/** Only the owner may access a directory of control sockets. */
const PRIVATE_FOLDER = 0o700;

/** Maximum number of stale socket files that one start removes. */
const MAX_REMOVED = 64;

export interface DefaultPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** The directory of services; replaced in tests. */
  readonly serviceFolder?: string;
}

/**
 * Opens the control socket `PID.sock` in `$XDG_RUNTIME_DIR/weir`, or without that variable in `/run/weir`, and removes
 * stale ones there. Creates the directory where it is missing.
 *
 * @throws {WeirError} when other users could write to the directory, or the socket cannot be bound
 * @throws the error of the system for a directory that cannot be created
 */
export async function openDefaultSocket(
  handlers: ControlHandlers,
  { env, pid, serviceFolder = SERVICE_FOLDER }: DefaultPlace,
): Promise<ControlSocket> {
  const folder = userFolder(env) ?? serviceFolder;
  makeFolder(folder);
  const problem = problemOfFolder(folder);
  if (problem !== undefined) throw new WeirError('control_folder', problem);
  const control = await ControlSocket.open(join(folder, `${pid}.sock`), handlers);
  await removeStale(folder, pid);
  return control;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Removes sockets that no process listens on and whose process has ended. Both are checked: a process of another
 * container may have an id that is unknown here, and a process that has just bound does not listen yet.
 */
async function removeStale(folder: string, ownPid: number): Promise<void> {
  const names = readdirSync(folder).filter((name) => /^\d{1,10}\.sock$/.test(name));
  for (const name of names.slice(0, MAX_REMOVED)) {
    const pid = Number.parseInt(name, 10);
    if (pid === ownPid || isRunning(pid)) continue;
    const path = join(folder, name);
    if (await isStaleSocket(path)) await unlink(path).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
