import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OnDemand } from '../../src/on-demand.ts';

const MISSING = './missing.ts';

test('a part is there once it has been loaded, and imported once', async () => {
  let imports = 0;
  const parts = new OnDemand('part', {
    one: () => Promise.resolve({ number: ++imports }),
    two: () => Promise.resolve({ text: 'two' }),
  });
  assert.throws(() => parts.get('one'), { message: 'the part one has not been loaded' });
  await parts.load(['one', 'one']);
  await parts.load(['one']);
  assert.equal(parts.get('one').number, 1);
  assert.ok(parts.isLoaded(['one']));
  assert.ok(!parts.isLoaded(['one', 'two']));
  assert.throws(() => parts.get('two'), RangeError);
});

test('a part is known by its name before it is loaded', () => {
  const parts = new OnDemand('part', { one: () => Promise.resolve({}) });
  assert.ok(parts.has('one'));
  for (const name of ['', 'two', 'constructor', '__proto__']) assert.ok(!parts.has(name), name);
});

test('a part that cannot be imported is an error, and is tried again', async () => {
  let isThere = false;
  const parts = new OnDemand('part', {
    one: async () => (isThere ? { text: 'one' } : ((await import(MISSING)) as { text: string })),
  });
  await assert.rejects(parts.load(['one']), {
    code: 'not_loadable',
    message: /^cannot load the part one: /,
  });
  isThere = true;
  await parts.load(['one']);
  assert.equal(parts.get('one').text, 'one');
});
