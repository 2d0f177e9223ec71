import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { REJECT_AFTER_TIME, REKEY_TIMEOUT } from '../../../../src/protocols/wireguard/deadlines.ts';
import {
  MAX_WAITING_PACKETS,
  UNANSWERED_TIME,
} from '../../../../src/protocols/wireguard/limits.ts';
import {
  TunnelPair,
  type TunnelEnd,
} from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';
import { eventsOf } from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';

/** A pair with a session that the left end has begun some time ago, and no events. */
function connected(): TunnelPair {
  const pair = new TunnelPair();
  pair.send(pair.left, 100);
  pair.deliver();
  pair.send(pair.right, 100);
  pair.deliver();
  pair.now += REKEY_TIMEOUT;
  eventsOf(pair.left);
  eventsOf(pair.right);
  return pair;
}

/** The left end looks for a peer that does not respond. */
function seek(pair: TunnelPair, peer: TunnelEnd): void {
  pair.left.tunnel.retryHandshake(pair.now, pair.now);
  pair.left.tunnel.transmit(pair.now, pair.left);
  pair.deliver(pair.left, peer);
}

describe('a tunnel is restored', () => {
  test('by a new session after packets that had no answer', () => {
    const pair = connected();
    const restarted = pair.restartedRight();
    pair.send(pair.left, 100);
    pair.deliver(pair.left, restarted);
    pair.now += UNANSWERED_TIME;
    seek(pair, restarted);
    assert.deepEqual(eventsOf(pair.left), ['restored']);
    pair.now += REKEY_TIMEOUT;
    pair.send(pair.left, 100);
    pair.deliver(pair.left, restarted);
    assert.equal(restarted.received.length, 1);
    assert.deepEqual(eventsOf(pair.left), []);
  });

  test('by a session that the peer has begun', () => {
    const pair = connected();
    const restarted = pair.restartedRight();
    pair.send(pair.left, 100);
    pair.deliver(pair.left, restarted);
    pair.now += UNANSWERED_TIME;
    pair.send(restarted, 50);
    pair.deliver(pair.left, restarted);
    assert.deepEqual(eventsOf(pair.left), ['restored']);
  });

  test('by a session for which more packets have waited than there was room for', () => {
    const pair = connected();
    pair.now += REJECT_AFTER_TIME;
    pair.passes = () => false;
    for (let i = 0; i <= MAX_WAITING_PACKETS; i++) pair.send(pair.left, 50);
    pair.deliver();
    pair.passes = undefined;
    pair.advance(2 * REKEY_TIMEOUT);
    assert.equal(pair.right.received.length, 1 + MAX_WAITING_PACKETS);
    assert.deepEqual(eventsOf(pair.left), ['established', 'restored']);
  });

  test('by no session that takes the place of one that works, nor by the first one', () => {
    const pair = new TunnelPair();
    pair.send(pair.left, 100);
    pair.now += 2 * UNANSWERED_TIME;
    pair.deliver();
    assert.deepEqual(eventsOf(pair.left), ['established']);
    for (let i = 0; i < 60; i++) {
      pair.send(pair.left, 100);
      pair.advance(10);
      pair.send(pair.right, 100);
      pair.advance(5000);
    }
    assert.ok(pair.left.sessions > 1);
    assert.deepEqual(eventsOf(pair.left), []);
    assert.deepEqual(eventsOf(pair.right), ['established']);
  });

  test('by no session that begins right after a packet', () => {
    const pair = connected();
    pair.passes = ({ bytes }) => bytes[0] !== 4;
    pair.send(pair.left, 100);
    pair.deliver();
    pair.passes = undefined;
    pair.now += UNANSWERED_TIME - 1;
    seek(pair, pair.right);
    assert.equal(pair.left.sessions, 2);
    assert.deepEqual(eventsOf(pair.left), []);
  });
});
