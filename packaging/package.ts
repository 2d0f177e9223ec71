import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { keptFailures } from '../tools/advisories/kept-failures.ts';
import { buildDebian } from './debian.ts';
import { buildExecutable } from './executable.ts';
import { engineManifest, OWN } from './manifest.ts';
import { packEngine, packForNpm } from './npm.ts';
import { ROOT } from './root.ts';
import { sbom, type SbomSubject } from './sbom.ts';
import { ARCHITECTURES, isArchitecture, targetObstacle } from './target.ts';
import { hasTool } from './tool.ts';

/*
 * `npm run package [-- --only KIND] [--arch ARCHITECTURE]`: all forms in which Weir is installed, in one
 * folder. What cannot be built on this machine is left out with the reason. `--emulator COMMAND` names a
 * program that runs Node of another architecture here, such as `qemu-aarch64-static -L SYSROOT`. `--fast` leaves
 * the Debian package uncompressed, for tests. Two builds of one commit on machines with the same
 * tools are equal byte by byte: docs/releasing.md. A pinned Node that is older than a security release, and a package with an
 * advisory, by the lists of `npm run advisories`, are refused.
 */

const KINDS = ['npm', 'engine', 'executable', 'deb'] as const;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'out') },
    only: { type: 'string', multiple: true, default: [...KINDS] },
    arch: { type: 'string', default: process.arch },
    emulator: { type: 'string', default: '' },
    fast: { type: 'boolean', default: false },
  },
});
const unknown = values.only.filter((kind) => !KINDS.some((known) => known === kind));
if (unknown.length > 0) throw new Error(`--only takes ${KINDS.join(', ')}`);
if (values.arch !== process.arch && !isArchitecture(values.arch)) {
  throw new Error(`--arch takes ${ARCHITECTURES.join(', ')}`);
}

// By what is known in this commit: the same commit is built or refused, whatever has been published since.
const known = keptFailures();
if (known.length > 0) throw new Error(`nothing is packaged: ${known.join('; ')}`);

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
  const finished = async (subject: SbomSubject): Promise<void> => {
    const { path } = subject;
    await writeFile(`${path}.cdx.json`, await sbom(subject));
    built.push(path, `${path}.cdx.json`);
  };
  const wanted = (kind: (typeof KINDS)[number]): boolean => values.only.includes(kind);
  if (wanted('npm')) {
    await finished({
      ...(await packForNpm(out, work)),
      purl: `pkg:npm/${OWN.name}@${OWN.version}`,
    });
  }
  if (wanted('engine')) {
    const { name, version, optionalDependencies: installed } = engineManifest();
    const packed = await packEngine(out, work);
    await finished({ ...packed, name, installed, purl: `pkg:npm/${name}@${version}` });
  }
  const { arch } = values;
  if (!isArchitecture(arch) || targetObstacle(arch) !== undefined) {
    leftOut('the executable and the Debian package', targetObstacle(arch) ?? '');
  } else if (wanted('executable') || wanted('deb')) {
    const executable = join(wanted('executable') ? out : work, 'weir');
    const emulator = values.emulator.split(' ').filter((word) => word !== '');
    const contents = await buildExecutable(executable, join(work, 'executable'), {
      arch,
      emulator,
    });
    const { notices } = contents;
    if (wanted('executable')) {
      const purl = `pkg:generic/${OWN.name}@${OWN.version}?arch=${arch}&os=linux`;
      await finished({ ...contents, path: executable, purl });
      await writeFile(join(out, 'THIRD-PARTY.txt'), notices);
      built.push(join(out, 'THIRD-PARTY.txt'));
    }
    if (wanted('deb')) {
      if (await hasTool('dpkg-deb')) {
        const compression = values.fast ? ['-Znone'] : [];
        const path = await buildDebian({ executable, arch, notices, out, work, compression });
        await finished({ ...contents, path, purl: `pkg:deb/weir@${OWN.version}?arch=${arch}` });
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
