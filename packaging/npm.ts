import { cp, glob, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tarArchive } from '../packages/watch/src/diagnose/collect-diagnosis.ts';
import type { Packages } from './bundle.ts';
import { buildDist, buildEngine } from './dist.ts';
import { engineManifest, OWN, publishedManifest } from './manifest.ts';
import { ROOT } from './root.ts';
import { sourceDate } from './source-date.ts';

export interface NpmPackage {
  /** The path of the tarball. */
  readonly path: string;
  /** The packages whose code it contains. */
  readonly packages: Packages;
}

/**
 * Packs what is published on npm, from a folder of its own: its package.json is not that of the source. The tarball is
 * not `npm pack`'s, whose bytes depend on the version of npm and of the Node that runs it, and on the modes of the
 * checkout; `npm publish FILE` takes it as it is.
 *
 * @param out the folder for the tarball.
 * @param work a folder for what it is made of.
 */
export async function packForNpm(out: string, work: string): Promise<NpmPackage> {
  const stage = join(work, 'npm');
  await mkdir(stage, { recursive: true });
  const packages = await buildDist(join(stage, 'dist'));
  const files = [...OWN.files.filter((file) => file !== 'dist'), 'README.md', 'LICENSE'];
  for await (const file of glob(files, { cwd: ROOT }))
    await cp(join(ROOT, file), join(stage, file), { recursive: true });
  const manifest = JSON.stringify(publishedManifest(), null, 2);
  await writeFile(join(stage, 'package.json'), `${manifest}\n`);
  const path = join(out, `${OWN.name}-${OWN.version}.tgz`);
  await writeFile(path, await tarball(stage));
  return { path, packages };
}

/**
 * Packs the package for hosts, as `packForNpm` does.
 * @param out the folder for the tarball.
 * @param work a folder for what it is made of.
 */
export async function packEngine(out: string, work: string): Promise<NpmPackage> {
  const stage = join(work, 'engine');
  await mkdir(join(stage, 'docs'), { recursive: true });
  const packages = await buildEngine(join(stage, 'dist'));
  await cp(join(ROOT, 'LICENSE'), join(stage, 'LICENSE'));
  await cp(join(ROOT, 'packaging/engine/README.md'), join(stage, 'README.md'));
  await cp(join(ROOT, 'examples'), join(stage, 'examples'), { recursive: true });
  for (const page of ENGINE_PAGES) {
    const text = await readFile(join(ROOT, page), 'utf8');
    await writeFile(join(stage, page), text.replaceAll(LINK, linkWithinEngine));
  }
  const manifest = engineManifest();
  await writeFile(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const path = join(out, `${manifest.name}-${manifest.version}.tgz`);
  await writeFile(path, await tarball(stage));
  return { path, packages };
}

/** The pages about the library. */
const ENGINE_PAGES = ['docs/library.md', 'docs/library-reference.md', 'docs/configuration.md'];

/** A link of a page to a file of the tree. */
const LINK = /\[([^\]]+)\]\((?!https?:)([^)#\s]+)[^)\s]*\)/g;

/** The package for hosts has a few of the pages: of a link to another one it keeps the words. */
const linkWithinEngine = (link: string, words: string, path: string): string =>
  ['examples', ...ENGINE_PAGES].includes(posix.join('docs', path)) ? link : words;

/** Packs the files of a folder under `package/`, as npm has them. */
export async function tarball(stage: string): Promise<Buffer> {
  const entries = await readdir(stage, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(stage, join(entry.parentPath, entry.name)).split(sep).join('/'))
    // What tells npm about a package comes first; the rest has an order that no locale changes.
    .toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const files = await Promise.all(
    paths.map(async (path) => ({
      path: `package/${path}`,
      bytes: await readFile(join(stage, path)),
      mode: Object.values(OWN.bin).includes(path) ? 0o755 : 0o644,
    })),
  );
  return gzipSync(tarArchive(files, sourceDate()), { level: 9 });
}

const rank = (path: string): number => (path === 'package.json' ? 0 : 1);
