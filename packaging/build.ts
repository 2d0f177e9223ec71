import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundlePackage, packagesIn } from './bundle.ts';
import { keepReachable } from './declarations.ts';
import { notices } from './notices.ts';
import { packPage } from './page.ts';
import { ROOT } from './root.ts';
import { PACKED_PAGE } from './substitutes/package/packed-page.ts';
import { runTool } from './tool.ts';

/*
 * `npm run build`: what is published in place of the source. The bundle, the declarations of the
 * library, the page of the dashboard, and the native parts and WebAssembly that the bundle loads.
 */

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } });
await buildDist(values.out);

async function buildDist(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const [bundled, { page, metafile }] = await Promise.all([
    bundlePackage(folder),
    packPage(),
    runTool(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', folder]),
    copyFile(join(ROOT, 'node_modules/rregex/lib/rregex.wasm'), join(folder, 'rregex.wasm')),
    copyPrebuilt('node_modules/bufferutil/prebuilds', folder),
  ]);
  await keepReachable(folder, 'index.d.ts');
  await writeFile(join(folder, PACKED_PAGE), JSON.stringify(page));
  const packages = await packagesIn([bundled, metafile], ['node_modules/bufferutil']);
  await writeFile(join(folder, 'THIRD-PARTY.txt'), await notices(packages));
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
