import { copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Metafile } from 'esbuild';
import { bundleEngine, bundlePackage, packagesIn, type Packages } from './bundle.ts';
import { keepReachable } from './declarations.ts';
import { notices } from './notices.ts';
import { packPage } from './page.ts';
import { DIST, ROOT } from './root.ts';
import { PACKED_PAGE } from './substitutes/package/packed-page.ts';
import { runTool } from './tool.ts';

/** The folder of the declarations, with one for each package. */
const TYPES = 'types';

/**
 * Builds what is published in place of the source: the program, the declarations of the library, and the notices.
 *
 * @returns the packages whose code it contains
 */
export async function buildDist(folder: string): Promise<Packages> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const [bundles] = await Promise.all([buildProgram(folder), buildTypes(folder)]);
  await relocateMaps(folder);
  const packages = await packagesIn(bundles, ['node_modules/bufferutil']);
  await writeFile(join(folder, 'THIRD-PARTY.txt'), await notices(packages));
  return packages;
}

/**
 * Builds what the package for hosts contains: the library without the command and the programs around it, its
 * declarations, and the notices.
 *
 * @returns the packages whose code it contains
 */
export async function buildEngine(folder: string): Promise<Packages> {
  await mkdir(folder, { recursive: true });
  const [bundled] = await Promise.all([
    bundleEngine(folder),
    buildTypes(folder, ['--declarationMap', 'false']),
    copyNative(folder),
  ]);
  const packages = await packagesIn([bundled], ['node_modules/bufferutil']);
  await writeFile(join(folder, 'THIRD-PARTY.txt'), await notices(packages));
  return packages;
}

/** Builds the declarations of the library. @param options of the compiler */
async function buildTypes(folder: string, options: readonly string[] = []): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const project = join(ROOT, 'tsconfig.build.json');
  const types = join(folder, TYPES);
  await runTool(process.execPath, [tsc, '-p', project, '--outDir', types, ...options]);
  await keepReachable(types, 'weir/src/index.d.ts');
}

/** Copies the native parts and the WebAssembly that bundles load. */
async function copyNative(folder: string): Promise<void> {
  await copyFile(join(ROOT, 'node_modules/rregex/lib/rregex.wasm'), join(folder, 'rregex.wasm'));
  await copyPrebuilt('node_modules/bufferutil/prebuilds', folder);
}

/**
 * Builds all that `main.js` needs: the bundle, the page of the dashboard, and the native parts and WebAssembly that the
 * bundle loads.
 *
 * @returns what the bundles of program and page contain
 */
export async function buildProgram(folder: string): Promise<readonly Metafile[]> {
  const [bundled, { page, metafile }] = await Promise.all([
    bundlePackage(folder),
    packPage(),
    copyNative(folder),
  ]);
  await writeFile(join(folder, PACKED_PAGE), JSON.stringify(page));
  return [bundled, metafile];
}

/** Has the maps of declarations name the source from where the package has it, not from where it was built. */
async function relocateMaps(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('.d.ts.map')) continue;
    const path = join(folder, name);
    const map = JSON.parse(await readFile(path, 'utf8')) as { sources: readonly string[] };
    const sources = map.sources.map((source) =>
      relative(dirname(join(DIST, name)), resolve(dirname(path), source)),
    );
    await writeFile(path, JSON.stringify({ ...map, sources }));
  }
}

/** `linux-x64/bufferutil.node` becomes `bufferutil-linux-x64.node`. */
async function copyPrebuilt(from: string, folder: string): Promise<void> {
  for (const platform of await readdir(join(ROOT, from))) {
    await copyFile(
      join(ROOT, from, platform, 'bufferutil.node'),
      join(folder, `bufferutil-${platform}.node`),
    );
  }
}
