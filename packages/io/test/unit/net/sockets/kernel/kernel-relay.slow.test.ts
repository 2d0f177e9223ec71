import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { relay } from '../../../../../src/net/links/relay.ts';
import type { KernelLink } from '../../../../../src/net/sockets/kernel/kernel-link.ts';
import { systemClock } from '../../../../../src/net/time/clock.ts';
import { MSG_OOB } from '../../../../../src/platform/sockets/linux.ts';
import {
  checkedIo,
  noKernelSockets,
  recordingWatchdog,
} from '../../../../../../../test/support/links/kernel-io.ts';
import { kernelPair } from '../../../../../../../test/support/links/kernel-links.ts';

describe('a relay between kernel links', { skip: noKernelSockets }, () => {
  if (noKernelSockets !== false) return;
  const { io, calls } = checkedIo();
  const { watchdog, lost } = recordingWatchdog();
  after(() => {
    assert.deepEqual(lost, []);
    assert.equal(io.poller.size, 0);
    io.pipes.close();
    assert.equal(calls.debug.open().length, 1, 'a descriptor is left open');
    io.close();
  });

  /** A client and a server with a relay between them. */
  const flow = async () => {
    const [client, near] = await kernelPair(io, watchdog);
    const [far, server] = await kernelPair(io, watchdog);
    const seen = { moved: 0 };
    const moved = (bytes: number): void => void (seen.moved += bytes);
    const over = relay(near, far, { addUp: moved, addDown: moved }, systemClock).then(
      ({ failure }) => failure,
    );
    return { client, near, far, server, over, seen };
  };

  const readAll = async (link: KernelLink): Promise<Buffer> => {
    const chunks: Uint8Array[] = [];
    for (let chunk = await link.read(); chunk; chunk = await link.read()) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  const send = async (link: KernelLink, bytes: Buffer): Promise<void> => {
    for (let at = 0; at < bytes.length; at += 50_000)
      await link.write(bytes.subarray(at, at + 50_000));
    await link.closeWrite();
  };

  test('moves streams both ways at once, counts them and ends cleanly', async () => {
    const { client, server, over, seen } = await flow();
    const up = Buffer.alloc(6 << 20, 'up and up');
    const down = Buffer.alloc(9 << 20, 'down');
    const [, , atServer, atClient] = await Promise.all([
      send(client, Buffer.from(up)),
      send(server, Buffer.from(down)),
      readAll(server),
      readAll(client),
    ]);
    assert.ok(atServer.equals(up));
    assert.ok(atClient.equals(down));
    assert.equal(await over, undefined);
    assert.equal(seen.moved, up.length + down.length);
  });

  test('passes a half-close on while the other direction goes on', async () => {
    const { client, server, over } = await flow();
    await client.write(Buffer.from('request'));
    await client.closeWrite();
    assert.equal((await readAll(server)).toString(), 'request');
    await send(server, Buffer.alloc(1 << 20, 'late'));
    assert.equal((await readAll(client)).length, 1 << 20);
    assert.equal(await over, undefined);
  });

  for (const side of ['client', 'server'] as const) {
    test(`passes a reset of the ${side} on as a reset, in the middle of a stream`, async () => {
      const { client, server, over } = await flow();
      const other = side === 'client' ? server : client;
      const victim = side === 'client' ? client : server;
      const sending = send(victim, Buffer.alloc(64 << 20)).catch(() => undefined);
      for (let read = 0; read < 2 << 20;) read += (await other.read())?.length ?? 0;
      victim.destroy(new Error('cut'));
      await assert.rejects(readAll(other), { code: 'ECONNRESET' });
      assert.ok(await over);
      await sending;
    });
  }

  test('ends both sides when the flow is killed', async () => {
    const { client, near, server, over } = await flow();
    const sending = send(client, Buffer.alloc(64 << 20)).catch(() => undefined);
    for (let read = 0; read < 2 << 20;) read += (await server.read())?.length ?? 0;
    near.destroy(new Error('killed'));
    assert.equal((await over)?.message, 'killed');
    await assert.rejects(readAll(server));
    await sending;
    client.destroy();
  });

  test('is held back by a client that does not read, and goes on when it does', async () => {
    const { client, server, over, seen } = await flow();
    const total = 48 << 20;
    const sending = send(server, Buffer.alloc(total));
    let before = -1;
    while (before !== seen.moved || before === 0) {
      before = seen.moved;
      for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(before < total);
    await client.closeWrite();
    assert.equal((await readAll(client)).length, total);
    await sending;
    assert.equal(await server.read(), undefined);
    assert.equal(await over, undefined);
  });

  test('passes on everything around urgent data, at once and in the bulk of a stream', async () => {
    const { client, server, over, seen } = await flow();
    const parts = [4 << 20, 4 << 20, 100, 3 << 20].map((length, index) =>
      Buffer.alloc(length, `part ${index} `),
    );
    const total = Buffer.concat(parts).length;
    let got = 0;
    const chunks: Uint8Array[] = [];
    for (const [index, part] of parts.entries()) {
      const sending = (async () => {
        for (let at = 0; at < part.length; at += 50_000) {
          await client.write(Buffer.from(part.subarray(at, at + 50_000)));
        }
      })();
      // All of it arrives before anything else is sent, and before the end.
      const expected = got + part.length;
      while (got < expected) {
        const chunk = await server.read();
        assert.ok(chunk, `the end came after ${got} bytes`);
        chunks.push(chunk);
        got += chunk.length;
      }
      await sending;
      if (index < parts.length - 1) {
        assert.equal(io.calls.send(client.socket.fd, io.scratch.at, 1, MSG_OOB), 1);
      }
    }
    await client.closeWrite();
    assert.equal(await server.read(), undefined);
    await server.closeWrite();
    assert.equal(await over, undefined);
    assert.equal(await client.read(), undefined);
    assert.equal(seen.moved, total);
    assert.ok(Buffer.concat(chunks).equals(Buffer.concat(parts)));
  });

  test('takes urgent data before the end of the stream for no end', async () => {
    const { client, server, over } = await flow();
    const reading = readAll(server);
    const first = Buffer.alloc(4 << 20, 'first');
    for (let at = 0; at < first.length; at += 50_000) {
      await client.write(Buffer.from(first.subarray(at, at + 50_000)));
    }
    assert.equal(io.calls.send(client.socket.fd, io.scratch.at, 1, MSG_OOB), 1);
    await send(client, Buffer.alloc(4 << 20, 'second'));
    assert.equal((await reading).length, 8 << 20);
    await server.closeWrite();
    assert.equal(await over, undefined);
    assert.equal(await client.read(), undefined);
  });
});
