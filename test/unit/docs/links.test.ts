import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { anchorsOf, PAGES, proseOf, ROOT, type Page } from '../../support/docs/pages.ts';

const LINK = /\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g;

/** The links of a page that lead to nothing. */
function brokenLinks(page: Page): readonly string[] {
  const links = Array.from(proseOf(page).matchAll(LINK), ([, text, image]) => text ?? image ?? '');
  return links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file);
    if (!existsSync(join(ROOT, path))) return true;
    const target = PAGES.find((each) => each.path === path);
    return anchor !== undefined && !(target && anchorsOf(target).has(anchor));
  });
}

for (const page of PAGES) {
  test(`the links of ${page.path} lead to files and headings that exist`, () => {
    assert.deepEqual(brokenLinks(page), []);
  });
}

test('a link to a heading that does not exist is found', () => {
  const text = '[a](README.md#nowhere) [b](README.md) [c](missing.md)';
  assert.deepEqual(brokenLinks({ path: 'CHANGELOG.md', text }), [
    'README.md#nowhere',
    'missing.md',
  ]);
});

test('every page below docs is in the index', () => {
  const index = PAGES.find(({ path }) => path === 'docs/README.md');
  const pages = PAGES.filter(({ path }) => path.startsWith('docs/') && path !== 'docs/README.md');
  const missing = pages.filter(({ path }) => !index?.text.includes(`](${path.slice(5)})`));
  assert.deepEqual(
    missing.map(({ path }) => path),
    [],
  );
});

test('the rows of the page of limits are those of operations', () => {
  const textOf = (path: string): string => PAGES.find((each) => each.path === path)?.text ?? '';
  const limits = textOf('docs/guides/limits.md').split('## Where it stops')[1] ?? '';
  const rows = limits.split('\n').filter((line) => /^\| (?!What )[^-]/.test(line));
  const operations = textOf('docs/operations.md').split('\n');
  assert.ok(rows.length > 5);
  assert.deepEqual(
    rows.filter((row) => !operations.includes(row)),
    [],
  );
});
