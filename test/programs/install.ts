import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { PACKAGES, sourceOf, type ProgramName } from './packages.ts';
import {
  findProgram,
  folderOf,
  requirementsFile,
  sourceFolder,
  STAMP,
  stampOf,
} from './support/program.ts';

/**
 * Installs the programs of `packages.ts` that are missing, or those that are named as arguments. What
 * cannot be installed is reported and its tests are skipped, so this never fails.
 */

/** Seconds; crates take longest to build. */
const LIMIT = 900;

/** Runs a command; returns the last lines of its output if it failed. */
function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): string | null {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    timeout: LIMIT * 1000,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status === 0) return null;
  const output = `${stdout ?? ''}${stderr ?? ''}`.trim().split('\n').slice(-4).join('\n');
  return [error?.message, output].filter(Boolean).join('\n');
}

function installDebian(name: string): string | null {
  if (process.getuid?.() !== 0) return 'only root can install Debian packages';
  const options = ['-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'];
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const first = run('apt-get', ['install', ...options, name], env);
  // The lists may be older than the packages of the archive.
  if (first === null || run('apt-get', ['update', '-qq'], env) !== null) return first;
  return run('apt-get', ['install', ...options, name], env);
}

function installPython(name: ProgramName, requirements: string): string | null {
  const folder = folderOf(name);
  const file = requirementsFile(requirements);
  const pip = ['install', '--quiet', '--disable-pip-version-check', '--require-hashes', '-r', file];
  const failure =
    run('python3', ['-m', 'venv', '--clear', folder]) ?? run(join(folder, 'bin', 'pip'), pip);
  if (failure === null) writeFileSync(join(folder, STAMP), stampOf(name));
  return failure;
}

function install(name: ProgramName): string | null {
  const source = sourceOf(name);
  const folder = folderOf(name);
  switch (source.from) {
    case 'debian':
      return installDebian(source.package);
    case 'pypi':
      return installPython(name, source.requirements);
    case 'go': {
      const bin = join(folder, 'bin');
      mkdirSync(bin, { recursive: true });
      return run('go', ['install', `${source.package}@${source.version}`], { GOBIN: bin });
    }
    case 'go-source': {
      const from = ['-C', sourceFolder(source.folder), '-mod=readonly', '-trimpath'];
      const failure = run('go', ['build', ...from, '-o', join(folder, 'bin', name), '.']);
      if (failure === null) writeFileSync(join(folder, STAMP), stampOf(name));
      return failure;
    }
    case 'cargo': {
      const version = ['--version', source.version, '--locked', '--quiet', '--root', folder];
      return run('cargo', ['install', source.crate, ...version]);
    }
    default:
      return source satisfies never;
  }
}

const names = Object.keys(PACKAGES) as ProgramName[];
const wanted = process.argv.slice(2);
for (const name of names) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  if (findProgram(name) !== undefined) continue;
  process.stdout.write(`installing ${name}\n`);
  const failure = install(name);
  if (failure !== null) process.stdout.write(`could not install ${name}:\n${failure}\n`);
}
