import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NamedDeadlines } from '../../../../src/collections/named-deadlines.ts';
import {
  KEEPALIVE_TIMEOUT,
  REKEY_TIMEOUT,
  TUNNEL_DEADLINES,
} from '../../../../src/protocols/wireguard/deadlines.ts';
import { UNANSWERED_TIME } from '../../../../src/protocols/wireguard/limits.ts';
import { PeerLiveness } from '../../../../src/protocols/wireguard/peer-liveness.ts';

const NOW = 1000;
const INTERVAL = 20_000;

function liveness() {
  const deadlines = new NamedDeadlines(TUNNEL_DEADLINES);
  return { deadlines, peer: new PeerLiveness(deadlines) };
}

test('nothing is due, and nothing unanswered, before the first message', () => {
  const { deadlines, peer } = liveness();
  assert.deepEqual(
    [peer.receivedAt, peer.isUnanswered, peer.isKeepaliveDue, deadlines.next],
    [-Infinity, false, false, Infinity],
  );
  assert.equal(peer.onUsable(NOW), false);
});

describe('a keep-alive', () => {
  test('is due 10 s after a packet, once', () => {
    const { deadlines, peer } = liveness();
    peer.onPacketReceived(40, NOW);
    assert.equal(deadlines.at('keepalive'), NOW + KEEPALIVE_TIMEOUT);
    peer.onTimeout(NOW + KEEPALIVE_TIMEOUT - 1);
    assert.equal(peer.isKeepaliveDue, false);
    peer.onTimeout(NOW + KEEPALIVE_TIMEOUT);
    assert.equal(peer.isKeepaliveDue, true);
    assert.equal(deadlines.next, Infinity);
    peer.dropKeepalive();
    assert.equal(peer.isKeepaliveDue, false);
  });

  test('is due once more where further packets came before it', () => {
    const { deadlines, peer } = liveness();
    peer.onPacketReceived(40, NOW);
    peer.onPacketReceived(40, NOW + 1);
    const first = NOW + KEEPALIVE_TIMEOUT;
    assert.equal(deadlines.at('keepalive'), first);
    peer.onTimeout(first);
    assert.equal(deadlines.at('keepalive'), first + KEEPALIVE_TIMEOUT);
    peer.onTimeout(first + KEEPALIVE_TIMEOUT);
    assert.equal(deadlines.next, Infinity);
  });

  test('is not due for a keep-alive, nor once something was sent or the peer was given up', () => {
    const { deadlines, peer } = liveness();
    peer.onPacketReceived(0, NOW);
    assert.equal(deadlines.next, Infinity);
    peer.onPacketReceived(40, NOW);
    peer.onSent(NOW);
    assert.equal(deadlines.next, Infinity);
    peer.onPacketReceived(40, NOW);
    peer.requireKeepalive();
    peer.onGivenUp();
    assert.equal(peer.isKeepaliveDue, false);
    assert.equal(deadlines.next, Infinity);
  });
});

describe('silence', () => {
  test('lasts from the first packet, until anything authentic comes', () => {
    const { deadlines, peer } = liveness();
    const end = NOW + KEEPALIVE_TIMEOUT + REKEY_TIMEOUT + 7;
    peer.onPacketSent(NOW, () => 7);
    peer.onPacketSent(NOW + 500, () => 9);
    assert.equal(deadlines.at('silence'), end);
    assert.equal(peer.isUnanswered, true);
    peer.onReceived(NOW + 600);
    assert.equal(peer.receivedAt, NOW + 600);
    assert.equal(deadlines.next, Infinity);
    assert.equal(peer.isUnanswered, true, 'a handshake alone is no answer');
    peer.onPacketReceived(0, NOW + 700);
    assert.equal(peer.isUnanswered, false);
  });

  test('before a new session counts from a second on', () => {
    for (const [time, isRestored] of [
      [UNANSWERED_TIME - 1, false],
      [UNANSWERED_TIME, true],
    ] as const) {
      const { peer } = liveness();
      peer.onPacketSent(NOW, () => 0);
      peer.onPacketSent(NOW + time, () => 0);
      assert.equal(peer.onUsable(NOW + time), isRestored);
      assert.equal(peer.isUnanswered, false);
    }
  });
});

describe('a persistent keep-alive', () => {
  test('is due at once, and an interval after anything authentic', () => {
    const { deadlines, peer } = liveness();
    peer.setPersistent(INTERVAL, NOW);
    assert.equal(deadlines.next, NOW);
    peer.onTimeout(NOW);
    assert.equal(peer.isKeepaliveDue, true);
    assert.equal(deadlines.next, NOW + INTERVAL);
    peer.onSent(NOW + 10);
    assert.equal(deadlines.next, NOW + 10 + INTERVAL);
    peer.onReceived(NOW + 20);
    assert.equal(deadlines.next, NOW + 20 + INTERVAL);
  });

  test('is due no more without an interval', () => {
    const { deadlines, peer } = liveness();
    peer.setPersistent(INTERVAL, NOW);
    peer.setPersistent(0, NOW);
    peer.onSent(NOW);
    peer.onReceived(NOW);
    peer.onTimeout(NOW);
    assert.equal(peer.isKeepaliveDue, false);
    assert.equal(deadlines.next, Infinity);
  });
});
