import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportErrorCode } from '../../../src/errors.ts';
import { DEFAULT_STREAM_GRANTS } from '../../../src/streams/grants.ts';
import {
  INITIAL_STREAM_WINDOW,
  STREAMS_AHEAD,
  UNAUTHENTICATED_WINDOW,
} from '../../../src/limits.ts';
import { Hostile } from '../../../../../test/support/quic/hostile.ts';
import { Pair } from '../../../../../test/support/quic/pair.ts';
import { pattern } from '../../../../../test/support/quic/peer.ts';

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
  pair.run(() => pair.client.has('stream-closed') && pair.server.has('stream-closed'));
});

test('idle streams do not hang a peer: its limit rises with the newest that has sent something', () => {
  const grants = { ...DEFAULT_STREAM_GRANTS, bidirectionalStreams: 1024 };
  const pair = new Pair({ delay: 5, server: { grants } }).connect();
  pair.server.connection.allowStreams(1280);
  pair.advance(100);
  const { connection } = pair.client;
  let opened = 0;
  let newest = -1;
  const openAll = (): number => {
    for (let id = connection.openStream(true); id !== undefined; id = connection.openStream(true)) {
      newest = id;
      opened++;
    }
    return opened;
  };
  const atOnce = openAll();
  assert.ok(atOnce >= STREAMS_AHEAD);
  // The server knows of none of them yet.
  pair.advance(1000);
  assert.equal(openAll(), atOnce);
  pair.client.send(newest, 1, 1, false);
  pair.advance(1000);
  assert.equal(openAll(), 1280);
});

test('datagrams arrive once, whole, and are dropped rather than sent again (RFC 9221 §5)', () => {
  const settings = { maxDatagramFrameSize: 65_535 };
  const pair = new Pair({ delay: 5, client: settings, server: settings }).connect();
  const { connection } = pair.client;
  const size = connection.maxDatagramSize;
  assert.ok(size > 1150 && size < 1200, `${size} bytes`);
  assert.equal(connection.sendDatagram(new Uint8Array(size + 1)), false);
  assert.equal(connection.sendDatagram(pattern(size)), true);
  pair.advance(50);
  assert.deepEqual(pair.server.datagrams, [Buffer.from(pattern(size))]);
  pair.advance(2000);
  assert.ok(connection.maxDatagramSize > 1400, 'it has grown with the path');
});

test('a peer that announces no datagrams gets none, unless the settings say otherwise (RFC 9221 §3)', () => {
  const server = { maxDatagramFrameSize: 65_535 };
  const strict = new Pair({ server }).connect();
  assert.equal(strict.server.connection.maxDatagramSize, 0);
  assert.equal(strict.server.connection.sendDatagram(pattern(10)), false);
  const lenient = new Pair({
    server: { ...server, acceptUnannouncedDatagrams: true },
  }).connect();
  lenient.advance(2000);
  assert.equal(lenient.server.connection.maxDatagramSize, 1200);
  assert.equal(lenient.client.connection.sendDatagram(pattern(100)), true);
  lenient.advance(50);
  assert.equal(lenient.server.datagrams.length, 1);
});

test('datagrams that are received in batches are those that were sent', () => {
  const pair = new Pair({ delay: 10 }).connect();
  pair.advance(1000);
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 500_000);
  for (let round = 0; round < 1000 && pair.server.streams.get(id)?.end !== 'finished'; round++) {
    pair.flush();
    const up = pair.flying.splice(0).filter(({ towards }) => towards === 'server');
    while (up.length > 0) {
      const size = up[0]?.data.length;
      const other = up.findIndex(({ data }) => data.length !== size);
      pair.server.receiveBatch(up.splice(0, other < 0 ? up.length : other), pair.now);
    }
    pair.flush();
    for (const datagram of pair.flying.splice(0)) pair.arrive(datagram, datagram.towards);
    pair.now += 10;
  }
  assert.equal(pair.server.streams.get(id)?.bytes, 500_000);
  assert.equal(pair.server.dropped('authentication'), 0);
});

test('a client that has to authenticate gets a small window, and then that of others', () => {
  const pair = new Pair({ server: { authenticates: true } }).connect();
  pair.server.reads = false;
  const ids = Array.from({ length: 12 }, () => pair.client.connection.openStream(true) ?? -1);
  for (const id of ids) pair.client.send(id, INITIAL_STREAM_WINDOW);
  pair.advance(1000);
  const received = (): number => {
    for (const id of ids) pair.server.read(id);
    return ids.reduce((sum, id) => sum + (pair.server.streams.get(id)?.bytes ?? 0), 0);
  };
  assert.equal(received(), UNAUTHENTICATED_WINDOW);
  pair.advance(1000);
  assert.equal(received(), 2 * UNAUTHENTICATED_WINDOW, 'what is read is granted again');
  pair.server.connection.authenticated();
  pair.advance(1000);
  assert.equal(received(), ids.length * INITIAL_STREAM_WINDOW);
});

test('more than that is a FLOW_CONTROL_ERROR, by few bytes at large offsets as well', () => {
  const hostile = new Hostile('client', { server: { authenticates: true } });
  const last = (id: number): Buffer => {
    const frame = Buffer.of(0x0e, id, 0x80, 0, 0, 0, 1, 0);
    frame.writeUInt32BE(0x8000_0000 + INITIAL_STREAM_WINDOW - 1, 2);
    return frame;
  };
  hostile.send(last(0));
  assert.equal(hostile.code, undefined);
  hostile.send(last(4));
  assert.equal(hostile.code, TransportErrorCode.FLOW_CONTROL_ERROR);
});
