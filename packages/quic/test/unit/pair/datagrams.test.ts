import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransmitBatch } from '@weir/io/datagrams';
import { MAX_QUEUED_DATAGRAM_BYTES, MAX_QUEUED_DATAGRAMS } from '../../../src/limits.ts';
import { Hostile } from '../../../../../test/support/quic/hostile.ts';
import type { Peer } from '../../../../../test/support/quic/peer.ts';
import { Pair } from '../../../../../test/support/quic/pair.ts';

const settings = { maxDatagramFrameSize: 65_535 };

/** Two sides that have found the size of their path, so that only what a test sends leaves. */
function connectedPair(): Pair {
  const pair = new Pair({ delay: 10, client: settings, server: settings }).connect();
  pair.advance(5000);
  return pair;
}

/** The sizes of the datagrams of each send, until nothing is left. */
function sends(peer: Peer, now: number): number[][] {
  const batch = new TransmitBatch();
  const all: number[][] = [];
  while (peer.connection.transmit(now, batch)) {
    const stride = batch.segmentSize || batch.length;
    const sizes: number[] = [];
    for (let at = 0; at < batch.length; at += stride) {
      sizes.push(Math.min(stride, batch.length - at));
    }
    all.push(sizes);
  }
  return all;
}

function queue(peer: Peer, count: number, size: number): void {
  for (let i = 0; i < count; i++) {
    assert.equal(peer.connection.sendDatagram(new Uint8Array(size)), true);
  }
}

test('datagrams of one turn share packets, and the packets one send, though none is full', () => {
  const pair = connectedPair();
  queue(pair.client, 12, 540);
  const all = sends(pair.client, pair.now);
  assert.equal(all.length, 1);
  const [sizes = []] = all;
  assert.equal(sizes.length, 6);
  assert.ok(
    sizes.every((size) => size === sizes[0] && size > 1080 && size < 1140),
    String(sizes),
  );
});

test('a shorter packet is the last of its send, and a datagram that is longer begins another', () => {
  const pair = connectedPair();
  queue(pair.client, 2, 1200);
  queue(pair.client, 1, 800);
  queue(pair.client, 2, 1300);
  const counts = sends(pair.client, pair.now).map(({ length }) => length);
  assert.deepEqual(counts, [3, 2]);
});

test('stream data beside datagrams fills packets to the size of the path', () => {
  const pair = connectedPair();
  const { connection } = pair.client;
  const id = connection.openStream(true) ?? -1;
  connection.write(id, new Uint8Array(6000));
  queue(pair.client, 2, 900);
  const { datagramSize } = connection.statistics();
  const [sizes = []] = sends(pair.client, pair.now);
  assert.ok(sizes.length > 4);
  assert.ok(
    sizes.slice(0, -1).every((size) => size === datagramSize),
    String(sizes),
  );
});

test('the peer receives the datagrams of a batch in their order', () => {
  const pair = connectedPair();
  for (let i = 0; i < 50; i++) {
    pair.client.connection.sendDatagram(Buffer.alloc(100 + ((i * 37) % 1100), i));
  }
  pair.advance(100);
  assert.deepEqual(
    pair.server.datagrams.map((data) => [data.length, data[0]]),
    Array.from({ length: 50 }, (_, i) => [100 + ((i * 37) % 1100), i]),
  );
});

test('datagrams are queued up to a number and to so many bytes, and the newest are dropped', () => {
  for (const [size, most] of [
    [1, MAX_QUEUED_DATAGRAMS],
    [1400, Math.floor(MAX_QUEUED_DATAGRAM_BYTES / 1400)],
  ] as const) {
    const pair = connectedPair();
    queue(pair.client, most, size);
    assert.equal(pair.client.connection.sendDatagram(new Uint8Array(size)), false);
    pair.advance(5000);
    assert.equal(pair.server.datagrams.length, most);
  }
});

test('datagrams of one turn that nobody takes are kept up to a number', () => {
  const hostile = new Hostile('client', { server: settings });
  hostile.flood(Buffer.from(Array.from({ length: 550 }, () => [0x31, 0]).flat()), 2);
  assert.equal(hostile.victim.datagrams.length, MAX_QUEUED_DATAGRAMS);
});

test('queued datagrams that a smaller path does not take are dropped (RFC 9221 §5)', () => {
  const pair = connectedPair();
  queue(pair.client, 1, 1400);
  queue(pair.client, 1, 10);
  pair.client.connection.onTooLarge(1472, pair.now);
  pair.advance(100);
  assert.deepEqual(
    pair.server.datagrams.map(({ length }) => length),
    [10],
  );
});
