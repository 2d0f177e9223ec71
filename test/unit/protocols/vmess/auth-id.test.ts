import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ProtocolError } from '../../../../src/net/errors.ts';
import { AuthIdReader, createAuthId, userKey } from '../../../../src/protocols/vmess/auth-id.ts';
import { ReplayFilter } from '../../../../src/crypto/replay-filter.ts';
import { UserTable } from '../../../../src/protocols/vmess/user-table.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { ID, OTHER_ID } from './harness.ts';

const KEY = userKey(ID);
const RANDOM = Buffer.of(1, 2, 3, 4);

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

  test('is nobody’s when a bit of it is another', () => {
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

  test('tells users apart', () => {
    const table = new UserTable([OTHER_ID, ID, ID], clock());
    for (const id of [ID, OTHER_ID]) {
      const authId = createAuthId(userKey(id), 1_700_000_000, RANDOM);
      assert.deepEqual(table.identify(authId), userKey(id));
    }
  });

  test('knows nobody when it is empty', () => {
    const authId = createAuthId(KEY, 1_700_000_000, RANDOM);
    assert.throws(() => new UserTable([], clock()).identify(authId), ProtocolError);
  });

  test('takes clocks that are off by two minutes and no more', () => {
    for (const [skew, good] of [
      [0, true],
      [120, true],
      [-120, true],
      [121, false],
      [-121, false],
      [86_400, false],
    ] as const) {
      const table = new UserTable([ID], clock());
      const identify = (): Uint8Array =>
        table.identify(createAuthId(KEY, 1_700_000_000 + skew, RANDOM));
      if (good) assert.deepEqual(identify(), KEY);
      else assert.throws(identify, new RegExp(`off by ${skew} s`));
    }
  });

  test('takes no time before 1970 and none beyond all numbers', () => {
    for (const seconds of [-1_700_000_000, -(2 ** 62), 2 ** 62]) {
      const table = new UserTable([ID], clock());
      assert.throws(() => table.identify(createAuthId(KEY, seconds, RANDOM)), ProtocolError);
    }
  });

  test('takes an auth id once, as long as its time counts', () => {
    const now = clock();
    const table = new UserTable([ID], now);
    const authId = createAuthId(KEY, 1_700_000_000 + 120, RANDOM);
    assert.deepEqual(table.identify(authId), KEY);
    for (const second of [0, 1, 60, 59, 119, 1]) {
      now.advance(second * 1000);
      assert.throws(() => table.identify(authId), /sent before/);
    }
    now.advance(1000);
    assert.throws(() => table.identify(authId), /off by -121 s/);
  });

  test('another random number makes another auth id', () => {
    const table = new UserTable([ID], clock());
    for (let i = 0; i < 50; i++) {
      assert.deepEqual(
        table.identify(createAuthId(KEY, 1_700_000_000, Buffer.of(0, 0, 0, i))),
        KEY,
      );
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
    assert.equal(filter.check(entry(1)), 'new');
    clock.advance(1000);
    assert.equal(filter.check(entry(1)), 'seen');
    clock.advance(1000);
    assert.equal(filter.check(entry(1)), 'new');
  });

  test('forgets everything when nobody came for long', () => {
    const clock = new ManualClock();
    const filter = new ReplayFilter(clock, 1000);
    filter.check(entry(1));
    clock.advance(10_000);
    assert.equal(filter.check(entry(1)), 'new');
  });

  test('refuses what is new when it is full, and goes on in the next period', () => {
    const clock = new ManualClock();
    const filter = new ReplayFilter(clock, 1000, 4096);
    let taken = 0;
    while (filter.check(entry(taken)) === 'new') taken++;
    assert.equal(taken, 2048);
    assert.equal(filter.check(entry(0)), 'seen');
    clock.advance(1000);
    assert.equal(filter.check(entry(taken)), 'new');
    assert.equal(filter.check(entry(0)), 'seen');
  });

  test('agrees with a set', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 8, maxLength: 8 })), (entries) => {
        const filter = new ReplayFilter(new ManualClock(), 1000);
        const seen = new Set<string>();
        for (const bytes of [...entries, ...entries]) {
          const key = Buffer.from(bytes).toString('hex');
          assert.equal(filter.check(bytes), seen.has(key) ? 'seen' : 'new');
          seen.add(key);
        }
      }),
    );
  });
});
