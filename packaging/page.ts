import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Metafile, type Plugin } from 'esbuild';
import { pageDocument } from '../packages/watch/src/dashboard/files/load-page-files.ts';
import { CONTENT_TYPES } from '../packages/watch/src/dashboard/files/page-files.ts';
import { LESS_CHART } from './chart.ts';
import type { PackedFile, PackedPage } from './substitutes/package/packed-page.ts';
import { ROOT } from './root.ts';

const FOLDER = join(ROOT, 'packages/watch/src/dashboard/page');

/**
 * The page of the dashboard in one script and one style sheet, compressed.
 * @returns with what the script contains, for the notices
 */
export async function packPage(): Promise<{ page: PackedPage; metafile: Metafile }> {
  const { outputFiles, metafile, warnings } = await build({
    absWorkingDir: ROOT,
    entryPoints: [join(FOLDER, 'main.ts'), join(FOLDER, 'style.css')],
    outdir: '/',
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    // Browsers of 2024, which have Promise.withResolvers.
    target: ['chrome122', 'firefox124', 'safari17.4'],
    // The types of the files say so.
    charset: 'utf8',
    legalComments: 'none', // packaging/notices.ts has the licences.
    plugins: [LESS_SPACE, LESS_CHART],
    logLevel: 'warning',
  });
  if (warnings.length > 0) throw new Error('the bundle of the page has warnings');
  const built = outputFiles.map(({ path, contents }) => ({
    path: `/${basename(path)}`,
    contents,
  }));
  const pathOf = (end: string): string =>
    built.find(({ path }) => path.endsWith(end))?.path ?? missing(end);
  const { html } = pageDocument({ styles: [pathOf('.css')], script: pathOf('.js') });
  const page: PackedPage = [
    pack('/', '.html', Buffer.from(html), false),
    pack('/icon.svg', '.svg', await readFile(join(FOLDER, 'icon.svg')), false),
    ...built.map(({ path, contents }) => pack(path, extname(path), contents, true)),
  ];
  return { page, metafile };
}

/**
 * Lines of the page's modules without what they begin with. Minifying keeps that in templates, where it is nothing: htm
 * drops spaces with a line break beside tags, and no other template of the page has lines.
 */
const LESS_SPACE: Plugin = {
  name: 'less-space',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]dashboard[\\/]page[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(/\n\s+/g, '\n'),
      loader: 'ts',
    }));
  },
};

function pack(path: string, type: string, content: Uint8Array, immutable: boolean): PackedFile {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  return {
    path,
    type: CONTENT_TYPES[type] ?? missing(type),
    etag: `"${createHash('sha256').update(content).digest('base64url')}"`,
    immutable,
    br: brotliCompressSync(content, { params }).toString('base64'),
    gzip: gzipSync(content, { level: 9 }).toString('base64'),
  };
}

function missing(what: string): never {
  throw new Error(`the page has no ${what}`);
}
