import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../src/errors.ts';
import { Pair } from '../../../../../test/support/quic/pair.ts';

test('a close by the application reaches the peer with its code and reason (RFC 9000 §10.2)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  pair.client.connection.close(0x100, 'goodbye', pair.now);
  pair.advance(10);
  const expected = { kind: 'application', code: 0x100, reason: 'goodbye' };
  assert.deepEqual(pair.client.connection.closeReason, { ...expected, by: 'self' });
  assert.deepEqual(pair.server.connection.closeReason, { ...expected, by: 'peer' });
  assert.equal(pair.server.connection.state, 'draining');
});

test('closing and draining last three probe timeouts and release everything (RFC 9000 §10.2)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  pair.client.connection.close(1, '', pair.now);
  pair.run(
    () => pair.client.connection.state === 'closed' && pair.server.connection.state === 'closed',
    5000,
  );
  assert.ok(pair.client.has('drained') && pair.server.has('drained'));
  assert.equal(pair.clientIds.live.size + pair.serverIds.live.size, 0);
  assert.equal(pair.client.connection.nextTimeout(), Infinity);
});

test('a lost close is sent again when the peer goes on, ever more rarely (RFC 9000 §10.2.1)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  const id = pair.server.connection.openStream(true) ?? -1;
  pair.passes = (_datagram, towards) => towards === 'client';
  pair.client.connection.close(1, 'x', pair.now);
  pair.flush();
  pair.server.send(id, 100_000, 1000, false);
  const before = pair.sent.length;
  pair.advance(10);
  const closes = pair.sent.slice(before).filter(({ towards }) => towards === 'server').length;
  assert.ok(closes >= 1 && closes <= 4, `${closes} closes`);
});

test('a close that is sent again ends the connection of the peer (RFC 9000 §10.2.1)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  const id = pair.server.connection.openStream(true) ?? -1;
  pair.client.connection.close(1, 'x', pair.now);
  pair.drop();
  pair.server.send(id, 100_000, 1000, false);
  pair.advance(30);
  assert.equal(pair.server.connection.state, 'draining');
});

test('nothing is sent in the draining state (RFC 9000 §10.2.2)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  const id = pair.server.connection.openStream(true) ?? -1;
  pair.server.send(id, 1_000_000);
  pair.client.connection.close(1, 'x', pair.now);
  pair.advance(10);
  const before = pair.sent.length;
  pair.advance(5000);
  assert.equal(pair.sent.slice(before).filter(({ towards }) => towards === 'client').length, 0);
});

test('during the handshake the application’s reason is not sent (RFC 9000 §10.2.3)', () => {
  const pair = new Pair({ delay: 10 });
  pair.advance(10);
  pair.server.connection.close(0x100, 'a secret', pair.now);
  pair.advance(10);
  assert.deepEqual(pair.client.connection.closeReason, {
    kind: 'transport',
    by: 'peer',
    code: TransportErrorCode.APPLICATION_ERROR,
    reason: '',
  });
});

test('a server may refuse a connection (RFC 9000 §20.1)', () => {
  const pair = new Pair({ delay: 10 });
  pair.advance(10);
  const { CONNECTION_REFUSED } = TransportErrorCode;
  pair.server.connection.closeTransport(CONNECTION_REFUSED, 'busy', pair.now);
  pair.advance(10);
  assert.equal(pair.client.connection.closeReason?.code, CONNECTION_REFUSED);
  assert.equal(pair.client.connection.closeReason.reason, 'busy');
});

test('a silent connection ends after the smaller idle timeout, without a packet (RFC 9000 §10.1)', () => {
  const pair = new Pair({ delay: 10, server: { idleTimeout: 5000 } }).connect();
  pair.advance(1000);
  const sent = pair.sent.length;
  pair.run(() => pair.client.connection.state === 'closed', 10_000);
  assert.equal(pair.client.connection.closeReason?.kind, 'idle');
  pair.advance(100);
  assert.equal(pair.server.connection.closeReason?.kind, 'idle');
  assert.equal(pair.sent.length, sent);
});

test('a keep-alive keeps a silent connection (RFC 9000 §10.1.2)', () => {
  const settings = { idleTimeout: 5000, keepAlive: 2000 };
  const pair = new Pair({
    delay: 10,
    client: settings,
    server: { idleTimeout: 5000 },
  }).connect();
  pair.advance(60_000);
  assert.equal(pair.client.connection.state, 'confirmed');
  assert.equal(pair.server.connection.state, 'confirmed');
});

test('a peer that is gone ends the connection when its data is not acknowledged (RFC 9000 §10.1)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  pair.passes = () => false;
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 1000);
  pair.run(() => pair.client.connection.state === 'closed', 40_000);
  assert.equal(pair.client.connection.closeReason?.kind, 'idle');
});

test('an abandoned connection ends at once', () => {
  const pair = new Pair().connect();
  pair.client.connection.abandon(pair.now);
  pair.flush();
  assert.deepEqual(
    pair.client.events.slice(-2).map(({ kind }) => kind),
    ['closed', 'drained'],
  );
});
