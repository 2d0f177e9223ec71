import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { RunningStatus } from './running-status.ts';

/** Whether a running Weir serves a configuration file, also under another name by way of links. */
export async function servesFile(
  { config: served }: Pick<RunningStatus, 'config'>,
  config: string,
): Promise<boolean> {
  return served !== null && (await realPath(served)) === (await realPath(config));
}

/** With links resolved, to compare; without them where that is not possible. */
const realPath = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
