import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { LIBRARIES, pinnedNode } from './manifest.ts';
import { ROOT } from './root.ts';
import { runTool } from './tool.ts';

/** Architectures of Linux for which there are executables, as Node names them. */
export const ARCHITECTURES = ['x64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** What an executable is made of beside the program. */
export interface Target {
  readonly arch: Architecture;
  /** The binary of Node. */
  readonly node: string;
  /** The folder of the package that Node is from, for its licence; relative to the repository. */
  readonly nodePackage: string;
  /** The binary of koffi. */
  readonly koffi: string;
  /** Whether this machine runs that Node as it is. */
  readonly isOwn: boolean;
}

export const isArchitecture = (name: string): name is Architecture =>
  ARCHITECTURES.some((known) => known === name);

/** @throws where nothing can be built for this machine. */
export function ownArchitecture(): Architecture {
  if (!isArchitecture(process.arch)) throw new Error(targetObstacle());
  return process.arch;
}

/** Why nothing can be built for an architecture here; `undefined` when it can. */
export function targetObstacle(arch: string = process.arch): string | undefined {
  if (process.platform === 'linux' && isArchitecture(arch)) return undefined;
  return `it is built on Linux, for x64 or arm64; this is ${process.platform}-${arch}`;
}

/**
 * The parts for an architecture: those that are installed, or for another than this machine's the
 * same versions from the npm registry.
 * @param folder for what is fetched, which is not fetched again.
 */
export async function findTarget(arch: Architecture, folder: string): Promise<Target> {
  if (arch === process.arch) {
    const koffi = createRequire(import.meta.url).resolve(
      `@koromix/koffi-linux-${arch}/package.json`,
    );
    const node = process.execPath;
    return {
      arch,
      node,
      nodePackage: `node_modules/${pinnedNode(`linux-${arch}`).name}`,
      koffi: koffiIn(dirname(koffi), arch),
      isOwn: true,
    };
  }
  const { name, version } = pinnedNode(`linux-${arch}`);
  const [nodeFolder, koffiFolder] = await Promise.all([
    fetchPackage(name, version, join(folder, 'fetched-node')),
    fetchPackage(`@koromix/koffi-linux-${arch}`, LIBRARIES['koffi'], join(folder, 'fetched-koffi')),
  ]);
  return {
    arch,
    node: join(nodeFolder, 'bin/node'),
    nodePackage: relative(ROOT, nodeFolder),
    koffi: koffiIn(koffiFolder, arch),
    isOwn: false,
  };
}

const koffiIn = (folder: string, arch: Architecture): string =>
  join(folder, `linux_${arch}`, 'koffi.node');

/** npm does not install packages of other architectures, but fetches them. */
async function fetchPackage(name: string, version = '', folder: string): Promise<string> {
  const found = join(folder, version, 'package');
  if (existsSync(join(folder, version, 'complete'))) return found;
  await mkdir(join(folder, version), { recursive: true });
  const output = await runTool(
    'npm',
    ['pack', '--silent', '--prefer-offline', '--pack-destination', folder, `${name}@${version}`],
    { cwd: folder },
  );
  const tarball = join(folder, output.trim().split('\n').at(-1) ?? '');
  await runTool('tar', ['-xzf', tarball, '-C', join(folder, version)]);
  await rm(tarball);
  await writeFile(join(folder, version, 'complete'), '');
  return found;
}
