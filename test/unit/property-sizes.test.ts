import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';

/** The least length with which a size has to be given. */
const LEAST_WITH_SIZE = 30;

/** Options that limit a length: the object literal around `maxLength` and a number. */
const LIMITED = /\{[^{}]*\bmaxLength: (?<most>[0-9_]+)[^{}]*\}/g;

test('a property that names a long maxLength has a size, since fast-check tries some ten elements without', async () => {
  const root = new URL('../..', import.meta.url);
  const short: string[] = [];
  for await (const file of glob('{test,packages/*/test}/**/*.ts', { cwd: root })) {
    const text = await readFile(new URL(file, root), 'utf8');
    if (!text.includes("from 'fast-check'")) continue;
    for (const { 0: options, groups } of text.matchAll(LIMITED)) {
      const most = groups?.most ?? '';
      const isFixed = options.includes(`minLength: ${most},`);
      if (Number(most.replaceAll('_', '')) < LEAST_WITH_SIZE || isFixed) continue;
      if (!/\bsize: '/.test(options)) short.push(`${file}: ${options.replaceAll(/\s+/g, ' ')}`);
    }
  }
  assert.deepEqual(short, [], "add size: 'max', or name a lower limit");
});
