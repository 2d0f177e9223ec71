import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { drawHouse, picturePath, THEMES } from '../../../tools/architecture/drawing.ts';
import { packageOf, readImports, sourceFiles } from '../../../tools/architecture/imports.ts';
import { FLOORS } from '../../../tools/architecture/layers.ts';
import { page, ROOT } from '../../support/docs/pages.ts';

const MAP = 'docs/architecture.md';

/** What a page has between single backticks that ends as a file or a folder does. */
const pathsIn = (path: string): readonly string[] =>
  Array.from(page(path).text.matchAll(/`([\w./-]+(?:\.ts|\/))`/g), ([, named = '']) => named);

for (const [name, theme] of Object.entries(THEMES)) {
  test(`the ${name} picture of the source is current; npm run docs:pictures draws it`, async () => {
    const drawn = drawHouse(await sourceFiles(), await readImports(), theme);
    assert.ok(readFileSync(picturePath(name), 'utf8') === drawn, picturePath(name));
  });
}

test('every source file and folder that the map names exists', async () => {
  const files = await sourceFiles();
  const folders = new Set(files.map((file) => `${dirname(file)}/`));
  const known = [...files, ...folders].map((path) => `/${path}`);
  const missing = pathsIn(MAP).filter(
    (named) =>
      !known.some((path) => path.endsWith(`/${named}`) || path.startsWith(`/${named}`)) &&
      !existsSync(join(ROOT, named)),
  );
  assert.deepEqual(missing, []);
});

test('every package is in the table of the map, and every room of one that has several', async () => {
  const rooms = new Set([
    ...(await sourceFiles()).map(packageOf),
    ...Object.values(FLOORS).flat(2),
  ]);
  const rows = page(MAP)
    .text.split('\n')
    .filter((line) => /^\| (`|\|)/.test(line));
  const named = new Set(
    rows.flatMap((row) => Array.from(row.matchAll(/`([^`]+)`/g), ([, room = '']) => room)),
  );
  assert.deepEqual(
    [...rooms].filter((room) => !named.has(room)),
    [],
  );
});

test('every file that CONTRIBUTING.md names exists', () => {
  const fromRoot = pathsIn('CONTRIBUTING.md').filter((path) =>
    /^(packages|test|tools|packaging)\//.test(path),
  );
  assert.deepEqual(
    fromRoot.filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
});
