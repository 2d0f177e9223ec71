import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  DescriptorHolders,
  type DescriptorHolder,
} from '../../../../src/net/sockets/descriptor-holders.ts';

/** Holders by name; `closed` are those that gave way, in order. */
function start() {
  const holders = new DescriptorHolders();
  const closed: string[] = [];
  const add = (name: string, source: string | undefined): DescriptorHolder => {
    const holder = { evict: () => void closed.push(name) };
    holders.add(holder, source);
    return holder;
  };
  const addMany = (source: string, count: number): void => {
    for (let i = 1; i <= count; i++) add(`${source} ${i}`, source);
  };
  return { holders, closed, add, addMany };
}

describe('the holders of descriptors', () => {
  test('give way to another source, the newest of the one that has the most first', () => {
    const { holders, closed, addMany } = start();
    addMany('192.0.2.1', 10);
    addMany('192.0.2.2', 5);
    assert.ok(holders.makeRoom('192.0.2.3'));
    assert.ok(holders.makeRoom('192.0.2.2'));
    assert.deepEqual(closed, ['192.0.2.1 10', '192.0.2.1 9']);
    assert.equal(holders.size, 13);
  });

  test('do not give way to their own source, nor to one that has nearly as many', () => {
    const { holders, closed, addMany } = start();
    addMany('192.0.2.1', 10);
    addMany('192.0.2.2', 8);
    assert.ok(!holders.makeRoom('192.0.2.1'));
    assert.ok(!holders.makeRoom('192.0.2.2'));
    assert.deepEqual(closed, []);
  });

  test('of one IPv6 network are one source', () => {
    const { holders, addMany } = start();
    addMany('2001:db8::1', 10);
    assert.ok(!holders.makeRoom('2001:db8::2'));
    assert.ok(holders.makeRoom('2001:db8:0:1::2'));
  });

  test('are forgotten once they are closed', () => {
    const { holders, closed, add } = start();
    const all = Array.from({ length: 5 }, (_, i) => add(`${i}`, undefined));
    for (const holder of all) holders.delete(holder);
    assert.ok(!holders.makeRoom('192.0.2.1'));
    assert.deepEqual([closed, holders.size], [[], 0]);
  });
});
