import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectAll } from '../../../support/quic-endpoint/collect-stream.ts';
import { MemoryQuic } from '../../../support/quic-endpoint/memory-quic.ts';

test('a client and a server exchange streams and datagrams', async () => {
  await using quic = await MemoryQuic.open();
  const { near, far } = await quic.connect();
  const stream = await near.connection.openStream('bidirectional');
  await stream.write(Buffer.from('request'));
  await stream.closeWrite();
  await quic.until(() => far.streams.size === 1);
  const accepted = await far.streams.take();
  assert.ok(accepted);
  assert.equal(await quic.run(collectAll(accepted)), 'request');
  await accepted.write(Buffer.from('response'));
  await accepted.closeWrite();
  assert.equal(await quic.run(collectAll(stream)), 'response');
  assert.equal(await quic.run(stream.closed), undefined);
  assert.equal(await quic.run(accepted.closed), undefined);
  assert.ok(near.connection.sendDatagram(Buffer.from('ping')));
  assert.equal(String(await quic.run(far.datagrams.take())), 'ping');
});
