import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, test } from 'node:test';
import { ReplayFilter, ReplayWindow } from '../../src/replay.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';

const PERIOD = 1000;

const numbered = (number: number | bigint, size = 8): Buffer => {
  const entry = Buffer.alloc(size, 0x5a);
  entry.writeBigUInt64BE(BigInt(number));
  return entry;
};

function filterAt(clock: ManualClock, lastSlots?: number, seed = 1): ReplayFilter {
  return new ReplayFilter(clock, PERIOD, lastSlots, new SeededRandom(seed));
}

describe('an entry', () => {
  test('is new once, by its first 8 bytes', () => {
    const filter = filterAt(new ManualClock());
    const memory = Buffer.concat([numbered(9), numbered(1, 20), numbered(9)]);
    assert.equal(filter.check(memory.subarray(8, 28), 5), 'new');
    assert.equal(filter.check(numbered(1), 5), 'seen');
    assert.equal(filter.check(numbered(2), 5), 'new');
    assert.equal(filter.check(numbered(9), 5), 'new');
  });

  test('is remembered for a period at least, and forgotten after three at most', () => {
    for (const begun of [0, PERIOD - 1]) {
      const clock = new ManualClock();
      const filter = filterAt(clock);
      clock.advance(begun);
      assert.equal(filter.check(numbered(1), 5), 'new');
      clock.advance(PERIOD - 1);
      assert.equal(filter.check(numbered(1), 5), 'seen', 'before the period has passed');
      clock.advance(PERIOD + 1);
      assert.equal(filter.check(numbered(2), 6), 'new');
      clock.advance(PERIOD);
      assert.equal(filter.check(numbered(1), 6), 'new', 'it is forgotten');
    }
  });

  test('is forgotten after a pause of two periods, and not after one', () => {
    for (const [pause, verdict] of [
      [PERIOD, 'seen'],
      [2 * PERIOD - 1, 'seen'],
      [2 * PERIOD, 'new'],
      [9 * PERIOD, 'new'],
    ] as const) {
      const clock = new ManualClock();
      const filter = filterAt(clock);
      assert.equal(filter.check(numbered(1), 5), 'new');
      clock.advance(pause);
      assert.equal(filter.check(numbered(1), 6), verdict, String(pause));
    }
  });

  test('is not new with a time at which entries have been forgotten', () => {
    for (const pauses of [[3 * PERIOD], [PERIOD, PERIOD]]) {
      const clock = new ManualClock();
      const filter = filterAt(clock);
      assert.equal(filter.check(numbered(1), 7), 'new');
      assert.equal(filter.check(numbered(2), 5), 'new');
      for (const pause of pauses) {
        clock.advance(pause);
        // So that the tables take turns.
        filter.check(numbered(1000), 8);
      }
      assert.equal(filter.check(numbered(3), 7), 'forgotten');
      assert.equal(filter.check(numbered(1), 7), 'forgotten');
      assert.equal(filter.check(numbered(4), -5), 'forgotten');
      assert.equal(filter.check(numbered(5), 7.5), 'new');
    }
  });

  test('may have any time while none has been forgotten', () => {
    const clock = new ManualClock();
    const filter = filterAt(clock);
    assert.equal(filter.check(numbered(1), 100), 'new');
    clock.advance(PERIOD);
    assert.equal(filter.check(numbered(2), -100), 'new');
  });
});

describe('a full table', () => {
  test('takes no entry more, and forgets none', () => {
    const clock = new ManualClock();
    const filter = filterAt(clock, 8);
    for (let number = 0; number < 4; number++)
      assert.equal(filter.check(numbered(number), 5), 'new');
    assert.equal(filter.check(numbered(4), 5), 'full');
    for (let number = 0; number < 4; number++) {
      assert.equal(filter.check(numbered(number), 5), 'seen');
    }
    clock.advance(PERIOD);
    for (let number = 4; number < 8; number++) {
      assert.equal(filter.check(numbered(number), 5), 'new', 'the next table has as much room');
    }
    assert.equal(filter.check(numbered(8), 5), 'full');
    assert.equal(filter.check(numbered(0), 5), 'seen', 'in the table before');
  });

  test('grows to its bound, with all of its entries and their latest time', () => {
    const clock = new ManualClock();
    const filter = filterAt(clock, 4096);
    assert.equal(filter.check(numbered(0), 9), 'new');
    for (let number = 1; number < 2048; number++) {
      assert.equal(filter.check(numbered(number), 5), 'new', String(number));
    }
    assert.equal(filter.check(numbered(2048), 5), 'full');
    for (let number = 0; number < 2048; number++) {
      assert.equal(filter.check(numbered(number), 5), 'seen', String(number));
    }
    clock.advance(2 * PERIOD);
    assert.equal(filter.check(numbered(0), 9), 'forgotten');
    assert.equal(filter.check(numbered(0), 10), 'new');
  });
});

describe('the table of entries', () => {
  /** Without a key, so that the slots of entries are known. */
  class NoRandom extends SeededRandom {
    override fill(target: Uint8Array): void {
      target.fill(0);
    }
  }

  const MASK = 2n ** 64n - 1n;
  const MULTIPLIER = 0x9e37_79b9_7f4a_7c15n;

  /** What undoes the multiplication modulo 2^64 (Newton's iteration). */
  function inverse(odd: bigint): bigint {
    let found = odd;
    for (let step = 0; step < 6; step++) found = (found * (2n - odd * found)) & MASK;
    return found;
  }

  /** The entry that is kept as these halves. */
  const kept = (high: number, low: number): Buffer =>
    numbered((((BigInt(high) << 32n) | BigInt(low)) * inverse(MULTIPLIER)) & MASK);

  const unkeyed = (): ReplayFilter =>
    new ReplayFilter(new ManualClock(), PERIOD, 1024, new NoRandom(1));

  test('tells entries of one slot apart, also at its end', () => {
    for (const slot of [1, 700, 1022, 1023]) {
      const filter = unkeyed();
      const entries = [
        kept(slot, 1),
        kept(slot, 2),
        kept(slot + 1024, 1),
        kept(slot + 1024, 2),
        kept(slot + 1, 1),
      ];
      for (const entry of entries) assert.equal(filter.check(entry, 5), 'new', `slot ${slot}`);
      for (const entry of entries) assert.equal(filter.check(entry, 5), 'seen', `slot ${slot}`);
    }
  });

  test('keeps entries whose halves are zero', () => {
    const filter = unkeyed();
    for (const low of [0, 1, 0xffff_ffff]) {
      assert.equal(filter.check(kept(0, low), 5), 'new');
      assert.equal(filter.check(kept(0, low), 5), 'seen');
    }
    assert.equal(filter.check(kept(7, 0), 5), 'new');
    assert.equal(filter.check(kept(7, 0), 5), 'seen');
  });
});

test('agrees with a list of entries and their times', () => {
  const step = fc.record({
    number: fc.nat(20),
    stamp: fc.nat(6),
    pause: fc.constantFrom(0, 0, 0, 1, 499, 500, 1000, 2100),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), fc.nat(), (steps, seed) => {
      const clock = new ManualClock();
      const filter = filterAt(clock, 64, seed);
      const taken = new Map<number, { readonly at: number; readonly stamp: number }>();
      for (const { number, stamp, pause } of steps) {
        clock.advance(pause);
        const verdict = filter.check(numbered(number), stamp);
        const before = taken.get(number);
        const age = clock.now() - (before?.at ?? -Infinity);
        // What a peer can rely on: never again within a period, nor with the same time.
        if (before && (age < PERIOD || before.stamp >= stamp)) assert.notEqual(verdict, 'new');
        if (verdict === 'seen') assert.ok(before && age < 3 * PERIOD);
        if (verdict === 'new') taken.set(number, { at: clock.now(), stamp });
      }
    }),
  );
});

test('takes each number once, in any order within the window', () => {
  const window = new ReplayWindow(2048);
  for (const number of [0, 5, 3, 2047]) {
    assert.equal(window.isNew(number), true);
    window.mark(number);
    assert.equal(window.isNew(number), false);
  }
});

test('rejects numbers older than the window', () => {
  const window = new ReplayWindow(64);
  window.mark(1000);
  assert.equal(window.isNew(1000 - 63), true);
  assert.equal(window.isNew(1000 - 64), false);
});

test('asking changes nothing', () => {
  const window = new ReplayWindow(64);
  assert.equal(window.isNew(1_000_000), true);
  assert.equal(window.isNew(0), true);
});

test('works up to the largest safe integers', () => {
  const window = new ReplayWindow(64);
  window.mark(Number.MAX_SAFE_INTEGER - 1);
  assert.equal(window.isNew(Number.MAX_SAFE_INTEGER - 1), false);
  assert.equal(window.isNew(Number.MAX_SAFE_INTEGER), true);
  assert.equal(window.isNew(Number.MAX_SAFE_INTEGER - 2), true);
});

test('agrees with a plain set of numbers', () => {
  const size = 96;
  // Steps of a few words, so that words are used again while there are numbers for them; and a few that skip all.
  const step = fc.oneof(
    { arbitrary: fc.integer({ min: -110, max: 70 }), weight: 20 },
    { arbitrary: fc.integer({ min: 0, max: 1000 }), weight: 1 },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const window = new ReplayWindow(size);
      const seen = new Set<number>();
      let newest = -1;
      for (const by of steps) {
        const number = Math.max(0, newest + by);
        const isNew = number > newest || (newest - number < size && !seen.has(number));
        assert.equal(window.isNew(number), isNew, `${number} after ${[...seen].join()}`);
        if (!isNew) continue;
        window.mark(number);
        seen.add(number);
        newest = Math.max(newest, number);
      }
    }),
  );
});

test('a jump clears the words that it skips, and no others', () => {
  // Five words: 0 to 159, of which 128 are within the window.
  const window = new ReplayWindow(128);
  for (let number = 0; number < 160; number++) window.mark(number);
  window.mark(160 + 70);
  for (let number = 231 - 128; number < 160; number++) {
    assert.equal(window.isNew(number), false, `${number} was received`);
  }
  for (let number = 160; number < 230; number++) {
    assert.equal(window.isNew(number), true, `${number} was skipped`);
  }
});

test('a window of 2048 takes each number once, and none that is too old', () => {
  const step = fc.oneof(
    fc.integer({ min: -3000, max: 3000 }),
    fc.integer({ min: -40, max: 40 }),
    fc.integer({ min: 0, max: 100_000 }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const window = new ReplayWindow(2048);
      const seen = new Set<number>();
      let newest = 0;
      for (const by of steps) {
        const id = Math.max(0, newest + by);
        const fresh = window.isNew(id);
        assert.equal(fresh, !seen.has(id) && newest - id < 2048, `${id} after ${newest}`);
        if (!fresh) continue;
        window.mark(id);
        seen.add(id);
        newest = Math.max(newest, id);
      }
    }),
    { numRuns: 300 },
  );
});

test('a window survives jumps up to the largest safe integer', () => {
  const window = new ReplayWindow(2048);
  for (const id of [0, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
    assert.ok(window.isNew(id));
    window.mark(id);
    assert.ok(!window.isNew(id));
  }
});
