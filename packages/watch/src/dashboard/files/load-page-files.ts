import { stripTypeScriptTypes } from 'node:module';
import { createHash, hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WeirError } from '@weir/base';
import { CONTENT_TYPES, type PageFile, type PageFiles } from './page-files.ts';

/**
 * Strips the types of a TypeScript module for browsers; lines and columns stay. Node warns at the first call that the
 * function is experimental: this program pins its Node, so that one warning is suppressed.
 */
function stripTypes(source: string): string {
  // oxlint-disable-next-line typescript/unbound-method -- called with its process again, and put back
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: never[]) => {
    if (!String(warning).startsWith('stripTypeScriptTypes is ')) {
      Reflect.apply(emitWarning, process, [warning, ...rest]);
    }
  };
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

interface PageDocumentParts {
  /** Paths of the style sheets, in order. */
  readonly styles: readonly string[];
  /** Path of the entry module. */
  readonly script: string;
  /** Import map: paths of modules by import specifier; `undefined` for a bundle. */
  readonly imports?: Readonly<Record<string, string>>;
  /** Paths of modules to preload. */
  readonly modules?: readonly string[];
}

/** The HTML document of the page, and the hashes of its inline scripts. */
export function pageDocument({ styles, script, imports, modules = [] }: PageDocumentParts): {
  readonly html: string;
  readonly scriptHashes: readonly string[];
} {
  const map = imports && JSON.stringify({ imports });
  const html = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="robots" content="noindex">',
    '<title>Weir</title>',
    '<link rel="icon" href="/icon.svg">',
    ...styles.map((path) => `<link rel="stylesheet" href="${path}">`),
    ...(map === undefined ? [] : [`<script type="importmap">${map}</script>`]),
    ...modules.map((path) => `<link rel="modulepreload" href="${path}">`),
    `<script type="module" src="${script}"></script>`,
    '</head>',
    '<body>',
    '<noscript>The dashboard of Weir needs JavaScript; <code>weir top</code> shows the same in a terminal.</noscript>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
  return { html, scriptHashes: map === undefined ? [] : [hashSource(map)] };
}

const hashSource = (script: string): string =>
  `sha256-${createHash('sha256').update(script).digest('base64')}`;

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
