import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { MAX_PENDING_MESSAGES } from '../../../../src/protocols/wireguard/limits.ts';
import {
  endpoint,
  TunnelPair,
  type SentDatagram,
} from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';

const OUTSIDER = endpoint('203.0.113.5', 5);

/** One of each message, of a pair in the middle of its life. */
function captured(): { readonly pair: TunnelPair; readonly messages: readonly SentDatagram[] } {
  const pair = new TunnelPair();
  const messages: SentDatagram[] = [];
  pair.passes = (datagram) => {
    messages.push(datagram);
    return true;
  };
  pair.send(pair.left, 64);
  pair.deliver();
  pair.send(pair.right, 64);
  pair.deliver();
  pair.passes = undefined;
  return { pair, messages };
}

describe('whatever arrives', () => {
  test('is dropped unless it is authentic, and the tunnel goes on', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.uint8Array({ maxLength: 200, size: 'max' }),
            // The length and the type of each message, with anything behind it.
            ...[
              [1, 148],
              [2, 92],
              [3, 64],
              [4, 80],
            ].map(([type = 0, length = 0]) =>
              fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => {
                bytes.fill(0, 0, 4);
                bytes[0] = type;
                return bytes;
              }),
            ),
          ),
          { maxLength: 30, size: 'max' },
        ),
        (datagrams) => {
          const { pair } = captured();
          const received = pair.left.received.length;
          for (const bytes of datagrams) {
            pair.arrive(pair.left, { bytes, from: OUTSIDER, to: pair.left.address });
          }
          assert.equal(pair.left.received.length, received);
          assert.equal(pair.left.drops.length, datagrams.length);
          assert.deepEqual(pair.left.tunnel.endpoint, pair.right.address);
          pair.deliver();
          pair.send(pair.right, 80);
          pair.deliver();
          assert.equal(pair.left.received.length, received + 1);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('is dropped where one bit of a message is changed, or its end is missing', () => {
    const { messages } = captured();
    fc.assert(
      fc.property(
        fc.nat(messages.length - 1),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.option(fc.nat(7)),
        (which, where, bit) => {
          const original = messages[which];
          assert.ok(original);
          const at = Math.floor(where * original.bytes.length);
          // The reserved bytes do not count.
          if (bit !== null && at >= 1 && at <= 3) return;
          // Nor does `mac2`, where no cookie was asked for.
          const isHandshake = (original.bytes[0] ?? 0) < 3;
          if (bit !== null && isHandshake && at >= original.bytes.length - 16) return;
          // A fresh pair in the state that the message met: its handshake, or its session.
          const pair = new TunnelPair();
          let changed = 0;
          let count = 0;
          pair.passes = (datagram) => {
            if (count++ !== which) return true;
            const bytes = Uint8Array.from(datagram.bytes);
            if (bit !== null) bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
            const to = datagram.to.port === pair.right.address.port ? pair.right : pair.left;
            const before = to.received.length;
            const forged = bit === null ? bytes.subarray(0, at) : bytes;
            to.tunnel.receive(forged, 0, forged.length, datagram.from, pair.now);
            assert.equal(to.received.length, before);
            assert.equal(to.drops.length, 1);
            changed++;
            return true;
          };
          pair.send(pair.left, 64);
          pair.deliver();
          pair.send(pair.right, 64);
          pair.deliver();
          assert.equal(changed, 1);
          // The genuine message, which came behind it, has had its effect.
          assert.equal(pair.left.received.length + pair.right.received.length, 2);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('is dropped when it is a message of before, in any order', () => {
    const { pair, messages } = captured();
    pair.now += 1000;
    for (const message of [...messages, ...messages.toReversed()]) {
      const to = message.to.port === pair.right.address.port ? pair.right : pair.left;
      pair.arrive(to, { ...message, from: OUTSIDER });
    }
    assert.equal(pair.left.drops.length + pair.right.drops.length, 2 * messages.length);
    assert.equal(pair.left.received.length + pair.right.received.length, 2);
    assert.deepEqual(pair.left.tunnel.endpoint, pair.right.address);
  });
});

test('responses that cannot be sent do not pile up', () => {
  const { pair } = captured();
  pair.left.isFull = true;
  for (let i = 0; i < 2 * MAX_PENDING_MESSAGES; i++) {
    pair.now += 100;
    const restarted = pair.restartedRight();
    pair.wall += 1000;
    pair.send(restarted, 10);
    for (const datagram of restarted.sent) pair.arrive(pair.left, datagram);
  }
  pair.left.isFull = false;
  pair.left.tunnel.transmit(pair.now, pair.left);
  assert.equal(pair.left.sent.length, MAX_PENDING_MESSAGES);
});
