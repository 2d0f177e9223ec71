import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_RESPONSES } from '../../../src/limits.ts';
import { isSameEndpoint } from '@weir/base/ip';
import { frame, Hostile } from '../../../../../test/support/quic/hostile.ts';
import { address, CLIENT_ADDRESS, Pair } from '../../../../../test/support/quic/pair.ts';

const NEW_HOST = address('198.51.100.7', 50_000);
const idOf = (n: number): Buffer => Buffer.alloc(8, n + 1);
const tokenOf = (n: number): Buffer => Buffer.alloc(16, n + 101);
const newId = (n: number, retirePriorTo = 0): Buffer =>
  frame(0x18, [n, retirePriorTo, 8], [...idOf(n), ...tokenOf(n)]);

/** The destination of the victim's last packet. */
const addressed = ({ pair: { tap } }: Hostile): string | undefined =>
  tap.packets.findLast(({ from }) => from === 'server')?.to;

/** Data of the challenges that the victim has sent. */
const challenges = ({ pair: { tap } }: Hostile): Buffer[] =>
  tap.packets
    .filter(({ from }) => from === 'server')
    .flatMap(({ frames }) => frames)
    .flatMap(([name, data]) => (name === 'pathChallenge' ? [data as Buffer] : []));

test('Retire Prior To retires ids, and the one in use is replaced (RFC 9000 §5.1.2)', () => {
  const hostile = new Hostile();
  hostile.send(newId(10, 9));
  hostile.pair.advance(30);
  assert.deepEqual(
    hostile.take('retireConnectionId').slice(0, 4).sort(),
    [0, 1, 2, 3].map((n) => `retireConnectionId ${n}`),
  );
  assert.equal(addressed(hostile), idOf(10).toString('hex'));
  // One that was delayed is retired at once (§19.15), and is not used.
  hostile.send(newId(8));
  assert.ok(hostile.take('retireConnectionId').includes('retireConnectionId 8'));
  assert.equal(addressed(hostile), idOf(10).toString('hex'));
});

test('a retirement that is lost is repeated until it is acknowledged (RFC 9000 §13.3)', () => {
  const hostile = new Hostile();
  const { pair } = hostile;
  hostile.send(newId(10, 1));
  for (let round = 0; round < 2; round++) {
    assert.ok(hostile.take('retireConnectionId').includes('retireConnectionId 0'));
    pair.advance(round === 0 ? 200 : 0);
  }
  const newest = pair.tap.packets.findLast(({ from }) => from === 'server')?.number ?? -1;
  hostile.send(frame(0x02, [newest, 0, 0, 20]));
  hostile.take();
  pair.advance(1000);
  assert.deepEqual(hostile.take('retireConnectionId'), []);
});

test('an id that the peer retires is released and replaced (RFC 9000 §5.1.1)', () => {
  const hostile = new Hostile();
  const { live } = hostile.pair.serverIds;
  const before = [...live];
  for (const [sequence, next] of [
    [1, 4],
    [2, 5],
    [2, undefined],
  ] as const) {
    hostile.send(frame(0x19, [sequence]));
    const announced = hostile.take('newConnectionId');
    assert.equal(announced[0]?.split(' ')[1], next === undefined ? undefined : String(next));
  }
  assert.equal(live.size, 4);
  assert.deepEqual(
    [...live].filter((id) => before.includes(id)),
    [before[0], before[3]],
  );
});

test('the tokens of ids in use reset a connection, and no others (RFC 9000 §10.3.1)', () => {
  const hostile = new Hostile();
  const isReset = (n: number, size = 30): boolean =>
    hostile.victim.connection.isStatelessReset(
      Buffer.concat([Buffer.alloc(50), tokenOf(n)]),
      66 - size,
      size,
    );
  hostile.send(newId(10, 10));
  hostile.send(newId(11));
  assert.deepEqual([isReset(10), isReset(11)], [true, false]);
  assert.deepEqual([isReset(10, 21), isReset(10, 20)], [true, false], 'of 21 bytes at least');
  // The peer moves: the path before keeps its id for a while.
  hostile.send(frame(0x01), { from: NEW_HOST });
  assert.deepEqual([isReset(10), isReset(11)], [true, true]);
  for (const data of challenges(hostile)) {
    hostile.send(frame(0x1b, [], [...data]), { from: NEW_HOST });
  }
  hostile.pair.advance(5000);
  assert.deepEqual([isReset(10), isReset(11)], [false, true]);
});

test('packets that only probe leave the path in use as it is (RFC 9000 §9.1)', () => {
  const hostile = new Hostile();
  const { pair } = hostile;
  const to: boolean[] = [];
  pair.passes = (datagram) => {
    to.push(isSameEndpoint(datagram.to, NEW_HOST));
    return false;
  };
  hostile.send(frame(0x1a, [], [1, 2, 3, 4, 5, 6, 7, 8]), { from: NEW_HOST });
  assert.equal(to[0], true, 'the answer leaves on the path of its challenge (§8.2.2)');
  assert.deepEqual(hostile.take('pathResponse'), ['pathResponse 8']);
  assert.ok(isSameEndpoint(hostile.victim.connection.remote, CLIENT_ADDRESS));
});

test('what is sent on a path that is not in use measures and counts nothing (RFC 9000 §9.4)', () => {
  const hostile = new Hostile();
  const { connection } = hostile.victim;
  hostile.pair.advance(1000);
  const { smoothedRtt, inFlight } = connection.statistics();
  hostile.send(frame(0x1a, [], [1, 2, 3, 4, 5, 6, 7, 8]), { from: NEW_HOST });
  const answer = hostile.pair.tap.packets.findLast(
    ({ frames }) => frames[0]?.[0] === 'pathResponse',
  );
  assert.equal(connection.statistics().inFlight, inFlight);
  hostile.pair.advance(400);
  hostile.send(frame(0x02, [answer?.number ?? -1, 0, 0, 0]));
  assert.equal(connection.statistics().smoothedRtt, smoothedRtt);
});

test('of many challenges at once the newest are answered, each once (RFC 9000 §8.2.2)', () => {
  const hostile = new Hostile();
  const data = Array.from({ length: MAX_RESPONSES + 3 }, (_, i) => Buffer.alloc(8, i));
  hostile.send(Buffer.concat(data.map((bytes) => frame(0x1a, [], [...bytes]))));
  hostile.pair.advance(100);
  const answers = hostile.pair.tap.packets
    .flatMap(({ frames }) => frames)
    .filter(([name]) => name === 'pathResponse');
  assert.deepEqual(
    answers.map(([, answer]) => answer),
    data.slice(-MAX_RESPONSES),
  );
});

test('challenges have other data each time, and any of them may be answered (RFC 9000 §8.2.1)', () => {
  const hostile = new Hostile();
  hostile.send(Buffer.concat([frame(0x01), Buffer.alloc(1200)]), { from: NEW_HOST });
  hostile.pair.advance(1500);
  const sent = challenges(hostile);
  assert.ok(sent.length >= 4, 'two paths, twice each at least');
  assert.equal(new Set(sent.map((data) => data.toString('hex'))).size, sent.length);
  const validated = (): number =>
    hostile.victim.trace.filter((e) => e.kind === 'path' && e.change === 'validated').length;
  hostile.send(frame(0x1b, [], [9, 9, 9, 9, 9, 9, 9, 9]), { from: NEW_HOST });
  assert.equal(validated(), 0);
  for (const data of sent.slice(0, 2)) hostile.send(frame(0x1b, [], [...data]), { from: NEW_HOST });
  assert.equal(validated(), 2);
});

test('a small challenge validates an address, and another one the size of its path (RFC 9000 §8.2.1)', () => {
  const hostile = new Hostile();
  const { pair } = hostile;
  const sizes: number[] = [];
  pair.passes = ({ to, data }) => {
    if (isSameEndpoint(to, NEW_HOST)) sizes.push(data.length);
    return false;
  };
  // What comes from the new address permits no datagram of 1,200 bytes to it.
  hostile.send(Buffer.concat([frame(0x01), Buffer.alloc(40)]), { from: NEW_HOST });
  assert.ok(sizes.length > 0 && sizes.every((size) => size < 250), String(sizes));
  sizes.length = 0;
  for (const data of challenges(hostile))
    hostile.send(frame(0x1b, [], [...data]), { from: NEW_HOST });
  assert.ok(sizes.includes(1200), String(sizes));
});

test('through many addresses that do not answer the last valid one is kept (RFC 9000 §9.3.2)', () => {
  const hostile = new Hostile();
  for (let i = 1; i <= 10; i++) hostile.send(frame(0x01), { from: address(`203.0.113.${i}`, i) });
  const { connection, trace } = hostile.victim;
  assert.ok(isSameEndpoint(connection.remote, address('203.0.113.10', 10)));
  hostile.pair.advance(12_000);
  assert.ok(isSameEndpoint(connection.remote, CLIENT_ADDRESS));
  const failed = trace.filter((event) => event.kind === 'path' && event.change === 'failed').length;
  assert.ok(failed <= 1);
  // Few of them are remembered: a packet from one of the first makes a path anew.
  hostile.take();
  hostile.send(frame(0x01), { from: address('203.0.113.1', 1) });
  assert.equal(connection.remote.port, 1);
});

test('before the handshake is confirmed there is no other path (RFC 9000 §9)', () => {
  const pair = new Pair({ delay: 10 });
  pair.advance(10);
  pair.flush();
  pair.advance(11);
  const ours = pair.flying.filter(({ towards }) => towards === 'server');
  pair.flying.length = 0;
  assert.ok(ours.length > 0);
  for (const datagram of ours) pair.arrive({ ...datagram, from: NEW_HOST }, 'server');
  assert.ok(pair.server.dropped('address') > 0 || pair.server.dropped('no-keys') > 0);
  assert.ok(isSameEndpoint(pair.server.connection.remote, CLIENT_ADDRESS));
});
