import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { atOnce } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import { ReplayFilter } from '@weir/crypto/replay';
import { InboundMemory } from '../../../../src/protocols/inbounds/inbound-memory.ts';
import { RejectedClientError } from '../../../../src/protocols/inbounds/handshake.ts';
import {
  AuthIdMaker,
  AuthIdReader,
  userKey,
} from '../../../../src/protocols/vmess/header/header-seal.ts';
import { VmessUsers } from '../../../../src/protocols/vmess/inbound.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { ID, OTHER_ID } from '../../../../../../test/support/protocols/vmess/harness.ts';

const KEY = userKey(ID);
const RANDOM = Buffer.of(1, 2, 3, 4);

const createAuthId = (key: Uint8Array, seconds: number, random: Uint8Array): Buffer =>
  new AuthIdMaker(key).make(seconds, random);

describe('an auth id', () => {
  test('of Xray-core is read', () => {
    // made by Xray-core, CreateAuthID(key, 1700000000)
    const authId = Buffer.from('2575e30378b93ecec31145aea1ca3f5b', 'hex');
    assert.equal(new AuthIdReader(KEY).read(authId), 1_700_000_000n);
    assert.equal(new AuthIdReader(userKey(OTHER_ID)).read(authId), undefined);
  });

  test('is read again and again by the same reader', () => {
    const reader = new AuthIdReader(KEY);
    for (const seconds of [0, 1, 1_700_000_000, 2 ** 40]) {
      assert.equal(reader.read(createAuthId(KEY, seconds, RANDOM)), BigInt(seconds));
    }
  });

  test('belongs to no user when one of its bits differs', () => {
    const reader = new AuthIdReader(KEY);
    const authId = createAuthId(KEY, 1_700_000_000, RANDOM);
    for (let bit = 0; bit < 128; bit++) {
      const other = Buffer.from(authId);
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(reader.read(other), undefined);
    }
  });
});

describe('the table of users', () => {
  const clock = (): ManualClock => new ManualClock(0, 1_700_000_000_000);

  /** Identifies auth ids by a table of these users. */
  function table(ids: readonly string[], now = clock()) {
    const context = { clock: now, memory: new InboundMemory() };
    const list = ids.map((id) => ({ id }));
    const users = atOnce(VmessUsers.of(list, context));
    return async (authId: Uint8Array): Promise<Uint8Array> => {
      const { key } = await users.identify(authId, '192.0.2.1', {
        link: { closed: new Promise(() => undefined) },
        signal: new AbortController().signal,
      });
      return key;
    };
  }

  test('tells users apart', async () => {
    const identify = table([OTHER_ID, ID, ID]);
    for (const id of [ID, OTHER_ID]) {
      const authId = createAuthId(userKey(id), 1_700_000_000, RANDOM);
      assert.deepEqual(await identify(authId), userKey(id));
    }
  });

  test('knows no user when it is empty', async () => {
    const authId = createAuthId(KEY, 1_700_000_000, RANDOM);
    await assert.rejects(table([])(authId), RejectedClientError);
  });

  test('takes clocks that are off by two minutes and no more', async () => {
    for (const [skew, good] of [
      [0, true],
      [120, true],
      [-120, true],
      [121, false],
      [-121, false],
      [86_400, false],
    ] as const) {
      const key = table([ID])(createAuthId(KEY, 1_700_000_000 + skew, RANDOM));
      if (good) assert.deepEqual(await key, KEY);
      else await assert.rejects(key, new RegExp(`off by ${skew} s`));
    }
  });

  test('takes no time before 1970 and none beyond all numbers', async () => {
    for (const seconds of [-1_700_000_000, -(2 ** 62), 2 ** 62]) {
      await assert.rejects(table([ID])(createAuthId(KEY, seconds, RANDOM)), ProtocolError);
    }
  });

  test('takes an auth id once, as long as its time counts', async () => {
    const now = clock();
    const identify = table([ID], now);
    const authId = createAuthId(KEY, 1_700_000_000 + 120, RANDOM);
    assert.deepEqual(await identify(authId), KEY);
    for (const second of [0, 1, 60, 59, 119, 1]) {
      now.advance(second * 1000);
      await assert.rejects(identify(authId), /sent before/);
    }
    now.advance(1000);
    await assert.rejects(identify(authId), /off by -121 s/);
  });

  test('another random number makes another auth id', async () => {
    const identify = table([ID]);
    for (let i = 0; i < 50; i++) {
      const authId = createAuthId(KEY, 1_700_000_000, Buffer.of(0, 0, 0, i));
      assert.deepEqual(await identify(authId), KEY);
    }
  });
});

describe('the replay filter', () => {
  const entry = (n: number): Buffer => {
    const bytes = Buffer.alloc(16, 7);
    bytes.writeUInt32BE(n);
    return bytes;
  };

  test('remembers for a period at the least and two at the most', () => {
    const clock = new ManualClock();
    const filter = new ReplayFilter(clock, 1000);
    clock.advance(999);
    assert.equal(filter.check(entry(1), clock.now()), 'new');
    clock.advance(1000);
    assert.equal(filter.check(entry(1), clock.now()), 'seen');
    clock.advance(1000);
    assert.equal(filter.check(entry(1), clock.now()), 'new');
  });

  test('forgets everything after a long time without clients', () => {
    const clock = new ManualClock();
    const filter = new ReplayFilter(clock, 1000);
    filter.check(entry(1), clock.now());
    clock.advance(10_000);
    assert.equal(filter.check(entry(1), clock.now()), 'new');
  });

  for (const pause of [2000, 10_000]) {
    test(`rejects what is not later than all that it has forgotten in ${pause} ms, when the clock is set back`, () => {
      const clock = new ManualClock();
      const filter = new ReplayFilter(clock, 1000);
      assert.equal(filter.check(entry(1), 5), 'new');
      clock.advance(1000);
      assert.equal(filter.check(entry(2), 6), 'new');
      clock.advance(pause);
      assert.equal(filter.check(entry(3), 100), 'new');
      assert.equal(filter.check(entry(1), 5), 'forgotten');
      assert.equal(filter.check(entry(4), 5), 'forgotten');
      assert.equal(filter.check(entry(5), 7), 'new');
    });
  }

  test('refuses what is new when it is full, and goes on in the next period', () => {
    const clock = new ManualClock();
    const filter = new ReplayFilter(clock, 1000, 4096);
    let taken = 0;
    while (filter.check(entry(taken), 0) === 'new') taken++;
    assert.equal(taken, 2048);
    assert.equal(filter.check(entry(0), 0), 'seen');
    clock.advance(1000);
    assert.equal(filter.check(entry(taken), 0), 'new');
    assert.equal(filter.check(entry(0), 0), 'seen');
  });

  test('agrees with a set', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 8, maxLength: 8 })), (entries) => {
        const filter = new ReplayFilter(new ManualClock(), 1000);
        const seen = new Set<string>();
        for (const bytes of [...entries, ...entries]) {
          const key = Buffer.from(bytes).toString('hex');
          assert.equal(filter.check(bytes, 0), seen.has(key) ? 'seen' : 'new');
          seen.add(key);
        }
      }),
    );
  });
});
