import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import {
  ERASE_AFTER_TIME,
  REJECT_AFTER_TIME,
  REKEY_AFTER_TIME,
  REKEY_ON_RECEIPT_TIME,
} from '../../../../src/protocols/wireguard/deadlines.ts';
import { MacReader } from '../../../../src/protocols/wireguard/handshake/cookies.ts';
import { HANDSHAKES_A_SECOND } from '../../../../src/protocols/wireguard/limits.ts';
import {
  connectedPair,
  endpoint,
  eventsOf,
  floodRight,
  takenFrom,
  TunnelPair,
} from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';

test('the events of a handshake are reported in order by both ends', () => {
  const pair = new TunnelPair();
  pair.send(pair.left, 100);
  pair.deliver();
  assert.deepEqual(pair.left.trace, [
    { kind: 'sent', what: 'initiation' },
    { kind: 'received', what: 'response' },
    { kind: 'session', role: 'initiator' },
  ]);
  assert.deepEqual(pair.right.trace, [
    { kind: 'received', what: 'initiation' },
    { kind: 'session', role: 'responder' },
    { kind: 'sent', what: 'response' },
  ]);
});

test('a tunnel works the same without reports of its events', () => {
  const pair = connectedPair({ isTraced: false });
  floodRight(pair, HANDSHAKES_A_SECOND + 1);
  pair.right.sent.length = 0;
  pair.send(pair.left, 60);
  const packet = takenFrom(pair.left);
  pair.arrive(pair.right, packet);
  pair.arrive(pair.right, packet);
  pair.advance(ERASE_AFTER_TIME);
  pair.send(pair.left, 60);
  pair.deliver();
  assert.equal(pair.right.received.length, 3);
  assert.equal(pair.left.tunnel.state, 'established');
});

test('a cookie reply to a response is reported when it is authentic', () => {
  const pair = new TunnelPair();
  pair.send(pair.left, 100);
  pair.deliverTo('right');
  const response = takenFrom(pair.right);
  const key = (octet: number): Uint8Array => new Uint8Array(32).fill(octet);
  const replyOf = (octet: number): Uint8Array =>
    new MacReader(new X25519PrivateKey(key(octet)).publicKey, new SeededRandom(1)).reply(
      response.bytes,
      pair.right.address,
      pair.now,
    );
  const { from, to } = response;
  for (const octet of [3, 1]) {
    pair.arrive(pair.right, { bytes: replyOf(octet), from: to, to: from });
  }
  assert.deepEqual(pair.right.trace.slice(3), [
    { kind: 'dropped', reason: 'authentication', bytes: 64 },
    { kind: 'received', what: 'cookie reply' },
  ]);
});

describe('a datagram', () => {
  const BEFORE = 9;

  /** Receives a datagram amid other bytes. @returns the size of its packet and the memory. */
  function receive(pair: TunnelPair, datagram: Uint8Array): [size: number, memory: Uint8Array] {
    const memory = new Uint8Array(BEFORE + datagram.length + 9).fill(0xa5);
    memory.set(datagram, BEFORE);
    const end = BEFORE + datagram.length;
    const from = pair.left.address;
    return [pair.right.tunnel.receive(memory, BEFORE, end, from, pair.now), memory];
  }

  test('is read from any place in memory, and nothing around it is changed', () => {
    const pair = new TunnelPair();
    pair.send(pair.left, 100);
    const [none, initiation] = receive(pair, takenFrom(pair.left).bytes);
    assert.equal(none, 0);
    pair.right.tunnel.transmit(pair.now, pair.right);
    pair.arrive(pair.left, takenFrom(pair.right));
    const { bytes } = takenFrom(pair.left);
    const [size, memory] = receive(pair, bytes);
    assert.equal(size, 112);
    assert.deepEqual(memory.slice(BEFORE + 16, BEFORE + 16 + 100), new Uint8Array(100).fill(0x45));
    for (const each of [initiation, memory]) {
      assert.ok([...each.subarray(0, BEFORE), ...each.subarray(-9)].every((byte) => byte === 0xa5));
    }
    receive(pair, bytes);
    const changed = bytes.slice();
    changed[4] = (changed[4] ?? 0) ^ 1;
    receive(pair, changed);
    pair.now += REJECT_AFTER_TIME;
    receive(pair, bytes);
    const length = bytes.length;
    assert.deepEqual(
      pair.right.trace.filter(({ kind }) => kind === 'dropped'),
      [
        { kind: 'dropped', reason: 'replay', bytes: length },
        { kind: 'dropped', reason: 'index', bytes: length },
        { kind: 'dropped', reason: 'expired', bytes: length },
      ],
    );
  });

  test('that is no message is dropped as it is', () => {
    const pair = new TunnelPair();
    for (const size of [0, 1, 3, 31, 32, 147]) {
      const [none, memory] = receive(pair, new Uint8Array(size).fill(0xa5));
      assert.equal(none, 0);
      if (size < 32)
        assert.ok(
          memory.every((byte) => byte === 0xa5),
          `${size} bytes`,
        );
    }
    assert.deepEqual(
      pair.right.trace,
      [0, 1, 3, 31, 32, 147].map((bytes) => ({ kind: 'dropped', reason: 'message', bytes })),
    );
  });
});

describe('the address of the peer', () => {
  test('is that of an authentic initiation', () => {
    const pair = new TunnelPair();
    pair.left.address = endpoint('198.51.100.9', 999);
    pair.send(pair.left, 100);
    pair.deliverTo('right');
    assert.deepEqual(pair.right.tunnel.endpoint, pair.left.address);
    assert.deepEqual(eventsOf(pair.right), ['moved']);
  });

  test('is that of an authentic response', () => {
    const pair = new TunnelPair();
    pair.send(pair.left, 100);
    pair.right.address = endpoint('198.51.100.9', 999);
    pair.deliverTo('right');
    pair.deliverTo('left');
    assert.deepEqual(pair.left.tunnel.endpoint, pair.right.address);
    assert.deepEqual(eventsOf(pair.left), ['moved', 'established']);
  });
});

describe('an initiator that receives', () => {
  for (const [age, initiations] of [
    [REKEY_ON_RECEIPT_TIME - 1, 1],
    [REKEY_ON_RECEIPT_TIME, 2],
  ] as const) {
    test(`a packet at ${age} ms has begun ${initiations} handshakes`, () => {
      const pair = connectedPair();
      // Without its timers, which would make it send.
      pair.now += age;
      pair.passes = ({ from }) => from === pair.right.address;
      for (let count = 0; count < 2; count++) {
        pair.send(pair.right, 60);
        pair.deliverTo('left');
      }
      assert.equal(pair.left.count('initiation'), initiations);
      assert.equal(pair.right.count('initiation'), 0, 'the responder begins none');
    });
  }

  test('does not begin one for a packet of the session before', () => {
    const pair = connectedPair();
    pair.send(pair.right, 60);
    const late = takenFrom(pair.right);
    pair.now += REKEY_AFTER_TIME;
    pair.send(pair.left, 60);
    pair.deliver();
    assert.equal(pair.left.count('initiation'), 2);
    pair.now += REKEY_ON_RECEIPT_TIME - REKEY_AFTER_TIME;
    pair.arrive(pair.left, late);
    assert.equal(pair.left.received.length, 2);
    assert.equal(pair.left.count('initiation'), 2);
  });
});

test('an initiator that sends begins a handshake at 120 s, and not before', () => {
  const pair = connectedPair();
  pair.now += REKEY_AFTER_TIME - 1;
  pair.send(pair.left, 60);
  assert.equal(pair.left.count('initiation'), 1);
  pair.now += 1;
  pair.send(pair.left, 60);
  assert.equal(pair.left.count('initiation'), 2);
});
