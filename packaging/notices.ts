import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Packages } from './bundle.ts';
import { ROOT } from './root.ts';

const LICENSE_FILE = /^(licen[cs]e|copying|notice)(\.(txt|md))?$/i;

/**
 * The licences of the packages whose code a bundle contains, as their authors ask.
 * @throws {Error} for a package without the text of its licence
 */
export async function notices(packages: Packages): Promise<string> {
  const parts = ['Weir contains the following software by others.\n'];
  for (const [folder, { name, version, license }] of packages) {
    const path = join(ROOT, folder);
    const files = (await readdir(path)).filter((file) => LICENSE_FILE.test(file)).toSorted();
    if (files.length === 0) throw new Error(`${folder} has no licence to copy`);
    const texts = await Promise.all(files.map((file) => readFile(join(path, file), 'utf8')));
    const title = `${name} ${version} (${license ?? 'see below'})`;
    parts.push(
      [title, '='.repeat(title.length), '', ...texts.map((text) => text.trim())].join('\n'),
    );
  }
  return `${parts.join('\n\n')}\n`;
}
