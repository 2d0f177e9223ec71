import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { drawHouse, picturePath, THEMES } from '../../../tools/architecture/drawing.ts';
import { readImports, sourceFiles } from '../../../tools/architecture/imports.ts';
import { page, ROOT } from '../../support/docs/pages.ts';

for (const [name, theme] of Object.entries(THEMES)) {
  test(`the ${name} picture of the source is current; \`npm run docs:pictures\` draws it`, async () => {
    const drawn = drawHouse(await sourceFiles(), await readImports(), theme);
    assert.ok(readFileSync(picturePath(name), 'utf8') === drawn, picturePath(name));
  });
}

for (const path of ['docs/architecture.md', 'CONTRIBUTING.md']) {
  test(`every source file that ${path} names exists`, () => {
    const named = page(path).text.matchAll(/`((?:src|test|tools|packaging|bench)\/[^`*<>]*)`/g);
    const missing = Array.from(named, ([, file = '']) => file).filter(
      (file) => !existsSync(join(ROOT, file)),
    );
    assert.deepEqual(missing, []);
  });
}
