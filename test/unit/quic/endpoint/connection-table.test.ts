import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RandomSource } from '../../../../src/crypto/random-source.ts';
import { ConnectionTable } from '../../../../src/quic/endpoint/connection-table.ts';
import { LOCAL_ID_SIZE } from '../../../../src/quic/endpoint/limits.ts';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';

test('an issued id finds its connection until it is released', () => {
  const table = new ConnectionTable<string>(new SeededRandom(1));
  const ids = Array.from({ length: 1000 }, (_, i) => table.issue(`connection ${i}`));
  for (const [i, id] of ids.entries()) {
    const packet = Buffer.concat([Buffer.of(0x40), id, Buffer.alloc(20)]);
    assert.equal(table.find(packet, 1), `connection ${i}`);
  }
  for (const id of ids) {
    assert.equal(id.length, LOCAL_ID_SIZE);
    table.release(id);
    assert.equal(table.find(id, 0), undefined);
  }
  assert.equal(table.size, 0);
});

test('an id that differs in one bit finds nothing', () => {
  const table = new ConnectionTable<string>(new SeededRandom(2));
  const id = table.issue('a');
  for (let bit = 0; bit < 8 * LOCAL_ID_SIZE; bit++) {
    const other = Buffer.from(id);
    other[bit >> 3] = (other[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.equal(table.find(other, 0), undefined);
  }
});

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
