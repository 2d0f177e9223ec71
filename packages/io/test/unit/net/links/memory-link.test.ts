import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkPair } from '../../../../src/net/links/memory-link.ts';

test('a writer of short chunks waits, however few bytes they are', async () => {
  const [near, far] = linkPair();
  let written = 0;
  let full: Promise<void> | undefined;
  while (!full && written < 10_000) {
    written++;
    full = near.write(Uint8Array.of(1));
  }
  assert.ok(full, `${written} chunks wait`);
  assert.ok(written < 500, `${written} chunks wait`);
  for (let read = 0; read < written; read++) assert.equal((await far.read())?.length, 1);
  await full;
  assert.equal(near.write(Uint8Array.of(2)), undefined);
});
