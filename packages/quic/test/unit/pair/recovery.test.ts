import { bbr, cubic, newReno } from '../../../../congestion/src/controllers.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../src/errors.ts';
import { MAX_ACK_RANGES, PINGLESS_PACKETS } from '../../../src/limits.ts';
import { Space, PacketHeader, readPacketHeader } from '../../../src/wire/packet-header.ts';
import { forgeInitial } from '../../../../../test/support/quic/forge.ts';
import { frame, Hostile } from '../../../../../test/support/quic/hostile.ts';
import { CLIENT_ADDRESS, Pair, SERVER_ADDRESS } from '../../../../../test/support/quic/pair.ts';
import type { SeenPacket } from '../../../../../test/support/quic/wire-tap.ts';

const CE = 3;

/** A pair that has found the size of its path and is silent. */
function quietPair(options: ConstructorParameters<typeof Pair>[0] = {}): Pair {
  const pair = new Pair({ delay: 10, watch: 'judged', ...options }).connect();
  pair.advance(5000);
  return pair;
}

const eliciting = (pair: Pair, space: Space = Space.APPLICATION): SeenPacket[] =>
  pair.tap.packets.filter((p) => p.from === 'client' && p.elicits && p.space === space);

for (const { name, loss, jitter, congestion, idle = 0 } of [
  { name: 'loss', loss: 0.05, jitter: 0, congestion: newReno },
  { name: 'much loss', loss: 0.3, jitter: 0, congestion: cubic, idle: 60_000 },
  { name: 'reordering', loss: 0, jitter: 40, congestion: bbr },
  { name: 'both', loss: 0.05, jitter: 15, congestion: newReno },
] as const) {
  test(`recovery over a path with ${name} is what RFC 9002 says`, () => {
    for (let seed = 1; seed <= 2; seed++) {
      const settings = { congestion, idleTimeout: idle };
      const pair = new Pair({
        seed,
        delay: 20,
        watch: 'judged',
        client: settings,
        server: settings,
      }).connect();
      pair.passes = () => !pair.random.chance(loss);
      pair.lateness = () => pair.random.below(jitter + 1);
      const id = pair.client.connection.openStream(true) ?? -1;
      pair.client.send(id, 200_000);
      pair.run(() => pair.server.streams.get(id)?.end === 'finished', 600_000);
      pair.server.send(id, 100_000);
      pair.run(() => pair.client.streams.get(id)?.end === 'finished', 600_000);
    }
  });
}

test('probes repeat the oldest data, at intervals that double (RFC 9002 §6.2)', () => {
  const pair = quietPair();
  pair.passes = () => false;
  const id = pair.client.connection.openStream(true) ?? -1;
  const before = eliciting(pair).length;
  pair.client.send(id, 100);
  const { window } = pair.client.connection.statistics();
  pair.advance(3000);
  const sent = eliciting(pair).slice(before);
  const times = [...new Set(sent.map(({ sentAt }) => sentAt))];
  const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0));
  assert.ok(gaps.length >= 4);
  for (const [i, gap] of gaps.slice(1).entries()) {
    assert.equal(Math.round(gap / (gaps[i] ?? 0)), 2, String(gaps));
  }
  for (const { frames } of sent.slice(0, 2)) assert.equal(frames.at(-1)?.[0], 'stream');
  assert.equal(pair.client.connection.statistics().window, window, 'a timeout is no loss');
  assert.equal(pair.client.connection.statistics().packetsLost, 0);
});

/** A client whose Initial packet has been acknowledged, by nothing but an ACK. */
function acknowledgedClient(): Pair {
  const pair = new Pair({ watch: 'opened', client: { handshakeTimeout: 60_000 } });
  pair.passes = () => false;
  // It has repeated the packet once.
  pair.advance(1000);
  const [first] = eliciting(pair, Space.INITIAL);
  assert.ok(first);
  const keyId = Buffer.from(first.to, 'hex');
  const [clientId = ''] = pair.clientIds.live;
  const last = eliciting(pair, Space.INITIAL).length - 1;
  const data = forgeInitial(
    Buffer.from(clientId, 'hex'),
    Buffer.from('serverid'),
    0,
    Buffer.concat([frame(0x02, [last, 0, 0, last]), Buffer.alloc(1100)]),
    { keyId, token: Buffer.alloc(0) },
  );
  pair.now += 50;
  pair.arrive({ data, from: SERVER_ADDRESS, to: CLIENT_ADDRESS, ecn: 0 }, 'client');
  return pair;
}

test('a client probes with nothing in flight until the server has its address (RFC 9002 §6.2.2.1)', () => {
  const pair = acknowledgedClient();
  const before = eliciting(pair, Space.INITIAL).length;
  const start = pair.now;
  pair.advance(3000);
  const probes = eliciting(pair, Space.INITIAL).slice(before);
  assert.equal(probes[0]?.frames[0]?.[0], 'ping');
  // An acknowledged Initial packet does not end the backoff: the round trip was 51 ms.
  const times = [...new Set(probes.map(({ sentAt }) => sentAt - start))];
  assert.deepEqual(times.slice(0, 3), [6 * 51, 18 * 51, 42 * 51]);
});

test('a client with Handshake keys probes with a Handshake packet (RFC 9002 §6.2.2.1)', () => {
  const pair = new Pair({ delay: 25, watch: 'opened' });
  const header = new PacketHeader();
  pair.passes = (datagram, towards) => {
    if (towards === 'server' || pair.now > 1025) return pair.now < 1010;
    // The client gets the ServerHello, and none of the Handshake packets behind it.
    readPacketHeader(datagram.data, 0, datagram.data.length, 8, header);
    Object.assign(datagram, { data: datagram.data.subarray(0, header.end) });
    return true;
  };
  pair.advance(2000);
  const probes = eliciting(pair, Space.HANDSHAKE);
  assert.ok(probes.some(({ frames }) => frames.some(([name]) => name === 'ping')));
  pair.passes = () => true;
  pair.connect();
});

test('discarded keys end the backoff, and data waits for the handshake to be confirmed (RFC 9002 §6.2.1, §6.2.2)', () => {
  const pair = new Pair({ delay: 50, watch: 'opened', client: { handshakeTimeout: 60_000 } });
  // The first flight is lost, which doubles the timeout.
  pair.passes = () => pair.now > 1500;
  pair.run(() => pair.client.connection.state === 'established');
  pair.flying.length = 0;
  pair.passes = (_, towards) => towards === 'client';
  pair.client.send(pair.client.connection.openStream(true) ?? -1, 10);
  pair.advance(4000);
  const times = [...new Set(eliciting(pair, Space.HANDSHAKE).map(({ sentAt }) => sentAt))];
  const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0));
  assert.deepEqual(gaps.slice(0, 3), [300, 600, 1200], 'three round trips without variation');
  assert.equal(new Set(eliciting(pair).map(({ sentAt }) => sentAt)).size, 1);
});

test('a server at its amplification limit does not count timeouts (RFC 9002 §6.2.2.1)', () => {
  const patient = { handshakeTimeout: 60_000, idleTimeout: 0 };
  const pair = new Pair({ delay: 10, watch: 'opened', client: patient, server: patient });
  pair.passes = (_, towards) => towards === 'server' && pair.now < 1010;
  pair.advance(20_000);
  const sent = pair.sent.filter(({ towards }) => towards === 'client');
  const bytes = sent.reduce((sum, { size }) => sum + size, 0);
  assert.ok(bytes > 2 * 2400 && bytes <= 3 * 2400, `${bytes} bytes`);
  const probes = pair.server.trace.filter(({ kind }) => kind === 'probe').length;
  assert.ok(probes <= 2, `${probes} probe timeouts`);
  pair.passes = () => true;
  pair.run(() => pair.client.connection.state === 'confirmed', 30_000);
});

test('the window collapses after three probe timeouts without anything (RFC 9002 §7.6)', () => {
  for (const [silence, isPersistent] of [
    [10, false],
    [1500, true],
  ] as const) {
    const settings = { congestion: newReno } as const;
    const pair = quietPair({ client: settings });
    const id = pair.client.connection.openStream(true) ?? -1;
    pair.client.send(id, 200_000);
    pair.run(() => (pair.server.streams.get(id)?.bytes ?? 0) > 100_000);
    const from = pair.now;
    pair.passes = (_, towards) => towards === 'client' || pair.now > from + silence;
    const { packetsLost } = pair.client.connection.statistics();
    pair.run(() => pair.client.connection.statistics().packetsLost > packetsLost + 1);
    const { window, datagramSize } = pair.client.connection.statistics();
    assert.equal(window < 5 * datagramSize, isPersistent, `${window} after ${silence} ms`);
  }
});

test('losses over three probe timeouts, and no fewer, begin the round trip anew (RFC 9002 §7.6.2)', () => {
  for (let silence = 40; silence < 400; silence += 20) {
    const pair = quietPair({ client: { congestion: newReno } });
    const { connection } = pair.client;
    const id = connection.openStream(true) ?? -1;
    pair.passes = (_, towards) => towards === 'client';
    for (let ms = 0; ms < silence; ms += 10) {
      connection.write(id, Buffer.alloc(100));
      pair.advance(10);
    }
    // With another round trip the least one shows whether it was taken anew.
    pair.delay = 30;
    pair.passes = () => true;
    connection.write(id, Buffer.alloc(100));
    pair.advance(1000);
  }
});

test('what was lost before the first round trip was known is no persistent congestion (RFC 9002 §7.6.2)', () => {
  const pair = new Pair({ delay: 10, watch: 'judged', client: { congestion: newReno } });
  pair.passes = () => pair.now > 5000;
  pair.run(() => pair.client.connection.statistics().packetsLost > 0);
  const { window } = pair.client.connection.statistics();
  assert.ok(window > 4 * 1200, `${window} bytes`);
});

test('lost probes of the MTU are no congestion (RFC 9000 §14.4)', () => {
  const pair = new Pair({ delay: 10, watch: 'judged', client: { congestion: newReno } });
  pair.passes = ({ data }) => data.length <= 1400;
  pair.connect();
  const { window } = pair.client.connection.statistics();
  pair.advance(20_000);
  const after = pair.client.connection.statistics();
  assert.ok(after.packetsLost > 0 && after.window >= window);
});

test('the round trip is measured anew on the path to another host, not to another port (RFC 9000 §9.4)', () => {
  for (const [host, isNew] of [
    ['198.51.100.7', true],
    ['192.0.2.1', false],
  ] as const) {
    const pair = quietPair({ watch: 'opened', delay: 100 });
    Object.assign(pair.client, { address: Pair.address(host, 7) });
    pair.delay = 10;
    const id = pair.client.connection.openStream(true) ?? -1;
    pair.client.send(id, 10);
    pair.run(() => pair.server.streams.get(id)?.end === 'finished');
    pair.server.send(id, 10);
    pair.advance(60);
    const { smoothedRtt } = pair.server.connection.statistics();
    assert.equal(smoothedRtt < 50, isNew, `${smoothedRtt} ms`);
  }
});

test('who only acknowledges asks for an acknowledgement at times (RFC 9000 §13.2.4)', () => {
  const hostile = new Hostile('server');
  const acksUntilPing = (): number => {
    for (let packets = 1; packets < 200; packets++) {
      hostile.send(frame(0x01));
      if (hostile.take('ping').length > 0) return packets / 2;
    }
    return Infinity;
  };
  acksUntilPing();
  assert.equal(acksUntilPing(), PINGLESS_PACKETS + 1);
});

test('an acknowledgement of a number that was skipped closes a connection (RFC 9000 §21.4)', () => {
  const hostile = new Hostile('client');
  const { pair, victim } = hostile;
  const numbers = (): number[] =>
    pair.tap.packets.filter((p) => p.from === 'server' && p.space === 2).map((p) => p.number);
  const gap = (): number =>
    numbers().findIndex((n, i, all) => i > 0 && n !== (all[i - 1] ?? 0) + 1);
  const id = victim.connection.openStream(false) ?? -1;
  victim.send(id, 1e9);
  for (let round = 0; gap() < 0; round++) {
    assert.ok(round < 1000);
    const newest = numbers().at(-1) ?? 0;
    hostile.send(frame(0x02, [newest, 0, 0, newest]));
    hostile.send(frame(0x11, [id, 1e9]));
    pair.advance(10);
  }
  assert.equal(hostile.code, undefined);
  const newest = numbers().at(-1) ?? 0;
  const skipped = (numbers()[gap()] ?? 0) - 1;
  // It does not bring the packet before it nearer to the threshold of three packets (RFC 9002 §6.1.1).
  const lost = (): number => victim.connection.statistics().packetsLost;
  assert.ok(newest >= skipped + 3 && lost() === 0);
  hostile.send(frame(0x02, [skipped + 2, 0, 1, 0, 2, skipped - 2]));
  assert.equal(lost(), 0);
  hostile.send(frame(0x02, [skipped + 3, 0, 0, 0]));
  assert.equal(lost(), 1);
  hostile.send(frame(0x02, [newest, 0, 0, newest - skipped - 1]));
  assert.equal(hostile.code, undefined, 'what came after it');
  hostile.send(frame(0x02, [newest, 0, 0, newest - skipped]));
  assert.equal(hostile.code, TransportErrorCode.PROTOCOL_VIOLATION);
});

test('acknowledgements have a bounded number of ranges, and forget what the peer knows (RFC 9000 §13.2.3)', () => {
  const hostile = new Hostile('client');
  for (let i = 0; i < MAX_ACK_RANGES + 10; i++) {
    hostile.forger.skip();
    hostile.take();
    hostile.send(frame(0x01));
  }
  const first = 10_000 + 2 * (MAX_ACK_RANGES + 10) - 1;
  const ranges = hostile.take('ackRange');
  assert.equal(ranges.length, MAX_ACK_RANGES);
  assert.equal(ranges[0], `ackRange ${first} ${first}`);
  assert.equal(
    ranges.at(-1),
    `ackRange ${first - 2 * (MAX_ACK_RANGES - 1)} ${first - 2 * (MAX_ACK_RANGES - 1)}`,
  );
  // One that would be the oldest is not taken.
  hostile.forger.skip(-2 * (MAX_ACK_RANGES + 5));
  hostile.send(frame(0x01));
  const again = hostile.take('ackRange');
  assert.deepEqual(
    [again[0], again.length, again.at(-1)],
    [ranges[0], ranges.length, ranges.at(-1)],
  );
  hostile.forger.skip(2 * (MAX_ACK_RANGES + 5) - 1);
  const { packets } = hostile.pair.tap;
  const newest = packets.findLast(({ from }) => from === 'server')?.number ?? -1;
  hostile.forger.skip(5);
  hostile.send(frame(0x02, [newest, 0, 0, 0]));
  hostile.send(frame(0x01));
  hostile.pair.advance(25);
  const [one, ...others] = hostile.take('ackRange');
  assert.equal(one, `ackRange ${first + 6} ${first + 7}`);
  assert.deepEqual(others, [`ackRange ${first} ${first}`], 'the peer knows of the others');
});

test('a mark of congestion is acknowledged at once, and marks are counted by kind (RFC 9000 §13.2.1, §13.4.1)', () => {
  const hostile = new Hostile('client');
  hostile.send(frame(0x01));
  hostile.pair.advance(25);
  hostile.take();
  hostile.send(frame(0x01));
  assert.deepEqual(hostile.take('ackStart'), [], 'one packet can wait');
  hostile.pair.advance(25);
  hostile.take();
  hostile.send(frame(0x01), { ecn: CE });
  assert.deepEqual(hostile.take('ackEnd'), ['ackEnd true 0 0 1']);
  for (const ecn of [2, 2, 1, 3] as const) hostile.send(frame(0x01), { ecn });
  hostile.pair.advance(25);
  assert.equal(hostile.take('ackEnd').at(-1), 'ackEnd true 2 1 2');
});

/** Loses every packet from now on. Returns the live list of their ECN codepoints. */
function lostMarks(pair: Pair): readonly number[] {
  const marks: number[] = [];
  pair.passes = ({ ecn }) => {
    marks.push(ecn);
    return false;
  };
  return marks;
}

/** Returns the number of the server's newest packet, and the counts in the client's last acknowledgement. */
function lastSeen({ tap }: Pair): { newest: number; ect0: number; ce: number } {
  const newest = tap.packets.findLast(({ from }) => from === 'server')?.number ?? -1;
  const [, , ect0 = 0, , ce = 0] = tap.packets
    .filter(({ from, space }) => from === 'client' && space === Space.APPLICATION)
    .flatMap(({ frames }) => frames)
    .findLast(([kind]) => kind === 'ackEnd') as unknown as readonly number[];
  return { newest, ect0, ce };
}

/** What a peer counts more of than before when it acknowledges a marked packet, and whether marks go on. */
for (const [name, more, goesOn] of [
  ['the marks that were sent', [1, 0, 0], true],
  ['some of them as congestion', [0, 0, 1], true],
  ['more marks than packets', [500, 0, 0], false],
  ['fewer marks than packets', [0, 0, 0], false],
  ['fewer than before', [-1, 0, 2], false],
  ['the other codepoint', [1, 1, 0], false],
  ['no marks', undefined, false],
] as const) {
  test(`marks ${goesOn ? 'go on' : 'end'} when a peer reports ${name} (RFC 9000 §13.4.2)`, () => {
    const hostile = new Hostile('client', { server: { ecn: true, congestion: newReno } });
    const { pair, victim } = hostile;
    const marks = lostMarks(pair);
    const id = victim.connection.openStream(false) ?? -1;
    victim.send(id, 1000, 1000, false);
    pair.flush();
    assert.equal(marks.at(-1), 2);
    const { newest, ect0, ce } = lastSeen(pair);
    const counts = more && [ect0 + more[0], more[1], ce + more[2]];
    const { window } = victim.connection.statistics();
    hostile.send(frame(counts ? 0x03 : 0x02, [newest, 0, 0, 0, ...(counts ?? [])]));
    victim.send(id, 1000, 1000, false);
    pair.flush();
    assert.equal(marks.at(-1), goesOn ? 2 : 0);
    if (goesOn && more[2] > 0) assert.ok(victim.connection.statistics().window < window);
  });
}

test('an acknowledgement that comes late, without counts, ends no marks (RFC 9000 §13.4.2.1)', () => {
  const hostile = new Hostile('client', { server: { ecn: true } });
  const { pair, victim } = hostile;
  const marks = lostMarks(pair);
  const id = victim.connection.openStream(false) ?? -1;
  victim.send(id, 3000, 1000, false);
  pair.flush();
  const { newest, ect0 } = lastSeen(pair);
  hostile.send(frame(0x03, [newest, 0, 0, 0, ect0 + 1, 0, 0]));
  hostile.send(frame(0x02, [newest - 1, 0, 0, 0]));
  victim.send(id, 1000, 1000, false);
  pair.flush();
  assert.equal(marks.at(-1), 2);
});
