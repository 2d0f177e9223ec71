import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OWN, publishedManifest } from './manifest.ts';
import { ROOT } from './root.ts';
import { runTool } from './tool.ts';

/**
 * Packs what is published on npm, from a folder of its own: its package.json is not that of the source.
 *
 * @param out the folder for the tarball.
 * @param work a folder for what it is made of.
 * @returns the path of the tarball.
 */
export async function packForNpm(out: string, work: string): Promise<string> {
  const stage = join(work, 'npm');
  await mkdir(stage, { recursive: true });
  await runTool(process.execPath, [join(ROOT, 'packaging/build.ts'), '--out', join(stage, 'dist')]);
  const files = [...OWN.files.filter((file) => file !== 'dist'), 'README.md', 'LICENSE'];
  for (const file of files) await cp(join(ROOT, file), join(stage, file), { recursive: true });
  const manifest = JSON.stringify(publishedManifest(), null, 2);
  await writeFile(join(stage, 'package.json'), `${manifest}\n`);
  await runTool('npm', ['pack', '--silent', '--pack-destination', out], { cwd: stage });
  return join(out, `${OWN.name}-${OWN.version}.tgz`);
}
