import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgedSet } from '../../../src/collections/aged-set.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

test('random additions and removals give the elements and the oldest of a plain list', () => {
  const random = new SeededRandom(1);
  const set = new AgedSet<number>();
  const model: number[] = [];
  for (let step = 0; step < 5000; step++) {
    if (random.chance(0.5)) {
      set.add(step);
      model.push(step);
    } else {
      const item = random.chance(0.5) ? model[0] : random.below(step + 1);
      const index = item === undefined ? -1 : model.indexOf(item);
      assert.equal(item !== undefined && set.delete(item), index >= 0);
      if (index >= 0) model.splice(index, 1);
    }
    assert.equal(set.oldest, model[0]);
    assert.equal(set.size, model.length);
  }
});
