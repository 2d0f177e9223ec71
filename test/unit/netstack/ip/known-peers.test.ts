import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownPeers } from '../../../../src/netstack/ip/known-peers.ts';
import { KNOWN_PEERS } from '../../../../src/netstack/limits.ts';
import { endpoint } from '../../../support/data/ip-packets.ts';

test('a peer is found by its numbers, once it is known', () => {
  const peers = new KnownPeers();
  const one = endpoint('192.0.2.1', 53);
  assert.equal(peers.find(one), undefined);
  const known = peers.known(one);
  assert.deepEqual(known, {
    text: { host: '192.0.2.1', port: 53 },
    numbers: one,
    isChecked: false,
    isSent: false,
  });
  assert.notEqual(known.numbers, one, 'a copy: the endpoint may be reused');
  assert.equal(peers.find(endpoint('192.0.2.1', 53)), known);
  assert.equal(peers.known(endpoint('192.0.2.1', 53)), known);
  assert.equal(peers.find(endpoint('192.0.2.1', 54)), undefined);
  assert.equal(peers.find(endpoint('192.0.2.2', 53)), undefined);
});

test('a peer is found by its text, once it is known', () => {
  const peers = new KnownPeers();
  const numbers = peers.numbers({ host: '2001:db8::1', port: 443 });
  assert.deepEqual(numbers, endpoint('2001:db8::1', 443));
  assert.equal(peers.numbers({ host: '2001:db8::1', port: 443 }), numbers);
  assert.equal(peers.find(endpoint('2001:db8::1', 443))?.numbers, numbers);
  assert.notEqual(peers.numbers({ host: '2001:db8::1', port: 444 }), numbers);
  assert.notEqual(peers.numbers({ host: '2001:db8::2', port: 443 }), numbers);
});

test('a name, and a port that is none, have no numbers', () => {
  const peers = new KnownPeers();
  for (const [host, port] of [
    ['peer.example', 53],
    ['192.0.2.1', 0],
    ['192.0.2.1', -1],
    ['192.0.2.1', 65_536],
  ] as const) {
    assert.equal(peers.numbers({ host, port }), undefined);
  }
  assert.equal(peers.find(endpoint('192.0.2.1', 0)), undefined);
  assert.deepEqual(
    peers.numbers({ host: '192.0.2.1', port: 65_535 }),
    endpoint('192.0.2.1', 65_535),
  );
  assert.deepEqual(peers.numbers({ host: '192.0.2.1', port: 1 }), endpoint('192.0.2.1', 1));
});

test('of too many peers the oldest is forgotten', () => {
  const peers = new KnownPeers();
  const peer = (index: number) => endpoint('192.0.2.1', 1000 + index);
  for (let index = 0; index < KNOWN_PEERS; index++) peers.known(peer(index));
  for (let index = 0; index < KNOWN_PEERS; index++) assert.ok(peers.find(peer(index)));
  peers.known(peer(KNOWN_PEERS));
  assert.equal(peers.find(peer(0)), undefined);
  peers.numbers({ host: '192.0.2.1', port: 9 });
  assert.equal(peers.find(peer(1)), undefined);
  for (let index = 2; index <= KNOWN_PEERS; index++) assert.ok(peers.find(peer(index)));
});
