import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { atOnce } from '@weir/io/time';
import { LinkClosedError } from '@weir/io';
import { InboundMemory } from '../../../../src/protocols/inbounds/inbound-memory.ts';
import { KnownUsers } from '../../../../src/protocols/users/known-users.ts';
import { UserSearch } from '../../../../src/protocols/users/user-search.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

/** What one trial takes. */
const TRIAL_MS = 0.25;
const USERS = Array.from({ length: 40 }, (_, index) => index);

/** A client that stays connected and has no time limit. */
const NEVER = new AbortController().signal;
const OPEN: Promise<Error | undefined> = new Promise(() => undefined);

function start({ users = USERS, limit = 100 } = {}) {
  const clock = new ManualClock();
  const memory = new InboundMemory();
  const known = atOnce(KnownUsers.of(users, String, memory));
  const search = new UserSearch(known, { clock, memory }, { limit });
  /** The searches that have ended, in that order. */
  const ended: string[] = [];
  let trials = 0;
  /** A client whose user is `user`; one that has none without it. */
  const find = (
    name: string,
    source: string | undefined,
    user?: number,
    { signal = NEVER, closed = OPEN } = {},
  ): Promise<number | undefined> => {
    const fits = (tried: number): boolean => {
      trials++;
      clock.advance(TRIAL_MS);
      return tried === user;
    };
    return search.find(source, fits, { link: { closed }, signal }).finally(() => ended.push(name));
  };
  /** Advances time while searches run, for that long at least. */
  const pass = async (milliseconds: number): Promise<void> => {
    const end = clock.now() + milliseconds;
    while (clock.now() < end) {
      clock.advance(1);
      await turn();
    }
  };
  return { clock, memory, known, ended, find, pass, trials: () => trials };
}

/** Spends the budget: 20 ms that were saved, and what is earned meanwhile. */
async function exhaust({ find, pass }: ReturnType<typeof start>, source = '198.51.100.1') {
  const searches = [1, 2, 3].map((n) => find(`attack ${n}`, source));
  await pass(200);
  await Promise.all(searches);
}

describe('the search for a user', () => {
  test('finds the user that fits, and no other', async () => {
    const { find } = start();
    assert.equal(await find('first', '192.0.2.1', 0), 0);
    assert.equal(await find('last', '192.0.2.1', 39), 39);
    const { find: another } = start();
    assert.equal(await another('none', undefined), undefined);
  });

  test('runs in slices of a millisecond, one in each turn of the event loop', async () => {
    const { find, trials } = start();
    const found = find('none', '192.0.2.1');
    assert.equal(trials(), 0);
    for (let slice = 1; slice <= 10; slice++) {
      await turn();
      assert.equal(trials(), 4 * slice);
    }
    await turn();
    assert.equal(await found, undefined);
  });

  test('waits while the budget is spent, and takes a fifth of the time then', async () => {
    const busy = start();
    await exhaust(busy);
    const before = busy.trials();
    const searches = USERS.map((n) => busy.find(`client ${n}`, `192.0.2.${n}`));
    await busy.pass(1000);
    const share = ((busy.trials() - before) * TRIAL_MS) / 1000;
    assert.ok(share > 0.18 && share < 0.24, `${share} of the time`);
    await busy.pass(2000);
    assert.deepEqual(
      await Promise.all(searches),
      USERS.map(() => undefined),
    );
  });

  test('costs a known user one trial, and no time of the budget', async () => {
    const busy = start();
    busy.known.remember('192.0.2.1', 30);
    busy.known.remember('2001:db8::1', 31);
    const attack = USERS.map((n) => busy.find(`attack ${n}`, `198.51.100.${n}`));
    const before = busy.trials();
    assert.equal(await busy.find('known', '192.0.2.1', 30), 30);
    assert.equal(await busy.find('known by its network', '2001:db8::2', 31), 31);
    assert.ok(busy.trials() - before < 2 + 3 * 4, 'a slice a turn at most beside it');
    await busy.pass(3000);
    await Promise.all(attack);
  });

  test('of a source that failed waits for those of others', async () => {
    const busy = start();
    await exhaust(busy);
    const attack = [4, 5, 6].map((n) => busy.find(`attack ${n}`, '198.51.100.1'));
    const client = busy.find('client', '192.0.2.1', 39);
    await busy.pass(1000);
    assert.equal(await client, 39);
    await Promise.all(attack);
    assert.deepEqual(busy.ended.slice(3), ['client', 'attack 4', 'attack 5', 'attack 6']);
    // A minute later the failures are forgotten, and sources take turns.
    busy.clock.advance(60_000);
    const later = [7, 8].map((n) => busy.find(`attack ${n}`, '198.51.100.1'));
    const another = busy.find('another', '192.0.2.2', 39);
    await busy.pass(1000);
    await Promise.all([...later, another]);
    assert.deepEqual(busy.ended.slice(7), ['attack 7', 'another', 'attack 8']);
  });

  test('counts the addresses of an IPv6 network as one source', async () => {
    const busy = start();
    await exhaust(busy, '2001:db8::1');
    const attack = busy.find('attack', '2001:db8::ffff');
    const client = busy.find('client', '2001:db8:0:1::1', 39);
    await busy.pass(1000);
    await Promise.all([attack, client]);
    assert.deepEqual(busy.ended.slice(3), ['client', 'attack']);
  });

  test('ends when its signal aborts, waiting or under way', async () => {
    const { find, pass, trials } = start();
    const reason = new Error('the time is over');
    const [first, second] = [new AbortController(), new AbortController()];
    const active = assert.rejects(find('active', '192.0.2.1', 39, first), reason);
    const waiting = assert.rejects(find('waiting', '192.0.2.2', 39, second), reason);
    await turn();
    first.abort(reason);
    second.abort(reason);
    await Promise.all([active, waiting]);
    const before = trials();
    await pass(100);
    assert.equal(trials(), before);
    await assert.rejects(find('late', '192.0.2.1', 39, first), reason);
  });

  test('ends with the link of its client', async () => {
    const { find, pass, trials } = start();
    const { promise: closed, resolve } = Promise.withResolvers<undefined>();
    const left = assert.rejects(find('left', '192.0.2.1', 39, { closed }), LinkClosedError);
    await turn();
    resolve(undefined);
    await left;
    const before = trials();
    await pass(100);
    assert.equal(trials(), before);
  });

  test('is rejected when too many wait: the newest of the source with the most', async () => {
    const { find, pass, ended } = start({ limit: 4 });
    const searches = [
      find('client 1', '192.0.2.1', 1),
      find('attack 1', '198.51.100.1'),
      find('attack 2', '198.51.100.1'),
      find('attack 3', '198.51.100.1'),
      find('client 2', '192.0.2.2', 2),
    ];
    const results = await Promise.all([Promise.allSettled(searches), pass(500)]);
    assert.deepEqual(
      results[0].map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal(ended[0], 'attack 3');
  });

  test('fails alone when a trial does', async () => {
    const { find, known, clock, memory } = start();
    const search = new UserSearch(known, { clock, memory });
    const failure = new RangeError('no such cipher');
    const failing = search.find(
      '192.0.2.1',
      () => {
        throw failure;
      },
      { link: { closed: OPEN }, signal: NEVER },
    );
    await assert.rejects(failing, failure);
    assert.equal(await find('next', '192.0.2.1', 3), 3);
  });

  test('takes no turn and no budget where there is one user', async () => {
    const { find, trials } = start({ users: [7] });
    const searches = Array.from({ length: 1000 }, () => find('client', '192.0.2.1'));
    assert.equal(trials(), 1000);
    await Promise.all(searches);
    assert.equal(await find('user', '192.0.2.1', 7), 7);
  });
});
