import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pair } from '../../../support/quic/pair.ts';
import { pattern } from '../../../support/quic/peer.ts';

test('a client and a server complete and confirm the handshake (RFC 9001 §4.1)', () => {
  const pair = new Pair().connect();
  for (const peer of [pair.client, pair.server]) {
    assert.deepEqual(
      peer.events.map(({ kind }) => kind),
      ['established', 'confirmed'],
    );
  }
});

test('a stream carries bytes in both directions and ends (RFC 9000 §2)', () => {
  const pair = new Pair({ delay: 10 }).connect();
  const id = pair.client.connection.openStream(true);
  assert.equal(id, 0);
  pair.client.send(id, 1_000_000);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
  const expected = Buffer.concat(
    Array.from({ length: 62 }, (_, i) => pattern(16_384).subarray(0, i < 61 ? 16_384 : 576)),
  );
  assert.ok(pair.server.received(id).equals(expected));
  pair.server.send(id, 300_000);
  pair.run(() => pair.client.streams.get(id)?.end === 'finished');
  assert.equal(pair.client.streams.get(id)?.bytes, 300_000);
});
