import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ERASE_AFTER_TIME,
  KEEPALIVE_TIMEOUT,
  MAX_JITTER,
  REKEY_ATTEMPT_TIME,
  REKEY_TIMEOUT,
} from '../../../../src/protocols/wireguard/deadlines.ts';
import { HANDSHAKES_A_SECOND } from '../../../../src/protocols/wireguard/limits.ts';
import {
  connectedPair,
  eventsOf,
  floodRight,
  takenFrom,
  TunnelPair,
  type SentDatagram,
} from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';

describe('a peer that has been given up', () => {
  /** The peer is silent, and the attempts to reach it have failed, in a session that is still good. */
  function silent(): TunnelPair {
    const pair = connectedPair();
    eventsOf(pair.left);
    pair.send(pair.left, 60);
    pair.left.sent.length = 0;
    pair.passes = () => false;
    pair.advance(KEEPALIVE_TIMEOUT + REKEY_TIMEOUT + MAX_JITTER + REKEY_ATTEMPT_TIME);
    pair.advance(REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.left.tunnel.state, 'silent');
    assert.deepEqual(eventsOf(pair.left), ['unanswered', 'silent']);
    return pair;
  }

  test('is back with its next packet', () => {
    const pair = silent();
    pair.passes = undefined;
    pair.send(pair.right, 60);
    pair.deliver();
    assert.equal(pair.left.tunnel.state, 'established');
    assert.deepEqual(eventsOf(pair.left), ['established']);
  });

  test('is not back with a response that comes late', () => {
    const pair = new TunnelPair();
    let last: SentDatagram | undefined;
    pair.passes = (datagram) => {
      last = datagram;
      return false;
    };
    pair.send(pair.left, 60);
    pair.advance(REKEY_ATTEMPT_TIME + REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.left.tunnel.state, 'silent');
    pair.passes = undefined;
    assert.ok(last);
    pair.arrive(pair.right, last);
    pair.deliverTo('left');
    assert.deepEqual(pair.left.drops, ['index']);
    assert.equal(pair.left.tunnel.state, 'silent');
  });

  test('is not back with its initiation, but with the packet that confirms the session', () => {
    const pair = new TunnelPair();
    pair.passes = () => false;
    pair.send(pair.left, 60);
    pair.advance(REKEY_ATTEMPT_TIME + REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.left.tunnel.receivedAt, -Infinity);
    pair.passes = undefined;
    pair.left.sent.length = 0;
    pair.send(pair.right, 60);
    pair.deliverTo('left');
    assert.equal(pair.left.tunnel.receivedAt, pair.now);
    assert.equal(pair.left.tunnel.state, 'silent');
    pair.deliver();
    assert.equal(pair.left.tunnel.state, 'established');
    assert.equal(pair.left.received.length, 1);
  });

  test('leaves no keys: they are erased 540 s after, or after the last session', () => {
    const pair = new TunnelPair();
    pair.passes = () => false;
    pair.send(pair.left, 60);
    pair.advance(REKEY_ATTEMPT_TIME + REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.left.tunnel.state, 'silent');
    pair.advance(ERASE_AFTER_TIME);
    assert.equal(pair.left.trace.filter(({ kind }) => kind === 'erased').length, 1);

    const before = silent();
    const sessionAt = 1000;
    before.advance(sessionAt + ERASE_AFTER_TIME - before.now - 1);
    assert.equal(before.left.trace.filter(({ kind }) => kind === 'erased').length, 0);
    before.advance(1);
    assert.equal(before.left.trace.filter(({ kind }) => kind === 'erased').length, 1);
  });
});

test('a packet of a session that was erased has no session', () => {
  const pair = connectedPair();
  pair.send(pair.left, 60);
  const late = takenFrom(pair.left);
  pair.now += ERASE_AFTER_TIME - 1;
  pair.arrive(pair.right, late);
  pair.now += 1;
  pair.right.tunnel.onTimeout(pair.now);
  pair.arrive(pair.right, late);
  assert.deepEqual(pair.right.drops, ['expired', 'index']);
});

describe('a persistent keep-alive', () => {
  const INTERVAL = 5000;

  test('is not put off by cookies for clients without a key', () => {
    const pair = connectedPair({ right: { keepalive: INTERVAL } });
    pair.advance(0);
    assert.equal(pair.right.tunnel.nextTimeout(), pair.now + INTERVAL);
    const due = pair.now + INTERVAL;
    pair.now += 1000;
    floodRight(pair, HANDSHAKES_A_SECOND + 5);
    assert.equal(pair.right.count('cookie reply'), 5);
    assert.equal(pair.right.tunnel.nextTimeout(), due);
  });

  test('is put off by a response, from when there is room for it', () => {
    const pair = new TunnelPair({ right: { keepalive: INTERVAL } });
    pair.send(pair.left, 60);
    pair.right.isFull = true;
    pair.deliverTo('right');
    assert.equal(pair.right.tunnel.nextTimeout(), pair.now + INTERVAL);
    pair.now += 1000;
    pair.right.isFull = false;
    pair.right.tunnel.transmit(pair.now, pair.right);
    assert.equal(pair.right.count('response'), 1);
    assert.equal(pair.right.tunnel.nextTimeout(), pair.now + INTERVAL);
  });

  test('is put off by an initiation, from when there is room for it', () => {
    const pair = new TunnelPair({ left: { keepalive: INTERVAL } });
    pair.left.isFull = true;
    pair.left.tunnel.onTimeout(pair.now);
    pair.left.tunnel.transmit(pair.now, pair.left);
    pair.now += 1000;
    pair.left.isFull = false;
    pair.left.tunnel.transmit(pair.now, pair.left);
    assert.equal(pair.left.count('initiation'), 1);
    assert.ok(pair.left.tunnel.nextTimeout() >= pair.now + INTERVAL);
  });
});

describe('a retry', () => {
  test('is not begun where the peer was heard since, or by a closed tunnel', () => {
    for (const [since, initiations] of [
      [0, 1],
      [1, 2],
    ] as const) {
      const pair = connectedPair();
      const heardAt = pair.now;
      pair.now += REKEY_TIMEOUT;
      pair.send(pair.left, 60);
      pair.left.tunnel.retryHandshake(heardAt + since, pair.now);
      pair.left.tunnel.transmit(pair.now, pair.left);
      assert.equal(pair.left.count('initiation'), initiations);
    }
    const closed = connectedPair();
    closed.now += REKEY_TIMEOUT;
    closed.send(closed.left, 60);
    closed.left.tunnel.close();
    closed.left.tunnel.retryHandshake(closed.now, closed.now);
    assert.equal(closed.left.tunnel.nextTimeout(), Infinity);
    assert.equal(closed.left.tunnel.state, 'closed');
  });
});

describe('a tunnel that is closed', () => {
  test('drops what comes without a report, and sends nothing that was due', () => {
    const pair = connectedPair();
    pair.send(pair.right, 60);
    const late = takenFrom(pair.right);
    floodRight(pair, HANDSHAKES_A_SECOND + 5);
    pair.right.sent.length = 0;
    pair.right.isFull = true;
    floodRight(pair, 3);
    pair.right.isFull = false;
    const { length } = pair.right.trace;
    pair.right.tunnel.close();
    pair.right.tunnel.transmit(pair.now, pair.right);
    floodRight(pair, 1);
    assert.equal(pair.right.sent.length, 0);
    assert.equal(pair.right.trace.length, length);
    pair.left.tunnel.close();
    pair.arrive(pair.left, late);
    assert.equal(pair.left.received.length, 1);
  });
});

test('a keep-alive is sent once there is room, and once', () => {
  const pair = connectedPair();
  const { left } = pair;
  pair.now += KEEPALIVE_TIMEOUT;
  left.tunnel.onTimeout(pair.now);
  left.isFull = true;
  left.tunnel.transmit(pair.now, left);
  assert.equal(left.count('keepalive'), 0);
  left.isFull = false;
  for (let count = 0; count < 3; count++) left.tunnel.transmit(pair.now, left);
  assert.equal(left.count('keepalive'), 1);
  assert.equal(left.sent.length, 1);
});

test('settings that change count at once, and the time of the last message stays known', () => {
  const pair = connectedPair();
  const { tunnel } = pair.left;
  assert.equal(tunnel.receivedAt, pair.now);
  tunnel.setSettings({ mtu: 1280, keepalive: 5000, reserved: [1, 2, 3] }, pair.now);
  assert.equal(tunnel.nextTimeout(), pair.now);
  pair.send(pair.left, 1275);
  const { bytes } = takenFrom(pair.left);
  assert.equal(bytes.length, 1280 + 32);
  assert.deepEqual([...bytes.subarray(0, 4)], [4, 1, 2, 3]);
});

test('packets that waited stay in order when there is no room for them', () => {
  const pair = new TunnelPair();
  for (let index = 0; index < 3; index++) pair.send(pair.left, Uint8Array.of(0x45, index));
  pair.deliverTo('right');
  pair.left.isFull = true;
  pair.deliverTo('left');
  assert.equal(pair.left.sent.length, 0);
  pair.left.isFull = false;
  pair.left.tunnel.transmit(pair.now, pair.left);
  pair.deliver();
  assert.deepEqual(
    pair.right.received.map((packet) => packet[1]),
    [0, 1, 2],
  );
});
