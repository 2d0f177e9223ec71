import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownPeers } from '../../../src/flows/udp-flow.ts';
import { KNOWN_PEERS } from '../../../src/limits.ts';
import { endpoint } from '../../../../../test/support/data/ip-packets.ts';

test('a peer is the same object by its numbers and its text, until too many others are known', () => {
  const peers = new KnownPeers();
  const peer = (index: number) => endpoint('2001:db8::1', 1000 + index);
  const text = (index: number) => ({ host: '2001:db8::1', port: 1000 + index });
  assert.equal(peers.find(peer(0)), undefined);
  const known = peers.known(peer(0));
  const { numbers } = known;
  assert.deepEqual(known, { text: text(0), numbers: peer(0), isChecked: false, isSent: false });
  assert.equal(peers.known(peer(0)), known);
  assert.equal(peers.numbers(text(0)), numbers);
  for (let index = 1; index < KNOWN_PEERS; index++) peers.numbers(text(index));
  for (let index = 0; index < KNOWN_PEERS; index++) assert.ok(peers.find(peer(index)));
  // The oldest is forgotten.
  peers.known(peer(KNOWN_PEERS));
  assert.equal(peers.find(peer(0)), undefined);
  peers.numbers({ host: '192.0.2.1', port: 9 });
  assert.equal(peers.find(peer(1)), undefined);
  for (let index = 2; index <= KNOWN_PEERS; index++) assert.ok(peers.find(peer(index)));
});

test('a name, a zone and a port that is none have no numbers', () => {
  const peers = new KnownPeers();
  for (const [host, port] of [
    ['peer.example', 53],
    ['fe80::1%eth0', 53],
    ['192.0.2.1', 0],
    ['192.0.2.1', -1],
    ['192.0.2.1', 65_536],
  ] as const) {
    assert.equal(peers.numbers({ host, port }), undefined);
  }
  for (const port of [1, 65_535]) {
    assert.deepEqual(peers.numbers({ host: '192.0.2.1', port }), endpoint('192.0.2.1', port));
  }
});
