import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest } from './bundle.ts';
import { ROOT } from './root.ts';

const LICENSE_FILE = /^(licen[cs]e|copying|notice)(\.(txt|md))?$/i;

/** The licences of the packages whose code a bundle contains, as their authors ask. */
export async function notices(packages: ReadonlyMap<string, Manifest>): Promise<string> {
  const parts = ['Weir contains the following software by others.\n'];
  for (const [folder, { name, version, license }] of packages) {
    const path = join(ROOT, folder);
    const files = (await readdir(path)).filter((file) => LICENSE_FILE.test(file)).toSorted();
    const texts = await Promise.all(files.map((file) => readFile(join(path, file), 'utf8')));
    const title = `${name} ${version} (${license ?? 'see below'})`;
    parts.push(
      [title, '='.repeat(title.length), '', ...texts.map((text) => text.trim())].join('\n'),
    );
  }
  return `${parts.join('\n\n')}\n`;
}
