import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runTool } from '../../packaging/tool.ts';

/** What Debian's `npm` and npm itself call their entry. */
const CLI = /npm-cli\.js$/;

/** The newest Node that cannot run Weir itself, for machines that have none installed. */
const OLD = '20';

/** The `npm-cli.js` of this machine; `undefined` without one. */
export function npmCli(): string | undefined {
  const own = process.env['npm_execpath'];
  if (own !== undefined && CLI.test(own)) return own;
  for (const folder of pathFolders()) {
    const path = join(folder, 'npm');
    if (existsSync(path) && CLI.test(realpathSync(path))) return realpathSync(path);
  }
  return undefined;
}

/**
 * Puts a Node older than Weir needs into a folder, alone: one of this machine, or Node 20 by npm.
 * @returns its version.
 * @throws where there is none and npm cannot get one.
 */
export async function putOldNode(folder: string, work: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const target = join(folder, 'node');
  const installed = installedOldNode();
  if (installed !== undefined) await symlink(installed, target);
  else await symlink(await installNode(OLD, work), target);
  return versionOf(target);
}

/**
 * Has npm put a Node into a folder.
 * @returns the path of its binary.
 * @throws where npm cannot get it.
 */
export async function installNode(version: string, work: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  await mkdir(work, { recursive: true });
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  // Where no registry is reached, npm would try for more than a minute.
  options.push('--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=1000');
  await runTool('npm', ['install', '--prefix', work, ...options, `${name}@${version}`]);
  return join(work, 'node_modules', name, 'bin/node');
}

function installedOldNode(): string | undefined {
  return pathFolders()
    .map((folder) => join(folder, 'node'))
    .find((path) => existsSync(path) && Number(/\d+/.exec(versionOf(path))?.[0]) < 24);
}

/** The version of a Node, such as `v26.12.1`. */
export const versionOf = (node: string): string =>
  execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();

const pathFolders = (): string[] => (process.env['PATH'] ?? '').split(delimiter);
