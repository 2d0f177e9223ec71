import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../../src/quic/errors.ts';
import { Pair, type PairOptions } from '../../../support/quic/pair.ts';
import type { Peer } from '../../../support/quic/peer.ts';

const updates = ({ trace }: Peer): number =>
  trace.filter(({ kind }) => kind === 'key-update').length;

/** As many bytes in each direction. */
function exchange(options: PairOptions, losses = 0): Pair {
  const pair = new Pair({ delay: 10, watch: 'judged', ...options }).connect();
  pair.passes = () => !pair.random.chance(losses);
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 300_000);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
  pair.server.send(id, 300_000);
  pair.run(() => pair.client.streams.get(id)?.end === 'finished');
  return pair;
}

for (const role of ['client', 'server'] as const) {
  test(`a ${role} updates its keys and its peer follows (RFC 9001 §6)`, () => {
    const pair = exchange({ [`${role}Options`]: { keyLimits: { updateAfter: 100 } } });
    assert.ok(updates(pair[role]) >= 1, `${updates(pair[role])} updates`);
    assert.equal(updates(pair.client), updates(pair.server));
  });
}

test('both sides update their keys on a path that loses and reorders (RFC 9001 §6.4)', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const often = { keyLimits: { updateAfter: 20 } };
    const pair = exchange({ seed, clientOptions: often, serverOptions: often }, 0.05);
    assert.ok(updates(pair.client) >= 1);
  }
});

test('a connection whose keys have sealed as many packets as they may is closed (RFC 9001 §6.6)', () => {
  const keyLimits = { updateAfter: Infinity, confidentiality: 200 };
  const pair = new Pair({ delay: 10, clientOptions: { keyLimits } }).connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 300_000);
  pair.run(() => pair.server.connection.closeReason !== undefined);
  const { AEAD_LIMIT_REACHED } = TransportErrorCode;
  assert.equal(pair.server.connection.closeReason?.code, AEAD_LIMIT_REACHED);
});

test('too many forged packets close a connection (RFC 9001 §6.6)', () => {
  const pair = new Pair({
    delay: 10,
    serverOptions: { keyLimits: { integrity: 50 } },
  }).connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 10);
  pair.flush();
  const [datagram] = pair.flying;
  assert.ok(datagram);
  for (let n = 0; n < 50; n++) {
    const data = Uint8Array.from(datagram.data);
    data[20 + (n % 10)] = (data[20 + (n % 10)] ?? 0) ^ (n + 1);
    pair.arrive({ ...datagram, data }, 'server');
  }
  const { AEAD_LIMIT_REACHED } = TransportErrorCode;
  assert.equal(pair.server.connection.closeReason?.code, AEAD_LIMIT_REACHED);
});
