import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamFailure } from '../../../src/contract.ts';
import { STREAM_LINGER } from '../../../src/limits.ts';
import { DEFAULT_STREAM_GRANTS } from '../../../src/streams/grants.ts';
import { collectAll } from '../../../../../test/support/quic/endpoint/collect-stream.ts';
import { MemoryQuic } from '../../../../../test/support/quic/endpoint/memory-quic.ts';
import {
  openStream,
  type ConnectionEnd,
  type QuicEndsOptions,
} from '../../../../../test/support/quic/endpoint/quic-ends.ts';

interface Fixture extends AsyncDisposable {
  readonly quic: MemoryQuic;
  readonly near: ConnectionEnd;
  readonly far: ConnectionEnd;
}

async function connected(options?: QuicEndsOptions): Promise<Fixture> {
  const quic = await MemoryQuic.open(options);
  const { near, far } = await quic.connect();
  return { quic, near, far, [Symbol.asyncDispose]: () => quic[Symbol.asyncDispose]() };
}

const codeOf = (error: unknown): number => (error as StreamFailure).streamCode;

test('a reset fails the link of the peer with the code', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const { left, right } = await quic.run(openStream(near, far));
  const reading = right.read();
  left.reset(0x10c);
  await assert.rejects(quic.run(reading), (error) => codeOf(error) === 0x10c);
  assert.equal(codeOf(await right.closed), 0x10c);
  await assert.rejects(async () => left.write(Buffer.of(1)), /reset/);
});

test('a peer that is asked to stop has its writes rejected, and is read to its end', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const { left, right } = await quic.run(openStream(near, far));
  // What a client of hysteria does at the end of a flow: FIN and STOP_SENDING 0.
  await left.write(Buffer.from('all of it'));
  await left.closeWrite();
  left.stopSending(0);
  assert.equal(await quic.run(collectAll(right)), 'all of it');
  await assert.rejects(
    async () => right.write(Buffer.of(1)),
    (error) => codeOf(error) === 0,
  );
  assert.equal(await quic.run(right.closed), undefined);
  assert.equal(await quic.run(left.closed), undefined);
  await right.closeWrite();
});

test('a writer that waits for room is released when the peer asks it to stop', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const { left, right } = await quic.run(openStream(near, far));
  let full: Promise<void> | undefined;
  while (!full) full = left.write(Buffer.alloc(64 * 1024));
  right.stopSending(7);
  await assert.rejects(quic.run(full), (error) => codeOf(error) === 7);
});

test('a unidirectional stream has one direction', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const left = await near.connection.openStream('unidirectional');
  assert.equal(left.bidirectional, false);
  assert.equal(await left.read(), undefined);
  await left.write(Buffer.from('one way'));
  await left.closeWrite();
  const right = await quic.run(far.streams.take());
  assert.ok(right && !right.bidirectional);
  await assert.rejects(async () => right.write(Buffer.of(1)));
  assert.equal(await quic.run(collectAll(right)), 'one way');
  assert.equal(await quic.run(left.closed), undefined);
  assert.equal(await quic.run(right.closed), undefined);
});

test('3,000 streams at once, as the server allows, all carry their bytes and leave nothing behind', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const COUNT = 3000;
  far.connection.allowStreams(COUNT);
  const echo = async (): Promise<void> => {
    for (let i = 0; i < COUNT; i++) {
      const stream = await far.streams.take();
      assert.ok(stream);
      void collectAll(stream).then(async (text) => {
        await stream.write(Buffer.from(text.toUpperCase()));
        await stream.closeWrite();
      });
    }
  };
  const request = async (i: number): Promise<void> => {
    const stream = await near.connection.openStream('bidirectional');
    await stream.write(Buffer.from(`request ${i}`));
    await stream.closeWrite();
    assert.equal(await collectAll(stream), `REQUEST ${i}`);
  };
  const echoing = echo();
  await quic.run(Promise.all(Array.from({ length: COUNT }, (_, i) => request(i))));
  await quic.run(echoing);
});

test('a stream beyond the limit waits until one ends, and waiting can be aborted', async () => {
  const grants = { ...DEFAULT_STREAM_GRANTS, bidirectionalStreams: 2 };
  await using fixture = await connected({ settings: { grants } });
  const { quic, near, far } = fixture;
  const first = await quic.run(openStream(near, far));
  await quic.run(openStream(near, far));
  const abort = new AbortController();
  const aborted = near.connection.openStream('bidirectional', abort.signal);
  const third = near.connection.openStream('bidirectional');
  abort.abort(new Error('not any more'));
  await assert.rejects(aborted, /not any more/);
  await quic.network.pass(100);
  first.left.destroy();
  first.right.destroy();
  const { id } = await quic.run(third);
  assert.equal(id, 8);
});

test('a reader that rests stops its sender, with bounded memory, and not its neighbour', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const slow = await quic.run(openStream(near, far));
  const quick = await quic.run(openStream(near, far));
  const CHUNK = 64 * 1024;
  let written = 0;
  const filling = (async () => {
    for (;;) {
      await slow.left.write(Buffer.alloc(CHUNK));
      written += CHUNK;
    }
  })();
  filling.catch(() => undefined);
  await quic.network.pass(2000);
  // The stream's window, what the sender queues, and no more.
  const held = written;
  assert.ok(held <= 2 * 1024 * 1024, `${held} bytes`);
  await quic.network.pass(2000);
  assert.equal(written, held);
  const total = 4 * 1024 * 1024;
  const sending = (async () => {
    for (let sent = 0; sent < total; sent += CHUNK) await quick.left.write(Buffer.alloc(CHUNK));
    await quick.left.closeWrite();
  })();
  const text = await quic.run(collectAll(quick.right));
  await sending;
  assert.equal(text.length, total);
  assert.equal(written, held);
  slow.left.destroy();
});

test('what was written before a half-close arrives although its writer is gone', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const { left, right } = await quic.run(openStream(near, far));
  const LENGTH = 1_500_000;
  for (let sent = 0; sent < LENGTH; sent += 100_000) void left.write(Buffer.alloc(100_000, 'a'));
  await left.closeWrite();
  left.destroy();
  // Longer than it lingers, but never at rest for so long.
  let taken = 0;
  for (let i = 1; i <= 4; i++) {
    await quic.network.pass(STREAM_LINGER / 2);
    while (taken < i * 100_000) taken += (await quic.run(right.read()))?.length ?? 0;
  }
  const rest = await quic.run(collectAll(right));
  assert.equal(taken + rest.length, LENGTH);
});

test('a stream that is released, and whose peer takes nothing, is reset after a while', async () => {
  await using fixture = await connected({ settings: { idleTimeout: 0 } });
  const { quic, near, far } = fixture;
  const { left, right } = await quic.run(openStream(near, far));
  for (let i = 0; i < 20; i++) void left.write(Buffer.alloc(100_000));
  await left.closeWrite();
  left.destroy();
  assert.equal(await left.closed, undefined);
  await quic.network.pass(2 * STREAM_LINGER + 1000);
  await assert.rejects(quic.run(collectAll(right)), (error) => codeOf(error) === 0);
});

test('closing a connection while its streams transfer rejects what is pending', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  const { left, right } = await quic.run(openStream(near, far));
  let full: Promise<void> | undefined;
  while (!full) full = left.write(Buffer.alloc(64 * 1024));
  const opening = Array.from({ length: 3 }, () => far.connection.openStream('unidirectional'));
  far.connection.close(1);
  await assert.rejects(quic.run(full), /closed the connection/);
  await Promise.allSettled(opening);
  assert.ok((await quic.run(right.closed)) instanceof Error);
  assert.ok((await quic.run(left.closed)) instanceof Error);
});

test('a connection has an open stream until the peer has acknowledged all of it', async () => {
  await using fixture = await connected();
  const { quic, near, far } = fixture;
  await quic.run(near.connection.openStream('unidirectional'));
  const { left, right } = await quic.run(openStream(near, far));
  assert.deepEqual([near.connection.hasOpenStream, far.connection.hasOpenStream], [true, true]);
  await left.closeWrite();
  assert.equal(await quic.run(collectAll(right)), '');
  quic.network.fate = () => 'lost';
  await right.write(Buffer.from('response'));
  await right.closeWrite();
  assert.equal(await right.closed, undefined);
  await quic.network.pass(100);
  assert.equal(far.connection.hasOpenStream, true);
  quic.network.fate = () => 1;
  assert.equal(await quic.run(collectAll(left)), 'response');
  await quic.network.pass(1000);
  assert.deepEqual([near.connection.hasOpenStream, far.connection.hasOpenStream], [false, false]);
});
