import { hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WeirError } from '@weir/base';
import { pageDocument } from './page-document.ts';
import { CONTENT_TYPES, type PageFile, type PageFiles } from './page-files.ts';
import { stripTypes } from './strip-types.ts';

/*
 * Loads the page from a checkout: its modules with their types stripped. Packages have a bundle in place of this file
 * (packaging/substitutes/).
 */

/** The directory that request paths are relative to. */
const SOURCE = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['dashboard/page', 'dashboard/shared'];

/**
 * What the page imports by name, with its files in browsers: libraries, and what it shares with terminal output, which
 * imports nothing.
 */
const LIBRARIES: Readonly<Record<string, string>> = {
  preact: '/lib/preact.mjs',
  'preact/hooks': '/lib/preact-hooks.mjs',
  '@preact/signals': '/lib/signals.mjs',
  '@preact/signals-core': '/lib/signals-core.mjs',
  htm: '/lib/htm.mjs',
  uplot: '/lib/uplot.mjs',
  '@weir/base/printable': '/lib/printable.ts',
  '@weir/base/text/amounts': '/lib/amounts.ts',
  '@weir/base/text/command-line': '/lib/command-line.ts',
};

/** Paths of libraries whose default resolution is not the file that browsers need. */
const MODULES: Readonly<Record<string, string>> = { uplot: 'uplot/dist/uPlot.esm.js' };

/** Loads all files of the page. @throws {WeirError} when the libraries of the page are not installed */
export async function loadPageFiles(): Promise<PageFiles> {
  const paths = new Map<string, string>();
  for (const folder of FOLDERS) {
    const entries = await readdir(join(SOURCE, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      if (!entry.isFile() || !(extname(entry.name) in CONTENT_TYPES)) continue;
      const path = join(entry.parentPath, entry.name);
      paths.set(`/${relative(SOURCE, path)}`, path);
    }
  }
  paths.set('/icon.svg', join(SOURCE, 'dashboard/page/icon.svg'));
  for (const [name, path] of Object.entries(LIBRARIES)) {
    paths.set(path, locate(MODULES[name] ?? name));
  }
  const { html, scriptHashes } = pageDocument({
    styles: ['/dashboard/page/style.css'],
    script: '/dashboard/page/main.ts',
    imports: LIBRARIES,
    // Without a bundle, a browser would discover modules one import after the other.
    modules: [...paths.keys()].filter((path) => /\.m?[jt]s$/.test(path)),
  });
  const document = fileOf('.html', Buffer.from(html));
  const source = new SourceFiles();
  const get = async (path: string): Promise<PageFile | undefined> => {
    if (path === '/') return document;
    const found = paths.get(path);
    return found === undefined ? undefined : source.read(found);
  };
  return { get, scriptHashes };
}

/** Source files that are read again after a change, so that editing them needs no restart. */
class SourceFiles {
  readonly #read = new Map<string, { readonly changed: number; readonly file: PageFile }>();

  async read(path: string): Promise<PageFile> {
    const { mtimeMs: changed } = await stat(path);
    const known = this.#read.get(path);
    if (known?.changed === changed) return known.file;
    const content = await readFile(path);
    const type = extname(path);
    const file = fileOf(
      type,
      type === '.ts' ? Buffer.from(stripTypes(content.toString())) : content,
    );
    this.#read.set(path, { changed, file });
    return file;
  }
}

const fileOf = (type: string, content: Uint8Array): PageFile => ({
  type: CONTENT_TYPES[type] ?? 'application/octet-stream',
  etag: `"${hash('sha256', content, 'base64url')}"`,
  immutable: false,
  bodies: new Map([['identity', content]]),
});

function locate(name: string): string {
  // Signals import their core, which is a package of its own.
  const parent =
    name === '@preact/signals-core' ? import.meta.resolve('@preact/signals') : undefined;
  try {
    return fileURLToPath(import.meta.resolve(name, parent));
  } catch (error) {
    throw new WeirError('no_page_library', `the library ${name} of the page is not installed`, {
      cause: error,
      hint: 'in a checkout run npm ci with its development dependencies, or install a package of Weir, which has them built in',
    });
  }
}
