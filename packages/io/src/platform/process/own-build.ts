import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMIT_DIGITS, type Build } from './build.ts';

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));

const LINK = 'gitdir: ';
const OBJECT = /^([0-9a-f]{40}|[0-9a-f]{64})\b/;

/**
 * Returns the commit of the checkout that contains the source. Packages replace this file by the result of their build.
 * @returns `undefined` outside a checkout
 */
export function ownBuild(root = ROOT): Build | undefined {
  try {
    const commit = commitIn(gitFolder(root));
    return commit === undefined
      ? undefined
      : { commit: commit.slice(0, COMMIT_DIGITS), date: null };
  } catch {
    return undefined;
  }
}

/** Returns the path of `.git`, which in a linked worktree is a file that names the folder. */
function gitFolder(root: string): string {
  const git = join(root, '.git');
  const link = readIf(git, 'EISDIR');
  return link?.startsWith(LINK) === true ? resolve(root, link.slice(LINK.length).trim()) : git;
}

function commitIn(git: string): string | undefined {
  const head = readFileSync(join(git, 'HEAD'), 'utf8').trim();
  const [, ref] = /^ref: (refs\/.+)$/.exec(head) ?? [];
  if (ref === undefined) return OBJECT.exec(head)?.[1];
  const common = resolve(git, readIf(join(git, 'commondir'), 'ENOENT')?.trim() ?? '.');
  const loose = readIf(join(common, ref), 'ENOENT');
  if (loose !== undefined) return OBJECT.exec(loose)?.[1];
  const packed = readFileSync(join(common, 'packed-refs'), 'utf8').split('\n');
  return packed.find((line) => line.endsWith(` ${ref}`))?.match(OBJECT)?.[1];
}

/** Reads a file; `undefined` if that fails with this code. */
function readIf(path: string, code: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined;
    throw error;
  }
}
