import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { changedLines } from '../../../../src/dashboard/reader/file-work.ts';

const lines = (all: readonly { readonly line: number; readonly text: string }[]): string[] =>
  all.map(({ line, text }) => `${line} ${text}`);

test('one changed line is shown with the lines before it', async () => {
  const before = '[route]\n# first\ndefault = "near"\n[log]\n';
  const difference = await changedLines(before, before.replace('near', 'direct'));
  assert.deepEqual(lines(difference.context), ['1 [route]', '2 #******']);
  assert.deepEqual(lines(difference.removed), ['3 default = "near"']);
  assert.deepEqual(lines(difference.added), ['3 default = "direct"']);
  assert.equal(difference.hidden, false);
});

test('a change within a secret shows that there is one, and not which', async () => {
  const of = (secret: string): string => `[api]\nsecret = "${secret}"\n`;
  const difference = await changedLines(of('aaaaaaaa'), of('bbbbbbbb'));
  assert.deepEqual(lines(difference.removed), ['2 secret = "********"']);
  assert.deepEqual(lines(difference.added), ['2 secret = "********"']);
  assert.equal(difference.hidden, true);
});

test('added and removed lines, and equal documents', async () => {
  const added = await changedLines('a = 1\nc = 3\n', 'a = 1\nb = 2\nc = 3\n');
  assert.deepEqual([added.removed.length, added.added.length], [0, 1]);
  const gone = await changedLines('a = 1\nb = 2\nc = 3\n', 'a = 1\nc = 3\n');
  assert.deepEqual([gone.removed.length, gone.added.length], [1, 0]);
  const equal = await changedLines('a = 1\n', 'a = 1\n');
  assert.deepEqual([equal.removed, equal.added], [[], []]);
});

test('any two documents have a bounded difference that accounts for all their lines', async () => {
  const text = fc
    .array(fc.oneof(fc.constantFrom('a = 1', '[x]', '"""', ''), fc.string()), {
      maxLength: 80,
      size: 'max',
    })
    .map((all) => all.join('\n'));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const { removed, added, moreRemoved, moreAdded } = await changedLines(before, after);
      assert.ok(removed.length <= 24 && added.length <= 24);
      const growth = after.split('\n').length - before.split('\n').length;
      assert.equal(added.length + moreAdded - removed.length - moreRemoved, growth);
    }),
    { numRuns: 50 },
  );
});
