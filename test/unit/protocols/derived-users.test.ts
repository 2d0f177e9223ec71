import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../../../src/net/turns.ts';
import { DerivedUsers } from '../../../src/protocols/derived-users.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** Users whose derivation is counted, by a clock that each takes a millisecond of. */
function harness() {
  const derived: string[] = [];
  const clock = new ManualClock();
  const users = new DerivedUsers((secret: string) => {
    derived.push(secret);
    clock.advance(1);
    return `key of ${secret}`;
  });
  return { derived, users, clock };
}

test('what was prepared is not derived again, nor what the set before had', async () => {
  const { derived, users, clock } = harness();
  await users.prepare(['a', 'b'], new Turns(clock));
  assert.deepEqual(users.take(['b', 'a', 'b']), ['key of b', 'key of a', 'key of b']);
  await users.prepare(['a', 'c'], new Turns(clock));
  assert.deepEqual(users.take(['a', 'c']), ['key of a', 'key of c']);
  assert.deepEqual(derived, ['a', 'b', 'c']);
});

test('what no set has any more is forgotten', async () => {
  const { derived, users, clock } = harness();
  users.take(['a']);
  await users.prepare(['b'], new Turns(clock)); // of a reload that failed
  await users.prepare(['c'], new Turns(clock));
  users.take(['c']);
  users.take(['a', 'b']);
  assert.deepEqual(derived, ['a', 'b', 'c', 'a', 'b']);
});

test('a long preparation gives way every few milliseconds', async () => {
  const { derived, users, clock } = harness();
  let longest = 0;
  let before = 0;
  let done = false;
  const look = (): void => {
    longest = Math.max(longest, derived.length - before);
    before = derived.length;
    if (!done) setImmediate(look);
  };
  setImmediate(look);
  await users.prepare(
    Array.from({ length: 100 }, (_, i) => String(i)),
    new Turns(clock),
  );
  done = true;
  assert.equal(derived.length, 100);
  // Two stretches: theirs and the look may fall into one turn in either order.
  assert.ok(longest <= 16, `${longest} ms at a stretch`);
});
