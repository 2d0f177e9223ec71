import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RandomSource } from '@weir/base/random';
import { ConnectionTable } from '../../../src/endpoint/connections.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

test('ids that would have the same key are drawn again', () => {
  const values = [1, 1, 2];
  const random: RandomSource = {
    bytes: (length) => Buffer.alloc(length, values.shift()),
    fill: () => undefined,
    below: () => 0,
  };
  const table = new ConnectionTable<string>(random);
  const [one, two] = [table.issue('a'), table.issue('b')];
  assert.equal(one[0], 1);
  assert.equal(two[0], 2);
  assert.equal(table.find(one, 0), 'a');
});

test('an id of a client is routed until it is released by its connection', () => {
  const table = new ConnectionTable<string>(new SeededRandom(3));
  const id = Buffer.from('a made-up id');
  const key = table.addChosen(id, 0, id.length, 'a');
  assert.equal(table.findChosen(id, 0, id.length), 'a');
  assert.equal(table.findChosen(id, 0, id.length - 1), undefined);
  table.releaseChosen(key, 'b');
  assert.equal(table.findChosen(id, 0, id.length), 'a');
  table.releaseChosen(key, 'a');
  assert.equal(table.findChosen(id, 0, id.length), undefined);
  assert.equal(table.size, 0);
});
