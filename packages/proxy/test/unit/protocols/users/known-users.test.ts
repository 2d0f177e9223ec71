import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '@weir/io/time';
import { InboundMemory } from '../../../../src/protocols/inbounds/inbound-memory.ts';
import { sourceGroup } from '@weir/io/bounds';
import { KnownUsers } from '../../../../src/protocols/users/known-users.ts';

/** Which users are tried for a source, and in which order. */
function tried(known: KnownUsers<string>, source: string | undefined): readonly string[] {
  const users: string[] = [];
  known.from(source, (user) => {
    users.push(user);
    return false;
  });
  return users;
}

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `user ${i}`);
const of = (users: readonly string[], memory = new InboundMemory()): KnownUsers<string> =>
  atOnce(KnownUsers.of(users, (user) => user, memory));

describe('users that are remembered by their source', () => {
  test('are tried for that source alone, the last one first', () => {
    const known = of(names(3));
    for (const user of ['user 0', 'user 2', 'user 0', 'user 1']) known.remember('192.0.2.1', user);
    known.remember(undefined, 'user 2');
    assert.deepEqual(tried(known, '192.0.2.1'), ['user 1', 'user 0', 'user 2']);
    assert.deepEqual(tried(known, undefined), ['user 2']);
    assert.deepEqual(tried(known, '192.0.2.2'), []);
    assert.equal(
      known.from('192.0.2.1', (user) => user === 'user 0'),
      'user 0',
    );
  });

  test('are sixteen of a source at most', () => {
    const known = of(names(100));
    for (const user of known.all) known.remember('192.0.2.1', user);
    assert.deepEqual(tried(known, '192.0.2.1'), known.all.slice(84).toReversed());
  });

  test('are those of 4,096 sources, of which the one that was silent longest is forgotten', () => {
    const known = of(names(2));
    const source = (i: number): string => `192.0.${i >> 8}.${i & 255}`;
    for (let i = 0; i < 4096; i++) known.remember(source(i), 'user 1');
    tried(known, source(0));
    known.remember('198.51.100.1', 'user 1');
    assert.deepEqual(tried(known, source(0)), ['user 1']);
    assert.deepEqual(tried(known, source(1)), []);
  });

  test('outlive a reload, as far as they do themselves', () => {
    const memory = new InboundMemory();
    const before = of(names(3), memory);
    for (const user of before.all) before.remember('192.0.2.1', user);
    const after = of(['new', 'user 2', 'user 0'], memory);
    assert.deepEqual(tried(after, '192.0.2.1'), ['user 2', 'user 0']);
  });
});

test('an IPv4 address is a source of its own, however it is written', () => {
  assert.notEqual(sourceGroup('192.0.2.1'), sourceGroup('192.0.2.2'));
  assert.equal(sourceGroup('::ffff:192.0.2.1'), sourceGroup('192.0.2.1'));
  assert.notEqual(sourceGroup('::ffff:192.0.2.1'), sourceGroup('::ffff:192.0.2.2'));
});

test('the addresses of one IPv6 network of 64 bits are one source', () => {
  assert.equal(sourceGroup('2001:db8:0:1::1'), sourceGroup('2001:db8:0:1:ffff:ffff:ffff:ffff'));
  assert.notEqual(sourceGroup('2001:db8:0:1::1'), sourceGroup('2001:db8:0:2::1'));
});

test('all clients of a unix socket are one source', () => {
  assert.equal(sourceGroup(undefined), sourceGroup(undefined));
  assert.notEqual(sourceGroup(undefined), sourceGroup('192.0.2.1'));
});
