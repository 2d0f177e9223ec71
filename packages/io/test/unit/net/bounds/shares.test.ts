import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shares } from '../../../../src/net/bounds/shares.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';

test('random changes give the counts and the oldest item of the heaviest holder of plain lists', () => {
  const random = new SeededRandom(1);
  const shares = new Shares<number, string>();
  const model = new Map<string, number[]>();
  const HOLDERS = 6;
  const anyOf = (items: readonly number[]): number | undefined =>
    items[items.length === 0 ? 0 : random.below(items.length)];
  for (let step = 0; step < 20_000; step++) {
    const holder = `holder ${random.below(HOLDERS)}`;
    const items = model.get(holder) ?? [];
    model.set(holder, items);
    const item = anyOf(items);
    if (item === undefined || random.chance(0.4)) {
      shares.add(step, holder);
      items.push(step);
    } else if (random.chance(0.3)) {
      shares.renew(item);
      items.push(...items.splice(items.indexOf(item), 1));
    } else {
      assert.equal(shares.delete(item), holder);
      assert.equal(shares.delete(item), undefined);
      items.splice(items.indexOf(item), 1);
    }
    const sizes = [...model.values()].map(({ length }) => length);
    const most = Math.max(...sizes);
    assert.equal(shares.most, most);
    assert.equal(
      shares.size,
      sizes.reduce((sum, size) => sum + size, 0),
    );
    for (const [each, list] of model) {
      assert.equal(shares.countOf(each), list.length);
      assert.equal(shares.oldestOf(each), list[0]);
    }
    const { heaviest } = shares;
    if (most === 0) assert.equal(heaviest, undefined);
    else {
      assert.ok(heaviest);
      const list = model.get(heaviest.holder);
      assert.deepEqual([list?.length, list?.[0]], [most, heaviest.oldest]);
    }
  }
});

test('of holders that have equally many the one that came to it first is the heaviest', () => {
  const shares = new Shares<number, string>();
  shares.add(1, 'first');
  shares.add(2, 'second');
  assert.equal(shares.heaviest?.holder, 'first');
  shares.add(3, 'first');
  shares.delete(3);
  assert.equal(shares.heaviest?.holder, 'second');
});
