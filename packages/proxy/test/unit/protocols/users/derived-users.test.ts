import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '@weir/io/time';
import { DerivedUsers } from '../../../../src/protocols/users/known-users.ts';

/** Users whose derivation is counted. */
function harness() {
  const derived: string[] = [];
  const users = new DerivedUsers((secret: string) => {
    derived.push(secret);
    return `key of ${secret}`;
  });
  return { derived, users, take: (secrets: readonly string[]) => atOnce(users.take(secrets)) };
}

test('what the set before had is not derived again', () => {
  const { derived, take } = harness();
  assert.deepEqual(take(['b', 'a', 'b']), ['key of b', 'key of a', 'key of b']);
  assert.deepEqual(take(['a', 'c']), ['key of a', 'key of c']);
  assert.deepEqual(derived, ['b', 'a', 'c']);
});

test('what no set has any more is forgotten, once the next one is complete', () => {
  const { derived, users, take } = harness();
  take(['a']);
  users.take(['b']).next();
  take(['a', 'c']);
  take(['b']);
  take(['a']);
  assert.deepEqual(derived, ['a', 'b', 'c', 'b', 'a']);
});

test('each user is a step', () => {
  const { derived, users } = harness();
  const steps = users.take(['a', 'b', 'c']);
  const counts: number[] = [];
  while (!steps.next().done) counts.push(derived.length);
  assert.deepEqual(counts, [1, 2, 3]);
});
