import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { COMMIT_DIGITS, type Build } from '../packages/io/src/platform/process/build.ts';
import { ROOT } from './root.ts';
import { runTool } from './tool.ts';

/** `COMMIT DATE`, for a build from an export of the source: what `sourceCommit` gives for the repository. */
export const SOURCE_COMMIT = 'WEIR_SOURCE_COMMIT';

/**
 * The commit that is built, and its day; with a `+` where files that it has have been changed.
 *
 * @returns `undefined` without a repository
 * @throws {RangeError} for an invalid WEIR_SOURCE_COMMIT
 * @throws {Error} when git fails
 */
export async function sourceCommit(
  given = process.env[SOURCE_COMMIT],
  root = ROOT,
): Promise<Build | undefined> {
  if (given !== undefined && given !== '') {
    const [, commit = '', date = ''] = /^([0-9a-f]{12}\+?) (\d{4}-\d{2}-\d{2})$/.exec(given) ?? [];
    if (commit === '') throw new RangeError(`${SOURCE_COMMIT} has to be COMMIT DATE, not ${given}`);
    return { commit, date };
  }
  // Not the repository of a folder around it.
  if (!existsSync(join(root, '.git'))) return undefined;
  const git = (...args: readonly string[]): Promise<string> =>
    runTool('git', ['-C', root, ...args]);
  const head = await git('log', '-1', '--format=%H %cs');
  const [hash = '', date = ''] = head.trim().split(' ');
  const changed = await git('status', '--porcelain', '--untracked-files=no');
  return { commit: hash.slice(0, COMMIT_DIGITS) + (changed === '' ? '' : '+'), date };
}
