import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { buildDebian } from './debian.ts';
import { buildExecutable } from './executable.ts';
import { OWN } from './manifest.ts';
import { packForNpm } from './npm.ts';
import { ROOT } from './root.ts';
import { ARCHITECTURES, isArchitecture, targetObstacle } from './target.ts';
import { hasTool } from './tool.ts';

/*
 * `npm run package [-- --only KIND] [--arch ARCHITECTURE]`: all forms in which Weir is installed, in one
 * folder. What cannot be built on this machine is left out with the reason. `--emulator COMMAND` names a
 * program that runs Node of another architecture here, such as `qemu-aarch64-static -L SYSROOT`.
 */

const KINDS = ['npm', 'executable', 'deb'] as const;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'out') },
    only: { type: 'string', multiple: true, default: [...KINDS] },
    arch: { type: 'string', default: process.arch },
    emulator: { type: 'string', default: '' },
  },
});
const unknown = values.only.filter((kind) => !KINDS.some((known) => known === kind));
if (unknown.length > 0) throw new Error(`--only takes ${KINDS.join(', ')}`);
if (values.arch !== process.arch && !isArchitecture(values.arch)) {
  throw new Error(`--arch takes ${ARCHITECTURES.join(', ')}`);
}

// The modes of files in packages are not those that the user likes.
process.umask(0o022);

const work = await mkdtemp(join(tmpdir(), 'weir-package-'));
try {
  await rm(values.out, { recursive: true, force: true });
  await mkdir(values.out, { recursive: true });
  await buildAll(values.out);
} finally {
  await rm(work, { recursive: true, force: true });
}

async function buildAll(out: string): Promise<void> {
  const built: string[] = [];
  const wanted = (kind: (typeof KINDS)[number]): boolean => values.only.includes(kind);
  if (wanted('npm')) built.push(await packForNpm(out, work));
  const { arch } = values;
  if (!isArchitecture(arch) || targetObstacle(arch) !== undefined) {
    leftOut('the executable and the Debian package', targetObstacle(arch) ?? '');
  } else if (wanted('executable') || wanted('deb')) {
    const executable = join(wanted('executable') ? out : work, 'weir');
    const emulator = values.emulator.split(' ').filter((word) => word !== '');
    const notices = await buildExecutable(executable, join(work, 'executable'), { arch, emulator });
    if (wanted('executable')) {
      await writeFile(join(out, 'THIRD-PARTY.txt'), notices);
      built.push(executable);
    }
    if (wanted('deb')) {
      if (await hasTool('dpkg-deb')) {
        built.push(await buildDebian({ executable, arch, notices, out, work }));
      } else leftOut('the Debian package', 'there is no dpkg-deb in the PATH');
    }
  }
  const sums: string[] = [];
  for (const path of built) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    sums.push(`${hash.digest('hex')}  ${basename(path)}\n`);
    const { size } = await stat(path);
    process.stdout.write(`${path}  ${(size / 1e6).toFixed(1)} MB\n`);
  }
  await writeFile(join(out, 'SHA256SUMS'), sums.join(''));
}

function leftOut(what: string, why: string): void {
  process.stderr.write(`left out: ${what} of weir ${OWN.version}: ${why}\n`);
}
