import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceOf, type ProgramName, type Source } from '../packages.ts';

/** Where the installer puts what is not a Debian package; not part of the sources. */
export const INSTALLED = fileURLToPath(new URL('../../../.programs', import.meta.url));

/** A file of pinned requirements. */
export const requirementsFile = (name: string): string =>
  fileURLToPath(new URL(`../python/${name}.txt`, import.meta.url));

/** The file in a Python environment that holds the requirements it was installed with. */
export const STAMP = 'installed.txt';

export interface Program {
  /** Of the command; empty if it is not installed. */
  readonly path: string;
  /** What a test's `skip` option takes: `false`, or why the test cannot run here. */
  readonly skip: string | false;
}

/** The command of a program that the installer knows. */
export function programOrSkip(name: ProgramName): Program {
  const path = findProgram(name);
  if (path !== undefined) return { path, skip: false };
  return { path: '', skip: `not installed: ${name} (${origin(sourceOf(name))})` };
}

export function findProgram(name: ProgramName): string | undefined {
  const source = sourceOf(name);
  switch (source.from) {
    case 'debian': {
      // Some commands live in /usr/sbin, which is not on every user's path.
      const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/bin'];
      return folders.map((folder) => join(folder, name)).find(isExecutable);
    }
    case 'pypi': {
      const command = join(folderOf(name), 'bin', source.command);
      return isExecutable(command) && isCurrent(name, source.requirements) ? command : undefined;
    }
    case 'go':
    case 'cargo': {
      const command = join(folderOf(name), 'bin', name);
      return isExecutable(command) ? command : undefined;
    }
    default:
      return source satisfies never;
  }
}

/** The folder that a program is installed into: another one for each version. */
export function folderOf(name: ProgramName): string {
  const source = sourceOf(name);
  return join(INSTALLED, 'version' in source ? `${name}-${source.version}` : name);
}

/** Whether a Python environment has the requirements as they are now. */
function isCurrent(name: ProgramName, requirements: string): boolean {
  try {
    const stamp = readFileSync(join(folderOf(name), STAMP), 'utf8');
    return stamp === readFileSync(requirementsFile(requirements), 'utf8');
  } catch {
    return false; // not installed to its end
  }
}

function origin(source: Source): string {
  switch (source.from) {
    case 'debian':
      return `Debian package ${source.package}`;
    case 'pypi':
      return 'PyPI; npm run conformance:install';
    case 'go':
      return `Go module ${source.package}@${source.version}; npm run conformance:install`;
    case 'cargo':
      return `crate ${source.crate} ${source.version}; npm run conformance:install`;
    default:
      return source satisfies never;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
