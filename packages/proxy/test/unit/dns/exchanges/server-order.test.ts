import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerOrder } from '../../../../src/dns/exchanges/udp-exchange.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const [a, b, c] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((host) => ({ host, port: 53 }));
assert.ok(a && b && c);

test('servers that did not respond come last, in their order, for ten seconds', () => {
  const clock = new ManualClock();
  const order = new ServerOrder([a, b, c], clock, false);
  assert.deepEqual(order.next(), [a, b, c]);
  order.silent(a);
  assert.deepEqual(order.next(), [b, c, a]);
  order.silent(b);
  assert.deepEqual(order.next(), [c, a, b]);
  order.silent(c);
  assert.deepEqual(order.next(), [a, b, c]);
  order.responded(c);
  assert.deepEqual(order.next(), [c, a, b]);
});

test('one question at a time tries a server again whose time is over', () => {
  const clock = new ManualClock();
  const order = new ServerOrder([a, b], clock, false);
  order.silent(a);
  clock.advance(9_999);
  assert.deepEqual(order.next(), [b, a]);
  clock.advance(1);
  assert.deepEqual(order.next(), [a, b]);
  assert.deepEqual(order.next(), [b, a]);
  order.responded(a);
  assert.deepEqual(order.next(), [a, b]);
});

test('servers that take turns do so among those that answer', () => {
  const clock = new ManualClock();
  const order = new ServerOrder([a, b, c], clock, true);
  order.silent(b);
  assert.deepEqual(
    [1, 2, 3].map(() => order.next()),
    [
      [a, c, b],
      [c, a, b],
      [c, a, b],
    ],
  );
});
