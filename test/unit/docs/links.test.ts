import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLinks, PAGES, pagesAt } from '../../support/docs/pages.ts';

for (const page of [
  ...PAGES,
  ...pagesAt(['CHANGELOG.md', 'SECURITY.md', 'packages/*/README.md']),
]) {
  test(`the links of ${page.path} lead to files and headings that exist`, () => {
    assert.deepEqual(deadLinks(page), []);
  });
}

test('a link to a heading that does not exist is found', () => {
  const text = '[a](README.md#nowhere) [b](README.md) [c](missing.md) [d](../README.md)';
  assert.deepEqual(deadLinks({ path: 'CHANGELOG.md', text }), [
    'README.md#nowhere',
    'missing.md',
    '../README.md',
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
