import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packLists } from '../../../../../src/engine/router/tables/packing.ts';

test('each list lies between the end of the one before and its own', () => {
  const { items, ends } = packLists([[3, 1], undefined, [], [2]]);
  assert.deepEqual([...items], [3, 1, 2]);
  assert.deepEqual([...ends], [2, 2, 2, 3]);
  assert.equal(packLists([]).ends.length, 0);
});
