import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressText, isSameEndpoint, type IpEndpoint } from '@weir/base/ip';
import { address, CLIENT_ADDRESS, Pair } from '../../../../../test/support/quic/pair.ts';
import type { Peer } from '../../../../../test/support/quic/peer.ts';

const NEW_PORT = address('192.0.2.1', 50_000);
const NEW_HOST = address('198.51.100.7', 50_000);

/** From now on the client's datagrams come from another address, and only it is reached. */
function rebind(pair: Pair, to: IpEndpoint): void {
  Object.assign(pair.client, { address: to } satisfies Partial<Pick<Peer, 'address'>>);
  pair.passes = (datagram, towards) => towards === 'server' || isSameEndpoint(datagram.to, to);
}

for (const [name, to] of [
  ['port', NEW_PORT],
  ['host', NEW_HOST],
] as const) {
  test(`a server follows a client to another ${name}, and validates it (RFC 9000 §9.3)`, () => {
    const pair = new Pair({ delay: 20 }).connect();
    const up = pair.client.connection.openStream(true) ?? -1;
    pair.client.send(up, 2_000_000);
    pair.run(() => (pair.server.streams.get(up)?.bytes ?? 0) > 500_000);
    rebind(pair, to);
    pair.run(() => pair.server.streams.get(up)?.end === 'finished');
    assert.ok(isSameEndpoint(pair.server.connection.remote, to));
    const migrated = pair.server.events.find(({ kind }) => kind === 'migrated');
    assert.ok(migrated?.kind === 'migrated' && isSameEndpoint(migrated.remote, to));
  });

  test(`a download goes on after the client has moved to another ${name} (RFC 9000 §9.3)`, () => {
    const pair = new Pair({ delay: 20 }).connect();
    const id = pair.client.connection.openStream(true) ?? -1;
    pair.client.send(id, 10);
    pair.run(() => pair.server.streams.get(id)?.end === 'finished');
    pair.server.send(id, 3_000_000);
    pair.run(() => (pair.client.streams.get(id)?.bytes ?? 0) > 500_000);
    rebind(pair, to);
    pair.run(() => pair.client.streams.get(id)?.end === 'finished', 20_000);
    assert.equal(pair.client.streams.get(id)?.bytes, 3_000_000);
  });
}

test('an address that was forged is left again when it does not respond (RFC 9000 §9.3.2)', () => {
  const pair = new Pair({ delay: 20 }).connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 10);
  pair.flush();
  const [datagram] = pair.flying.splice(0);
  assert.ok(datagram);
  pair.passes = (sent, towards) => towards === 'server' || isSameEndpoint(sent.to, CLIENT_ADDRESS);
  pair.arrive({ ...datagram, from: NEW_HOST }, 'server');
  pair.flush();
  assert.ok(isSameEndpoint(pair.server.connection.remote, NEW_HOST));
  pair.advance(10_000);
  assert.ok(isSameEndpoint(pair.server.connection.remote, CLIENT_ADDRESS));
  assert.equal(pair.server.connection.state, 'confirmed');
  // What was sent there does not disturb recovery: a lost packet is repeated here.
  const lostUntil = pair.now + 50;
  pair.passes = () => pair.now > lostUntil;
  pair.server.send(id, 10);
  pair.run(() => pair.client.streams.get(id)?.end === 'finished', 2000);
});

test('RFC 9000 §9.5: no connection id is used towards two addresses of a client', () => {
  const pair = new Pair({ delay: 20 }).connect();
  pair.advance(1000);
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 10);
  pair.flush();
  const [datagram] = pair.flying.splice(0);
  assert.ok(datagram);
  const usedTowards = new Map<string, Set<string>>();
  pair.passes = ({ data, to }, towards) => {
    if (towards === 'server') return true;
    const used = usedTowards.get(addressText(to)) ?? new Set();
    usedTowards.set(addressText(to), used.add(Buffer.from(data.subarray(1, 9)).toString('hex')));
    return isSameEndpoint(to, CLIENT_ADDRESS);
  };
  // The server moves, probes the former address as well, and comes back to it.
  pair.arrive({ ...datagram, from: NEW_HOST }, 'server');
  pair.advance(10_000);
  assert.ok(isSameEndpoint(pair.server.connection.remote, CLIENT_ADDRESS));
  const towards = [NEW_HOST, CLIENT_ADDRESS].map((to) => usedTowards.get(addressText(to)));
  const [moved, former] = towards as [Set<string>, Set<string>];
  assert.ok(moved.size > 0 && former.size > 0);
  assert.deepEqual([...moved.intersection(former)], []);
  // The ids that are not needed any more are retired, and replaced by the client.
  pair.advance(1000);
  assert.equal(pair.clientIds.live.size, 4);
});

test('an unvalidated address gets at most three times what came from it (RFC 9000 §9.3)', () => {
  const pair = new Pair({ delay: 20 }).connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 10);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
  pair.server.send(id, 5_000_000);
  pair.advance(20);
  pair.client.connection.openStream(true);
  pair.client.send(4, 10);
  pair.flush();
  const mine = pair.flying.findLast(({ towards }) => towards === 'server');
  assert.ok(mine);
  let sent = 0;
  pair.passes = (datagram) => {
    if (!isSameEndpoint(datagram.to, NEW_HOST)) return true;
    sent += datagram.data.length;
    return false;
  };
  pair.arrive({ ...mine, from: NEW_HOST }, 'server');
  pair.advance(100);
  assert.ok(sent > 0 && sent <= 3 * mine.data.length, `${sent} for ${mine.data.length}`);
});

test('a client drops what comes from another address than the server’s (RFC 9000 §9)', () => {
  const pair = new Pair({ delay: 20 }).connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 10);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
  pair.server.send(id, 10);
  pair.flush();
  const [datagram] = pair.flying.splice(0);
  assert.ok(datagram);
  pair.arrive({ ...datagram, from: NEW_HOST }, 'client');
  assert.equal(pair.client.dropped('address'), 1);
});

test('each side has spare connection ids of the other (RFC 9000 §5.1.1)', () => {
  const pair = new Pair({ delay: 20 }).connect();
  pair.advance(1000);
  assert.equal(pair.serverIds.live.size, 4);
  assert.equal(pair.clientIds.live.size, 4);
});

test('a client with an empty id gives no others (RFC 9000 §5.1)', () => {
  const pair = new Pair({ delay: 20, clientIdSize: 0 }).connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 100_000);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
  assert.equal(pair.clientIds.live.size, 1);
  rebind(pair, NEW_HOST);
  pair.server.send(id, 100_000);
  pair.client.send(4, 0);
  pair.client.connection.openStream(true);
  pair.client.send(4, 10);
  pair.run(() => pair.client.streams.get(id)?.end === 'finished');
});
