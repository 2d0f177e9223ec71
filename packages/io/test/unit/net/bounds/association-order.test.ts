import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssociationOrder, Stage, type Ordered } from '../../../../src/net/bounds/shares.ts';

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
