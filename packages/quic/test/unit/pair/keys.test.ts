import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../src/errors.ts';
import { frame, Hostile } from '../../../../../test/support/quic/hostile.ts';
import {
  CLIENT_ADDRESS,
  Pair,
  SERVER_ADDRESS,
  type PairOptions,
} from '../../../../../test/support/quic/pair.ts';
import type { Peer } from '../../../../../test/support/quic/peer.ts';
import type { SeenPacket } from '../../../../../test/support/quic/wire-tap.ts';

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

test('an update waits for an acknowledgement of what was sent since the last one (RFC 9001 §6.1)', () => {
  const hostile = new Hostile('client', { serverOptions: { keyLimits: { updateAfter: 40 } } });
  const { packets } = hostile.pair.tap;
  const newest = (phase: number): SeenPacket | undefined =>
    packets.findLast((packet) => packet.from === 'server' && packet.phase === phase);
  const phase = (): number | undefined => packets.findLast(({ from }) => from === 'server')?.phase;
  const ping = (times: number): void => {
    for (let i = 0; i < times; i++) hostile.send(frame(0x01));
  };
  ping(100);
  assert.equal(phase(), 1);
  const old = newest(0)?.number ?? -1;
  hostile.forger.updateKeys();
  ping(1);
  // Longer than the keys before are kept.
  hostile.pair.advance(1000);
  ping(100);
  hostile.send(frame(0x02, [old, 0, 0, 0]));
  ping(100);
  assert.equal(phase(), 1, 'only the phase before was acknowledged');
  hostile.send(frame(0x02, [newest(1)?.number ?? -1, 0, 0, 0]));
  ping(2);
  assert.equal(phase(), 0);
});

test('an update waits until the keys before the last one are gone (RFC 9001 §6.5)', () => {
  const hostile = new Hostile('client', { serverOptions: { keyLimits: { updateAfter: 40 } } });
  const { pair, victim, forger } = hostile;
  const updateAndAcknowledge = (): void => {
    const newest = pair.tap.packets.findLast(({ from }) => from === 'server')?.number ?? -1;
    hostile.send(frame(0x02, [newest, 0, 0, 0]));
    for (let i = 0; i < 100; i++) hostile.send(frame(0x01));
  };
  forger.updateKeys();
  hostile.send(frame(0x01));
  hostile.send(frame(0x01));
  updateAndAcknowledge();
  assert.equal(updates(victim), 1);
  pair.advance(1000);
  updateAndAcknowledge();
  assert.equal(updates(victim), 2);
});

test('packets from before an update open for three probe timeouts, and not after (RFC 9001 §6.5)', () => {
  const hostile = new Hostile();
  const { pair, victim, forger } = hostile;
  const held = [forger.seal(frame(0x01)), forger.seal(frame(0x01))];
  forger.updateKeys();
  hostile.send(frame(0x01));
  for (const [i, data] of held.entries()) {
    assert.ok(data);
    pair.arrive({ data, from: CLIENT_ADDRESS, to: SERVER_ADDRESS, ecn: 0 }, 'server');
    assert.equal(victim.dropped('authentication'), i);
    pair.advance(500);
  }
});
