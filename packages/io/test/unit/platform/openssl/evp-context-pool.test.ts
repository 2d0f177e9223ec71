import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvpContextPool, POOLED_CONTEXTS } from '../../../../src/platform/openssl/evp.ts';
import { NativeError } from '../../../../src/platform/native.ts';

/** A pool of contexts with the numbers 1, 2, …, and those that were freed. */
function makePool(): { readonly pool: EvpContextPool; readonly freed: number[] } {
  let last = 0;
  const freed: number[] = [];
  const pool = new EvpContextPool(
    () => ++last,
    (context) => freed.push(context),
  );
  return { pool, freed };
}

test('a wiped context serves the next cipher of its name, and no other', () => {
  const { pool, freed } = makePool();
  const context = pool.create();
  pool.give('aes-128-gcm', context, true);
  assert.equal(pool.take('aes-256-gcm'), undefined);
  assert.equal(pool.take('aes-128-gcm'), context);
  assert.equal(pool.take('aes-128-gcm'), undefined, 'it was taken');
  assert.deepEqual(freed, []);
});

test('a context that still has its key is freed', () => {
  const { pool, freed } = makePool();
  const context = pool.create();
  pool.give('aes-128-gcm', context, false);
  assert.deepEqual(freed, [context]);
  assert.equal(pool.take('aes-128-gcm'), undefined);
});

test('a pool is bounded: what comes above is freed', () => {
  const { pool, freed } = makePool();
  const contexts = Array.from({ length: POOLED_CONTEXTS + 2 }, () => pool.create());
  for (const context of contexts) pool.give('aes-128-gcm', context, true);
  assert.deepEqual(freed, contexts.slice(POOLED_CONTEXTS));
});

test('a context that OpenSSL has no memory for is an error', () => {
  const pool = new EvpContextPool(
    () => 0,
    () => undefined,
  );
  assert.throws(() => pool.create(), NativeError);
});
