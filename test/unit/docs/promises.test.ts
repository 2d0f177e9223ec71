import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { page, ROOT } from '../../support/docs/pages.ts';

/** Promises that are made, so that none is dropped by an edit of the page. */
const PROMISES = 12;

/** `*name of a test* (`path`)` */
const NAMED_TEST = /\*([^*|]+)\* \(`((?:packages\/[^/]+\/)?test\/[^`]+)`\)/g;

const { text } = page('docs/promises.md');
const rows = Array.from(text.matchAll(/^\| (\d+) \| ([^|]+) \| (.+) \|$/gm), (match) => ({
  number: Number(match[1]),
  promise: match[2] ?? '',
  tests: match[3] ?? '',
}));

/** White space within a name may be a line break of the source. */
const squeezed = (source: string): string => source.replaceAll(/\s+/g, ' ');

describe('the page of promises', () => {
  test('has all of them in order', () => {
    assert.deepEqual(
      rows.map(({ number }) => number),
      Array.from({ length: PROMISES }, (_, index) => index + 1),
    );
  });

  for (const { number, tests } of rows) {
    test(`names tests that exist for promise ${number}`, () => {
      const named = Array.from(tests.matchAll(NAMED_TEST), ([, name = '', path = '']) => ({
        name,
        path,
      }));
      assert.ok(named.length > 0, 'no test is named');
      for (const { name, path } of named) {
        assert.ok(existsSync(join(ROOT, path)), path);
        const words = squeezed(readFileSync(join(ROOT, path), 'utf8'));
        assert.ok(words.includes(name), `${path} has no test "${name}"`);
      }
    });
  }

  test('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Readonly<Record<string, string>>;
    };
    const missing = Array.from(
      text.matchAll(/`npm run ([\w:-]+)/g),
      ([, name = '']) => name,
    ).filter((name) => scripts[name] === undefined);
    assert.deepEqual(missing, []);
  });
});
