import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { MacWriter } from '../../../../src/protocols/wireguard/handshake/cookies.ts';
import {
  ERASE_AFTER_TIME,
  KEEPALIVE_TIMEOUT,
  MAX_JITTER,
  REJECT_AFTER_TIME,
  REKEY_AFTER_TIME,
  REKEY_ATTEMPT_TIME,
  REKEY_TIMEOUT,
} from '../../../../src/protocols/wireguard/deadlines.ts';
import {
  HANDSHAKES_A_SECOND,
  MAX_WAITING_PACKET_BYTES,
  MAX_WAITING_PACKETS,
} from '../../../../src/protocols/wireguard/limits.ts';
import {
  endpoint,
  TunnelPair,
  type SentDatagram,
} from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';
import { eventsOf } from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';

/** A pair with a session that the left end has begun, and one packet delivered. */
function connected(options?: ConstructorParameters<typeof TunnelPair>[0]): TunnelPair {
  const pair = new TunnelPair(options);
  pair.send(pair.left, 100);
  pair.deliver();
  assert.equal(pair.right.received.length, 1);
  return pair;
}

const isData = ({ bytes }: SentDatagram): boolean => bytes[0] === 4;
const isInitiation = ({ bytes }: SentDatagram): boolean => bytes[0] === 1;
describe('a handshake', () => {
  test('begins with the first packet, which waits for it', () => {
    const pair = new TunnelPair();
    assert.equal(pair.left.tunnel.nextTimeout(), Infinity);
    pair.send(pair.left, 100);
    assert.equal(pair.left.tunnel.state, 'connecting');
    assert.deepEqual(
      pair.left.sent.map(({ bytes }) => bytes.length),
      [148],
    );
    pair.deliver();
    assert.equal(pair.left.tunnel.state, 'established');
    assert.equal(pair.right.tunnel.state, 'established');
    assert.deepEqual(eventsOf(pair.left), ['established']);
    // The packet, and zeros up to a multiple of 16.
    assert.deepEqual(pair.right.received, [
      Uint8Array.from([...new Uint8Array(100).fill(0x45), ...new Uint8Array(12)]),
    ]);
  });

  test('is confirmed by an empty packet where none waits', () => {
    const pair = new TunnelPair({ left: { keepalive: 25_000 } });
    pair.left.tunnel.onTimeout(pair.now);
    pair.left.tunnel.transmit(pair.now, pair.left);
    pair.deliver();
    assert.equal(pair.left.count('keepalive'), 1);
    assert.equal(pair.right.tunnel.state, 'established');
    assert.deepEqual(pair.right.received, []);
  });

  test('may be begun by either end, and by both at once', () => {
    const pair = new TunnelPair();
    pair.send(pair.left, 20);
    pair.send(pair.right, 20);
    pair.deliver();
    for (const end of [pair.left, pair.right]) {
      pair.send(end, 30);
      pair.deliver();
    }
    for (const end of [pair.left, pair.right]) {
      assert.equal(end.received.length, 2);
      assert.deepEqual(end.drops, []);
    }
  });

  test('is tried again after 5 s and a little', () => {
    const pair = new TunnelPair();
    pair.passes = () => false;
    pair.send(pair.left, 100);
    pair.advance(REKEY_TIMEOUT - 1);
    assert.equal(pair.left.count('initiation'), 1);
    pair.advance(1 + MAX_JITTER);
    assert.equal(pair.left.count('initiation'), 2);
    pair.passes = undefined;
    pair.advance(REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.right.received.length, 1, 'what waited is sent');
  });

  test('is given up after 90 s, and begun again by the next packet', () => {
    const pair = new TunnelPair();
    pair.passes = () => false;
    // Packets that come meanwhile do not prolong it.
    for (let second = 0; second < 90; second++) {
      pair.send(pair.left, 100);
      pair.advance(REKEY_ATTEMPT_TIME / 90);
    }
    pair.advance(REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.left.tunnel.state, 'silent');
    assert.deepEqual(eventsOf(pair.left), ['unanswered', 'silent']);
    const { length } = pair.left.trace;
    assert.ok(length >= 17 && length <= 19, `${length} initiations`);
    assert.equal(pair.left.tunnel.dropped, 90);
    pair.advance(3600_000);
    assert.equal(pair.left.count('initiation'), length);
    pair.passes = undefined;
    pair.send(pair.left, 200);
    pair.deliver();
    assert.equal(pair.right.received.length, 1);
    assert.deepEqual(eventsOf(pair.left), ['established', 'restored']);
  });

  test('fails with different pre-shared keys, and succeeds with equal ones', () => {
    const different = new TunnelPair({ presharedKeys: [7, 8] });
    different.send(different.left, 100);
    different.deliver();
    assert.deepEqual(different.left.drops, ['authentication']);
    assert.deepEqual(different.right.received, []);
    connected({ presharedKeys: [7, 7] });
  });

  test('keeps so many packets, and drops the oldest beyond', () => {
    const pair = new TunnelPair();
    for (let i = 0; i < MAX_WAITING_PACKETS + 10; i++) {
      pair.send(pair.left, Uint8Array.of(0x45, i >> 8, i, 0));
    }
    pair.deliver();
    assert.equal(pair.right.received.length, MAX_WAITING_PACKETS);
    assert.deepEqual(pair.right.received[0]?.subarray(0, 3), Uint8Array.of(0x45, 0, 10));
    assert.equal(pair.left.tunnel.dropped, 10);
    const large = new TunnelPair({ left: { mtu: 65_000 } });
    for (let i = 0; i < 40; i++) large.send(large.left, 60_000);
    large.deliver();
    assert.equal(large.right.received.length, Math.floor(MAX_WAITING_PACKET_BYTES / 60_000));
    const exact = new TunnelPair({ left: { mtu: 65_000 } });
    const most = MAX_WAITING_PACKET_BYTES / 32_768;
    for (let i = 0; i < most; i++) exact.send(exact.left, 32_768);
    assert.equal(exact.left.tunnel.dropped, 0);
    exact.left.tunnel.close();
    assert.equal(exact.left.tunnel.dropped, most);
  });

  test('goes to a new address at once, unless the tunnel is closed', () => {
    const pair = new TunnelPair();
    const { left } = pair;
    const moved = endpoint('192.0.2.9', 9);
    pair.send(left, 100);
    left.sent.length = 0;
    left.tunnel.moveTo(moved, pair.now);
    left.tunnel.transmit(pair.now, left);
    assert.deepEqual(
      left.sent.map(({ to }) => to),
      [moved],
    );
    left.tunnel.close();
    left.tunnel.moveTo(endpoint('192.0.2.10', 10), pair.now);
    assert.deepEqual(left.tunnel.endpoint, moved);
  });

  test('does not begin sooner than 5 s after the last one', () => {
    const pair = connected();
    const { tunnel } = pair.left;
    pair.now += 1000;
    tunnel.retryHandshake(pair.now, pair.now);
    tunnel.transmit(pair.now, pair.left);
    assert.equal(pair.left.count('initiation'), 1);
    pair.advance(REKEY_TIMEOUT);
    assert.equal(pair.left.count('initiation'), 2);
  });

  test('with a replayed initiation is not begun', () => {
    const pair = new TunnelPair();
    pair.send(pair.left, 100);
    const [initiation] = pair.left.sent;
    assert.ok(initiation);
    pair.deliver();
    pair.now += 60_000;
    pair.arrive(pair.right, initiation);
    assert.deepEqual(pair.right.drops, ['replay']);
    assert.equal(pair.right.sent.length, 0);
  });

  test('is not disturbed by a response that comes twice', () => {
    const pair = new TunnelPair();
    pair.send(pair.left, 100);
    pair.deliverTo('right');
    const [response] = pair.right.sent;
    assert.ok(response);
    pair.right.sent.push(response);
    pair.deliver();
    assert.deepEqual(pair.left.drops, ['index']);
    pair.send(pair.left, 50);
    pair.deliver();
    assert.equal(pair.right.received.length, 2);
  });

  test('goes on when there was no room to send', () => {
    const pair = new TunnelPair();
    pair.left.isFull = true;
    pair.send(pair.left, 100);
    assert.equal(pair.left.sent.length, 0);
    pair.left.isFull = false;
    pair.left.tunnel.transmit(pair.now, pair.left);
    pair.deliver();
    assert.equal(pair.right.received.length, 1);
  });
});

describe('a session', () => {
  test('is replaced by its initiator after 120 s, without a gap', () => {
    const pair = connected();
    for (let second = 0; second < 400; second++) {
      pair.advance(1000);
      pair.send(pair.left, 60);
      pair.send(pair.right, 60);
      pair.deliver();
    }
    assert.equal(pair.left.received.length, 400);
    assert.equal(pair.right.received.length, 401);
    assert.deepEqual([...pair.left.drops, ...pair.right.drops], []);
    assert.equal(pair.left.count('initiation'), 4, 'one every 120 s');
    assert.equal(pair.right.count('initiation'), 0, 'the responder begins none');
  });

  test('carries packets of both directions while the next one is being made', () => {
    const pair = connected();
    pair.passes = ({ bytes }) => bytes[0] === 4;
    pair.advance(REKEY_AFTER_TIME);
    for (let i = 0; i < 55; i++) {
      pair.send(pair.left, 60);
      pair.send(pair.right, 60);
      pair.advance(1000);
    }
    assert.equal(pair.left.received.length, 55);
    assert.ok(pair.left.count('initiation') > 5);
    assert.deepEqual([...pair.left.drops, ...pair.right.drops], []);
  });

  test('is replaced at 165 s by an initiator that only receives', () => {
    const pair = connected();
    for (let second = 0; second < 170; second += 2) {
      pair.advance(2000);
      // Without the keep-alives that would count as sent.
      pair.left.tunnel.onTimeout(pair.now);
      pair.send(pair.right, 60);
      pair.deliver();
    }
    assert.ok(pair.left.sessions >= 2);
  });

  test('is not used any more after 180 s', () => {
    const pair = connected();
    pair.now += REJECT_AFTER_TIME;
    pair.passes = () => false;
    pair.send(pair.left, 100);
    assert.deepEqual(
      pair.left.sent.map(({ bytes }) => bytes[0]),
      [1],
    );
    const fresh = connected();
    fresh.send(fresh.left, 100);
    const late = fresh.left.sent.splice(0).filter(isData);
    fresh.now += REJECT_AFTER_TIME;
    for (const datagram of late) fresh.arrive(fresh.right, datagram);
    assert.deepEqual(fresh.right.drops, ['expired']);
  });

  test('is erased 540 s after the last handshake', () => {
    const pair = connected();
    pair.advance(ERASE_AFTER_TIME - 1);
    assert.ok(!pair.left.trace.some(({ kind }) => kind === 'erased'));
    pair.advance(1);
    for (const end of [pair.left, pair.right]) {
      assert.equal(end.trace.filter(({ kind }) => kind === 'erased').length, 1);
    }
    pair.send(pair.left, 100);
    pair.deliver();
    assert.equal(pair.right.received.length, 2);
  });

  test('rejects every packet that comes twice, and takes those that come late', () => {
    const pair = connected();
    for (let i = 0; i < 5000; i++) pair.send(pair.left, 40);
    const sent = pair.left.sent.splice(0);
    for (const datagram of sent.toReversed()) pair.arrive(pair.right, datagram);
    assert.equal(pair.right.received.length, 5001);
    for (const datagram of sent) pair.arrive(pair.right, datagram);
    assert.equal(pair.right.received.length, 5001);
    assert.equal(pair.right.drops.length, 5000);
    assert.ok(pair.right.drops.every((reason) => reason === 'replay'));
  });

  test('pads packets to 16 bytes, but not beyond the MTU', () => {
    const pair = connected();
    for (const length of [1, 16, 17, 1410, 1420]) pair.send(pair.left, length);
    const sizes = pair.left.sent.map(({ bytes }) => bytes.length - 32);
    assert.deepEqual(sizes, [16, 16, 32, 1420, 1420]);
  });

  test('sends nothing and takes nothing after the tunnel is closed', () => {
    const pair = connected();
    pair.left.tunnel.close();
    pair.send(pair.left, 100);
    pair.send(pair.right, 100);
    pair.deliver();
    assert.equal(pair.left.tunnel.nextTimeout(), Infinity);
    assert.equal(pair.left.received.length, 0);
    assert.equal(pair.right.received.length, 1);
  });
});

describe('keep-alives', () => {
  test('follow 10 s after a packet that had no response, and one is enough', () => {
    const pair = connected();
    pair.advance(KEEPALIVE_TIMEOUT - 1);
    assert.equal(pair.right.count('keepalive'), 0);
    // It answers this one as well.
    pair.send(pair.left, 100);
    pair.advance(1);
    assert.equal(pair.right.count('keepalive'), 1);
    pair.advance(60_000);
    assert.equal(pair.right.count('keepalive'), 1);
    assert.equal(pair.left.count('keepalive'), 0, 'a keep-alive has none of its own');
  });

  test('are not sent where packets are', () => {
    const pair = connected();
    for (let i = 0; i < 30; i++) {
      pair.advance(1000);
      pair.send(pair.right, 40);
      pair.send(pair.left, 40);
      pair.deliver();
    }
    assert.equal(pair.right.count('keepalive'), 0);
    assert.equal(pair.left.count('keepalive'), 0);
  });

  test('keep their interval when one is configured, and the session as well', () => {
    const pair = new TunnelPair({ left: { keepalive: 20_000 } });
    const at: number[] = [];
    pair.passes = (datagram) => {
      if (datagram.from === pair.left.address && datagram.bytes.length === 32) at.push(pair.now);
      return true;
    };
    pair.advance(600_000);
    assert.ok(at.length >= 28, `${at.length} keep-alives`);
    for (const [index, time] of at.entries()) {
      if (index > 0) assert.ok(time - (at[index - 1] ?? 0) <= 20_000, `gap before ${time}`);
    }
    assert.equal(pair.right.tunnel.state, 'established');
  });

  test('begin another handshake for as long as the peer is silent', () => {
    const pair = new TunnelPair({ left: { keepalive: 20_000 } });
    pair.passes = () => false;
    pair.advance(600_000);
    assert.ok(pair.left.count('initiation') > 60);
    pair.passes = undefined;
    pair.advance(30_000);
    assert.equal(pair.left.tunnel.state, 'established');
  });
});

describe('a silent peer', () => {
  test('gets another initiation 15 s after what had no response', () => {
    const pair = connected();
    pair.passes = () => false;
    pair.send(pair.left, 100);
    pair.advance(KEEPALIVE_TIMEOUT);
    // Further packets do not put it off.
    pair.send(pair.left, 100);
    pair.advance(REKEY_TIMEOUT - 1);
    assert.equal(pair.left.count('initiation'), 1);
    pair.advance(1 + MAX_JITTER);
    assert.equal(pair.left.count('initiation'), 2);
  });

  test('gets it at once where a dial waits', () => {
    const pair = connected();
    pair.advance(KEEPALIVE_TIMEOUT);
    const since = pair.now + 1;
    pair.passes = isInitiation;
    pair.send(pair.left, 60);
    pair.advance(3000);
    pair.left.tunnel.retryHandshake(since, pair.now);
    pair.advance(0);
    pair.left.tunnel.transmit(pair.now, pair.left);
    assert.equal(pair.left.count('initiation'), 2);
  });

  test('gets nothing where no packet has waited for it', () => {
    const pair = connected();
    pair.advance(KEEPALIVE_TIMEOUT);
    pair.now++;
    pair.left.tunnel.retryHandshake(pair.now, pair.now);
    pair.advance(KEEPALIVE_TIMEOUT);
    assert.equal(pair.left.count('initiation'), 1);
  });

  test('that has restarted is found by it', () => {
    const pair = connected();
    const restarted = pair.restartedRight();
    pair.send(pair.left, 100);
    pair.deliver(pair.left, restarted);
    assert.deepEqual(restarted.drops, ['index']);
    pair.advance(16_000, pair.left, restarted);
    pair.send(pair.left, 100);
    pair.deliver(pair.left, restarted);
    assert.equal(restarted.received.length, 1);
  });

  test('that begins by itself after a restart is used at once', () => {
    const pair = connected();
    pair.now += 1000;
    const restarted = pair.restartedRight();
    pair.send(restarted, 50);
    pair.deliver(pair.left, restarted);
    assert.equal(pair.left.received.length, 1);
    pair.send(pair.left, 60);
    pair.deliver(pair.left, restarted);
    assert.equal(restarted.received.length, 1);
  });
});

describe('roaming', () => {
  test('follows the newest authentic packet, and no other', () => {
    const pair = connected();
    assert.deepEqual(eventsOf(pair.left), ['established']);
    pair.right.address = endpoint('198.51.100.9', 999);
    pair.send(pair.right, 60);
    const [packet] = pair.right.sent;
    assert.ok(packet);
    pair.deliver();
    assert.deepEqual(pair.left.tunnel.endpoint, pair.right.address);
    assert.deepEqual(eventsOf(pair.left), ['moved']);
    pair.arrive(pair.left, { ...packet, from: endpoint('203.0.113.1', 1) });
    const forged = { ...packet, bytes: packet.bytes.slice(), from: endpoint('203.0.113.1', 1) };
    forged.bytes[8] = 99;
    pair.arrive(pair.left, forged);
    assert.deepEqual(pair.left.drops, ['replay', 'authentication']);
    assert.deepEqual(pair.left.tunnel.endpoint, pair.right.address);
    assert.deepEqual(eventsOf(pair.left), []);
  });
});

describe('reserved bytes', () => {
  test('are in every message that is sent, and ignored in every one that comes', () => {
    const pair = new TunnelPair({
      left: { reserved: [1, 2, 3] },
      right: { reserved: [9, 0, 255] },
    });
    const seen = new Set<string>();
    pair.passes = ({ bytes, from }) => {
      const side = from === pair.left.address ? 'left' : 'right';
      const expected = side === 'left' ? [1, 2, 3] : [9, 0, 255];
      assert.deepEqual([...bytes.subarray(1, 4)], expected);
      seen.add(`${side} ${bytes[0]}`);
      return true;
    };
    pair.send(pair.left, 100);
    pair.deliver();
    pair.send(pair.right, 100);
    pair.deliver();
    pair.advance(KEEPALIVE_TIMEOUT);
    assert.equal(pair.left.received.length + pair.right.received.length, 2);
    assert.deepEqual([...pair.left.drops, ...pair.right.drops], []);
    assert.deepEqual([...seen].sort(), ['left 1', 'left 4', 'right 2', 'right 4']);
  });
});

describe('many initiations', () => {
  /** Messages with a valid code, by a sender that knows nothing but the public key. */
  function flood(pair: TunnelPair, count: number): void {
    const from = endpoint('203.0.113.7', 7);
    const macs = new MacWriter(new X25519PrivateKey(new Uint8Array(32).fill(2)).publicKey);
    for (let i = 0; i < count; i++) {
      const bytes = new Uint8Array(148).fill(i, 4, 116);
      bytes[0] = 1;
      macs.write(bytes, pair.now);
      pair.arrive(pair.right, { bytes, from, to: pair.right.address });
    }
    const { sent } = pair.right;
    sent.splice(0, sent.length, ...sent.filter(({ to }) => to.port !== from.port));
  }

  test('make the receiver ask for a cookie, with which a peer is accepted', () => {
    const pair = new TunnelPair();
    pair.passes = (datagram) => {
      if (datagram.from === pair.left.address && isInitiation(datagram)) {
        const { passes } = pair;
        pair.passes = undefined;
        flood(pair, HANDSHAKES_A_SECOND + 5);
        pair.passes = passes;
      }
      return true;
    };
    pair.send(pair.left, 100);
    pair.deliver();
    assert.equal(pair.right.received.length, 0);
    assert.deepEqual(
      pair.left.trace.filter(({ kind }) => kind === 'received'),
      [{ kind: 'received', what: 'cookie reply' }],
    );
    pair.advance(REKEY_TIMEOUT + MAX_JITTER);
    assert.equal(pair.right.received.length, 1);
    assert.equal(pair.left.count('initiation'), 2);
  });
});
