import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { RunningStatus } from './running-status.ts';

/** Whether a running Weir serves a configuration file, possibly under another name through symbolic links. */
export async function servesFile(
  { config: served }: Pick<RunningStatus, 'config'>,
  config: string,
): Promise<boolean> {
  return served !== null && (await realPath(served)) === (await realPath(config));
}

/** The path with links resolved, for comparison; unresolved where that is not possible. */
const realPath = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
