import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pair } from '../../../../../test/support/quic/pair.ts';
import { testServerTls } from '../../../../../test/support/quic/tls.ts';
import { Space } from '../../../src/wire/packet-header.ts';

test('a client and a server complete and confirm the handshake (RFC 9001 §4.1)', () => {
  const pair = new Pair().connect();
  for (const peer of [pair.client, pair.server]) {
    assert.deepEqual(
      peer.events.map(({ kind }) => kind),
      ['established', 'confirmed'],
    );
  }
});

test('a handshake takes one round trip for the client (RFC 9000 §7)', () => {
  const pair = new Pair({ delay: 25 });
  const took = pair.run(() => pair.client.connection.state === 'established');
  assert.equal(took, 50);
});

test('datagrams with a client’s Initial packets have 1,200 bytes (RFC 9000 §14.1)', () => {
  const pair = new Pair({ delay: 5 });
  pair.flush();
  assert.ok(pair.sent.length > 0);
  assert.ok(pair.sent.every(({ size }) => size === 1200));
});

test('a server sends at most three times what it has received before the client’s address is validated (RFC 9000 §8.1)', () => {
  const pair = new Pair();
  pair.passes = (_datagram, towards) => towards === 'server';
  pair.advance(5000);
  let sent = 0;
  let received = 0;
  for (const { size, towards } of pair.sent) {
    if (towards === 'server') received += size;
    else sent += size;
    assert.ok(sent <= 3 * received, `${sent} bytes for ${received}`);
  }
  assert.ok(sent > 0);
});

test('a handshake survives the loss of any one of its datagrams (RFC 9002 §6.2)', () => {
  for (let lost = 0; lost < 8; lost++) {
    const pair = new Pair({ delay: 20, seed: lost + 1 });
    let count = 0;
    pair.passes = () => count++ !== lost;
    pair.connect();
  }
});

test('a handshake survives the loss of a third of its datagrams (RFC 9002 §6.2)', () => {
  const patient = { handshakeTimeout: 60_000, idleTimeout: 0 };
  for (let seed = 1; seed <= 20; seed++) {
    const pair = new Pair({ delay: 20, seed, client: patient, server: patient });
    pair.passes = () => !pair.random.chance(1 / 3);
    pair.connect();
  }
});

test('a handshake succeeds with datagrams in the reverse order (RFC 9001 §5.7)', () => {
  const pair = new Pair({ delay: 10 });
  for (let round = 0; round < 40; round++) {
    pair.reverse();
    pair.advance(10);
  }
  assert.equal(pair.client.connection.state, 'confirmed');
  assert.equal(pair.server.connection.state, 'confirmed');
});

test('packets that arrive twice are processed once (RFC 9000 §12.3)', () => {
  const pair = new Pair();
  pair.flush();
  for (let round = 0; round < 10; round++) {
    for (const datagram of pair.flying.splice(0)) {
      pair.arrive(datagram, datagram.towards);
      pair.arrive(datagram, datagram.towards);
    }
    pair.flush();
  }
  pair.connect();
  assert.ok(pair.server.dropped('duplicate') > 0);
});

test('Initial and Handshake keys are discarded in the course of the handshake (RFC 9001 §4.9)', () => {
  const pair = new Pair().connect();
  for (const { trace } of [pair.client, pair.server]) {
    const discarded = trace.flatMap((event) =>
      event.kind === 'keys-discarded' ? [event.space] : [],
    );
    assert.deepEqual(discarded, [Space.INITIAL, Space.HANDSHAKE]);
  }
});

test('a client that does not trust the certificate says so in its close (RFC 9001 §4.8)', () => {
  const pair = new Pair({ serverTls: testServerTls(false) });
  pair.run(() => pair.hasServer && pair.server.connection.state === 'draining');
  const { closeReason } = pair.client.connection;
  assert.equal(closeReason?.by, 'self');
  assert.equal(closeReason.code, 0x0100 + 48);
  assert.match(closeReason.reason, /verify/);
  assert.equal(pair.server.connection.closeReason?.code, 0x0100 + 48);
});

test('a handshake that takes too long ends the connection', () => {
  const pair = new Pair({ client: { handshakeTimeout: 4000 } });
  pair.passes = () => false;
  pair.run(() => pair.client.connection.state === 'closed');
  assert.equal(pair.client.connection.closeReason?.kind, 'idle');
  assert.equal(pair.now, 5000);
  assert.deepEqual(
    pair.client.events.map(({ kind }) => kind),
    ['closed', 'drained'],
  );
  assert.equal(pair.clientIds.live.size, 0);
});
