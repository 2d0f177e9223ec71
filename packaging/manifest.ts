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
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const read = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as PackageJson;

export const OWN = read('.');

/**
 * The package.json that is published. The bundle contains what the source depends on; left are the
 * packages of single platforms, of which npm installs those for the machine: Node, and the binary
 * of koffi. None of them has an install script.
 */
export function publishedManifest(): PackageJson {
  const { name, version, description, license, bin, files, type, exports, engines } = OWN;
  const optionalDependencies = {
    ...read('node_modules/koffi').optionalDependencies,
    ...OWN.optionalDependencies,
  };
  const kept = { name, version, description, license, bin, files, type, exports, engines };
  return { ...kept, optionalDependencies };
}
