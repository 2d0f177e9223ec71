import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AssociationOrder,
  type DescriptorHolder,
  DescriptorHolders,
  type Ordered,
  Shares,
  Stage,
} from '../../../../src/net/bounds/shares.ts';
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

class Association implements Ordered {
  stage: Stage = Stage.unanswered;
  activeAt: number;
  readonly name: string;

  constructor(name: string, activeAt = 0) {
    this.name = name;
    this.activeAt = activeAt;
  }
}

const SECOND = 1000;

function orderOf(client: string, count: number) {
  const order = new AssociationOrder<Association, string>();
  const associations = Array.from({ length: count }, (_, i) => new Association(`${client} ${i}`));
  for (const association of associations) order.add(association, client);
  return { order, associations };
}

test('the oldest association without an answer gives way, of the client with the most', () => {
  const { order } = orderOf('flood', 3);
  order.add(new Association('other'), 'other');
  assert.equal(order.victim('new', 0)?.name, 'flood 0');
  assert.equal(order.victim('flood', 0)?.name, 'flood 0');
});

test('one that was answered stays, though its client opens many more that are not', () => {
  const { order, associations } = orderOf('client', 3);
  const [first] = associations;
  assert.ok(first);
  order.answered(first);
  assert.equal(order.victim('client', 60 * SECOND)?.name, 'client 1');
});

test('a client that has far more than others does not take the place of their first question', () => {
  const { order, associations } = orderOf('heavy', 10);
  for (const each of associations) {
    order.answered(each);
    order.lasts(each);
  }
  order.add(new Association('other'), 'other');
  assert.equal(order.victim('heavy', 0), undefined);
  assert.match(order.victim('heavy', 60 * SECOND)?.name ?? '', /heavy/);
});

test('among those that were answered, idle ones give way, and those of one exchange sooner', () => {
  const { order, associations } = orderOf('client', 4);
  for (const each of associations) order.answered(each);
  const [lasting, active] = associations;
  assert.ok(lasting && active);
  order.lasts(lasting);
  active.activeAt = 5 * SECOND;
  assert.equal(order.victim('client', SECOND / 2), undefined);
  for (let idle = 0; idle < 2; idle++) {
    const victim = order.victim('client', 5 * SECOND);
    assert.ok(victim && victim !== active && victim !== lasting);
    order.delete(victim);
  }
  assert.equal(order.victim('client', 5 * SECOND), undefined);
  order.delete(active);
  assert.equal(order.victim('client', 29 * SECOND), undefined);
  assert.equal(order.victim('client', 31 * SECOND)?.name, 'client 0');
});

test('a client that has far more gives way to others even where all of its associations are in use', () => {
  const { order, associations } = orderOf('heavy', 10);
  for (const each of associations) {
    order.answered(each);
    order.lasts(each);
  }
  assert.equal(order.victim('new', 0)?.name, 'heavy 0');
});

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
