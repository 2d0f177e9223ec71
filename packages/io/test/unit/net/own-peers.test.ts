import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  OwnListeners,
  type DialOrigin,
  type OwnInbound,
  OwnPeers,
} from '../../../src/net/own-listeners.ts';
import { UdpLink } from '../../../src/net/sockets/node/udp-socket.ts';

const PORT = 4433;
const peer = (host: string, port = PORT) => ({ host, port });
const listener = (inbound: string, network: 'tcp' | 'udp', host = '0.0.0.0'): OwnInbound => ({
  inbound,
  endpoint: { host, port: PORT },
  network,
});
const from = (inbound: string): DialOrigin => ({
  inbound,
  source: '127.0.0.1',
  session: undefined,
});

async function peersOf(own: OwnListeners, inbound: string) {
  const socket = await UdpLink.bind({ family: 6 });
  const refused: string[] = [];
  const peers = new OwnPeers(own, from(inbound), socket, ({ code }, { host }) =>
    refused.push(`${code} ${host}`),
  );
  return { socket, peers, refused };
}

test('datagrams are not sent to the inbound that they came in by, and to others they are', async () => {
  const own = new OwnListeners();
  own.setInbounds([listener('in', 'udp')]);
  const { socket, peers, refused } = await peersOf(own, 'in');
  assert.ok(!peers.allows(peer('127.0.0.1')));
  assert.ok(!peers.allows(peer('127.0.0.1')));
  assert.ok(peers.allows(peer('192.0.2.1')));
  assert.ok(peers.allows(peer('127.0.0.1', PORT + 1)));
  assert.deepEqual(refused, ['loop 127.0.0.1']);
  own.setInbounds([listener('other', 'udp')]);
  assert.ok(peers.allows(peer('127.0.0.1')));
  socket.close();
});

test('a TCP listener of that port is another place', async () => {
  const own = new OwnListeners();
  own.setInbounds([listener('in', 'tcp')]);
  const { socket, peers } = await peersOf(own, 'in');
  assert.ok(peers.allows(peer('127.0.0.1')));
  assert.throws(() => own.check(peer('127.0.0.1'), from('in'), true), { code: 'loop' });
  socket.close();
});

test('a client that is an own socket inherits, until that is closed', async () => {
  const own = new OwnListeners();
  own.setInbounds([listener('other', 'udp')]);
  const { socket, peers } = await peersOf(own, 'in');
  const chainOf = (host: string, port = socket.local.port) =>
    own.chainOf({ host, port }, undefined, 'udp');
  assert.equal(chainOf('127.0.0.1'), undefined);
  assert.ok(peers.allows(peer('127.0.0.1')));
  assert.deepEqual(chainOf('127.0.0.1'), { hops: 1, foreign: false });
  assert.deepEqual(chainOf('::1'), { hops: 1, foreign: false });
  // Another host may use the same port, and so may a TCP connection.
  assert.equal(chainOf('192.0.2.1'), undefined);
  assert.equal(chainOf('127.0.0.1', socket.local.port + 1), undefined);
  const sameNumber = { host: '127.0.0.1', port: socket.local.port };
  assert.equal(own.chainOf(sameNumber, peer('127.0.0.1'), 'tcp'), undefined);
  assert.equal(own.chainOf(sameNumber, peer('127.0.0.1', PORT + 1), 'udp'), undefined);
  socket.close();
  await socket.closed;
  assert.equal(chainOf('127.0.0.1'), undefined);
});
