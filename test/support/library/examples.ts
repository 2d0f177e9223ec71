import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratch } from '../process/weir.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Packages that a host program installs beside the library for some of the examples. */
const BESIDE = ['undici', 'ws', 'playwright-core'];

/** A folder with the examples as in a project of a user, whose `weir-engine` is the source. */
export async function examplesFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await scratch();
  const modules = join(folder.path, 'node_modules');
  await cp(join(ROOT, 'examples'), folder.path, { recursive: true });
  await writeFile(join(folder.path, 'package.json'), '{ "type": "module", "private": true }');
  const engine = join(modules, 'weir-engine');
  await mkdir(engine, { recursive: true });
  await writeFile(
    join(engine, 'package.json'),
    '{ "name": "weir-engine", "type": "module", "exports": "./index.js" }',
  );
  const source = join(ROOT, 'packages/weir/src/index.ts');
  await writeFile(join(engine, 'index.js'), `export * from ${JSON.stringify(source)};\n`);
  for (const name of BESIDE) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  return folder;
}
