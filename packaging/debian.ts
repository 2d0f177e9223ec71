import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readFile,
  readdir,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { COMMANDS } from '../packages/weir/src/cli/commands.ts';
import { debianChangelog, MAINTAINER } from './debian-changelog.ts';
import { manPage } from './man-page.ts';
import { OWN } from './manifest.ts';
import { ROOT } from './root.ts';
import { ownArchitecture, type Architecture } from './target.ts';
import { sourceDate } from './source-date.ts';
import { runTool } from './tool.ts';

const SCRIPTS = ['postinst', 'prerm', 'postrm'];

/** Of these, an installation enables the first alone. */
const UNITS = [
  'weir.service',
  'weir@.service',
  'weir-instances.service',
  'weir.socket',
  'weir-subscribe.service',
  'weir-subscribe.timer',
  'weir-usage.service',
  'weir-links.service',
];

const CONFFILES = ['etc/weir/weir.toml'];

/** Debian's names of architectures. */
const ARCHITECTURE: Readonly<Record<Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** What the binary of Node is linked to, and Debian's packages with that. */
export const LIBRARIES: ReadonlyMap<string, string> = new Map([
  ['libc.so.6', 'libc6 (>= 2.28)'],
  ['libgcc_s.so.1', 'libgcc-s1 | libgcc1'],
  ['libstdc++.so.6', 'libstdc++6'],
  ['libatomic.so.1', 'libatomic1'],
]);

/** Where completions of a shell are looked for. */
const COMPLETIONS: Readonly<Record<string, string>> = {
  bash: 'usr/share/bash-completion/completions/weir',
  zsh: 'usr/share/zsh/vendor-completions/_weir',
  fish: 'usr/share/fish/vendor_completions.d/weir.fish',
};

export interface DebianOptions {
  /** The executable that becomes /usr/bin/weir. */
  readonly executable: string;
  /** What the executable runs on; this machine by default. */
  readonly arch?: Architecture;
  /** The licences of what it contains. */
  readonly notices: string;
  /** The folder for the package. */
  readonly out: string;
  /** A folder for what it is made of. */
  readonly work: string;
  /** Options of dpkg-deb; its default compresses best. */
  readonly compression?: readonly string[];
}

/** Builds the Debian package with dpkg-deb; returns its path. */
export async function buildDebian(options: DebianOptions): Promise<string> {
  const root = join(options.work, 'debian');
  await rm(root, { recursive: true, force: true });
  const file = new Files(root);
  await file.copy(options.executable, 'usr/bin/weir', 0o755);
  for (const unit of UNITS) await file.copy(`packaging/${unit}`, `usr/lib/systemd/system/${unit}`);
  await file.copy('packaging/debian/weir.toml', 'etc/weir/weir.toml');
  await file.write('usr/share/man/man1/weir.1.gz', gzipSync(manPage(OWN.version), { level: 9 }));
  await writeDocumentation(file, options.notices);
  const { arch = ownArchitecture() } = options;
  const isOwn = arch === process.arch;
  await writeCompletions(file, isOwn ? [options.executable] : [process.execPath, SOURCE]);

  await mkdir(join(root, 'DEBIAN'));
  const architecture = ARCHITECTURE[arch];
  await writeFile(join(root, 'DEBIAN/conffiles'), CONFFILES.map((path) => `/${path}\n`).join(''));
  await writeFile(join(root, 'DEBIAN/control'), control(architecture, file.bytes));
  await writeFile(join(root, 'DEBIAN/md5sums'), file.sums);
  for (const name of SCRIPTS) {
    await copyFile(join(ROOT, 'packaging/debian', name), join(root, 'DEBIAN', name));
    await chmod(join(root, 'DEBIAN', name), 0o755);
  }
  const at = sourceDate() / 1000;
  await settle(root, at);
  const path = join(options.out, `weir_${OWN.version}_${architecture}.deb`);
  await runTool(
    'dpkg-deb',
    [...(options.compression ?? []), '--root-owner-group', '--build', root, path],
    { env: { ...process.env, SOURCE_DATE_EPOCH: String(at) } },
  );
  return path;
}

/**
 * Gives folders their mode whatever the umask, and everything the date of the package.
 * @param at in seconds
 */
async function settle(root: string, at: number): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (relative(root, path).startsWith('DEBIAN/') && !SCRIPTS.includes(entry.name)) {
      await chmod(path, 0o644);
    }
    await utimes(path, at, at);
  }
  await chmod(root, 0o755);
  await utimes(root, at, at);
}

/** The files of the package, with their size and MD5 sums. */
class Files {
  readonly #root: string;
  bytes = 0;
  sums = '';

  constructor(root: string) {
    this.#root = root;
  }

  async write(path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
    const to = join(this.#root, path);
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, content);
    await chmod(to, mode);
    // For dpkg --verify, whose format has MD5; dpkg itself watches files of the configuration.
    if (!CONFFILES.includes(path)) {
      this.sums += `${createHash('md5').update(content).digest('hex')}  ${path}\n`;
    }
    this.bytes += (await lstat(to)).size;
  }

  async copy(from: string, path: string, mode = 0o644): Promise<void> {
    await this.write(path, await readFile(join(ROOT, relative(ROOT, from))), mode);
  }
}

async function writeDocumentation(file: Files, notices: string): Promise<void> {
  const folder = 'usr/share/doc/weir';
  const news = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8');
  await file.copy('packaging/debian/copyright', `${folder}/copyright`);
  for (const page of ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'])
    await file.copy(page, `${folder}/${page}`);
  await file.write(`${folder}/THIRD-PARTY.txt.gz`, gzipSync(notices, { level: 9 }));
  await file.write(`${folder}/changelog.gz`, gzipSync(debianChangelog(news), { level: 9 }));
  for (const [from, to] of [
    ['docs', 'docs'],
    ['config', 'examples'],
    ['examples', 'examples'],
  ] as const) {
    const entries = await readdir(join(ROOT, from), { recursive: true, withFileTypes: true });
    for (const entry of entries.toSorted(byPath)) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      await file.copy(path, `${folder}/${to}/${relative(join(ROOT, from), path)}`);
    }
  }
}

const byPath = (a: Dirent, b: Dirent): number =>
  join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1;

/** The program that is not built, for architectures that this machine cannot run. */
const SOURCE = join(ROOT, 'packages/weir/src/main.js');

/** @param command runs Weir on this machine. */
async function writeCompletions(file: Files, command: readonly string[]): Promise<void> {
  const [program = '', ...args] = command;
  if (!COMMANDS.some(({ name }) => name === 'completion')) return;
  for (const [shell, path] of Object.entries(COMPLETIONS)) {
    await file.write(path, await runTool(program, [...args, 'completion', shell]));
  }
}

const control = (architecture: string, bytes: number): string => `Package: weir
Version: ${OWN.version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${Math.ceil(bytes / 1024)}
Depends: ${[...LIBRARIES.values()].join(', ')}, adduser
Section: net
Priority: optional
Description: multi-protocol proxy
 ${OWN.description}.
 .
 The package contains the Node.js that runs it, and a service for systemd.
`;
