import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  CLASH_API,
  DASHBOARD,
  DIAGNOSE,
  METRICS,
  TOP,
} from '../../../packages/weir/src/cli/watch/specs.ts';
import { COMMANDS } from '../../../packages/weir/src/cli/commands.ts';
import type { CommandSpec } from '../../../packages/weir/src/cli/command.ts';
import { page, ROOT } from '../../support/docs/pages.ts';

/** What a page has in the first cells of its tables, between backticks. */
const firstCells = (text: string): readonly string[] =>
  Array.from(text.matchAll(/^\| ((?:[^|\\]|\\.)*) \|/gm), ([, cell = '']) => cell);

const optionsIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(/`--([a-z-]+)/g), ([, name = '']) => name);

test('the table of commands has every command', () => {
  const { text } = page('docs/operations.md');
  const named = firstCells(text).join('\n');
  const missing = COMMANDS.filter(({ name }) => !new RegExp(`\`weir \\[?${name}\\b`).test(named));
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});

const PROGRAMS: readonly (readonly [string, CommandSpec])[] = [
  ['docs/dashboard.md', DASHBOARD],
  ['docs/top.md', TOP],
  ['docs/clash-api.md', CLASH_API],
  ['docs/metrics.md', METRICS],
  ['docs/diagnose.md', DIAGNOSE],
];

for (const [path, { name, options }] of PROGRAMS) {
  test(`${path} has the options of weir ${name}, and no others`, () => {
    const named = new Set(optionsIn(firstCells(page(path).text).join('\n')));
    const own = new Set(Object.keys(options).filter((option) => option !== 'help'));
    assert.deepEqual([...named].sort(), [...own].sort());
  });
}

describe('the page of the dashboard', () => {
  const { text } = page('docs/dashboard.md');
  const source = (pattern: string): string =>
    globSync(join(ROOT, 'packages/watch/src/dashboard/page', pattern))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');

  test('has every state', () => {
    const states = source('components/states.ts');
    const titles = Array.from(states.matchAll(/title: '([^']+)'/g), ([, title = '']) => title);
    assert.ok(titles.length > 10);
    const plain = text.replaceAll('`', '').toLowerCase();
    const missing = titles.filter((title) => !plain.includes(title.toLowerCase()));
    assert.deepEqual(missing, []);
  });

  test('has every key of one letter', () => {
    const [, table = ''] = text.split(/^## Keys$/m);
    const [first] = table.split(/^## /m);
    const named = new Set(
      Array.from((first ?? '').matchAll(/`([^`])`/g), ([, letter = '']) => letter),
    );
    const keys = source('**/*.ts').matchAll(/\bkey: '([^'])'/g);
    const missing = new Set(
      Array.from(keys, ([, key = '']) => key).filter((key) => !named.has(key)),
    );
    assert.deepEqual([...missing], []);
  });
});
