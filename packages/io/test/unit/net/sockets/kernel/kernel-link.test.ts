import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { OWNED, type SpliceProgress } from '../../../../../src/net/links/link.ts';
import { codeOf } from '@weir/base';
import { systemClock } from '../../../../../src/net/time/clock.ts';
import { DialError, WriteError } from '../../../../../src/net/errors.ts';
import { connectAny } from '../../../../../src/net/sockets/happy-eyeballs.ts';
import { connectKernel, listenKernel } from '../../../../../src/net/sockets/kernel/kernel-dial.ts';
import { KernelLink } from '../../../../../src/net/sockets/kernel/kernel-link.ts';
import { LinkWatchdog, type LostEvent } from '../../../../../src/net/sockets/kernel/watchdog.ts';
import type { AcceptedConnection } from '../../../../../src/net/sockets/sockets.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkedIo,
  noKernelSockets,
  socketPair,
  until,
} from '../../../../../../../test/support/links/kernel-io.ts';
import { kernelPair } from '../../../../../../../test/support/links/kernel-links.ts';
import { linkPair } from '../../../../../src/net/links/memory-link.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

const IGNORED: SpliceProgress = { moved: () => undefined, sourceFailed: () => undefined };

describe('a kernel link', { skip: noKernelSockets }, () => {
  if (noKernelSockets !== false) return;
  const { io, calls } = checkedIo();
  const { signal } = new AbortController();
  after(() => {
    assert.equal(io.poller.size, 0);
    io.pipes.close();
    assert.equal(calls.debug.open().length, 1, 'a descriptor is left open');
    io.close();
  });

  test('reads a reset as an error, after the bytes that came before it', async () => {
    const [near, far] = await kernelPair(io);
    await far.write(Buffer.from('before'));
    far.destroy(new Error('cut'));
    await until(() => near.socket.readable);
    assert.equal(Buffer.from((await near.read()) ?? []).toString(), 'before');
    await assert.rejects(near.read(), { code: 'ECONNRESET', syscall: 'read' });
    await assert.rejects(near.read(), { code: 'ECONNRESET' });
    assert.equal(codeOf(await near.closed), 'ECONNRESET');
  });

  test('frees what it has copied of lent bytes when the kernel has taken it', async (t) => {
    const [near, far] = await kernelPair(io);
    const lent = Buffer.alloc(256 << 10);
    let full: Promise<void> | undefined;
    let length = 0;
    const lend = (): void => {
      full = near.lend(lent);
      length += lent.length;
    };
    while (!full) lend();
    // All of this one is copied; of the last, the rest may be too short to be freed.
    lend();
    const { mock } = t.mock.method(ArrayBuffer.prototype, 'transfer');
    for (let read = 0; read < length;) read += (await far.read())?.length ?? length;
    await full;
    const freed = mock.callCount();
    near.destroy();
    far.destroy();
    assert.ok(freed === 1 || freed === 2, String(freed));
  });

  test('learns of a reset while there is no reader', async () => {
    const [near, far] = await kernelPair(io);
    far.destroy(new Error('cut'));
    assert.equal(codeOf(await near.closed), 'ECONNRESET');
    await assert.rejects(async () => near.write(Buffer.from('x')), { code: 'ECONNRESET' });
  });

  test('learns of a reset after the end of the peer', async () => {
    const [near, far] = await kernelPair(io);
    await far.closeWrite();
    assert.equal(await near.read(), undefined);
    far.destroy(new Error('cut'));
    assert.match(codeOf(await near.closed) ?? '', /^(?:ECONNRESET|EPIPE)$/);
  });

  test('fails a writer that waits when the peer resets', async () => {
    const [near, far] = await kernelPair(io);
    let full: Promise<void> | undefined;
    while (!full) full = near.write(Buffer.alloc(65_536));
    const rejected = assert.rejects(full, { code: 'ECONNRESET' });
    far.destroy(new Error('cut'));
    await rejected;
    await assert.rejects(near.closeWrite(), { code: 'ECONNRESET' });
    near.destroy();
  });

  test('frees given chunks that waited for the kernel once it has taken them', async () => {
    const [near, far] = await kernelPair(io);
    const given: Buffer[] = [];
    let full: Promise<void> | undefined;
    while (!full) {
      const chunk = Buffer.allocUnsafeSlow(65_536);
      given.push(chunk);
      full = near.write(chunk, OWNED);
    }
    const written = Buffer.alloc(65_536);
    const behind = Buffer.allocUnsafeSlow(65_536);
    void near.write(written);
    void near.write(behind, OWNED);
    given.push(behind);
    assert.ok(behind.length > 0, 'a chunk that was not sent must be kept');
    for (let left = given.length * 65_536 + written.length; left > 0;) {
      left -= (await far.read())?.length ?? left;
    }
    await full;
    assert.deepEqual(
      given.map(({ length }) => length),
      given.map(() => 0),
    );
    assert.equal(written.length, 65_536, 'a chunk that was only written is its writer’s');
    near.destroy();
    far.destroy();
  });

  test('counts the bytes on the wire', async () => {
    const [near, far] = await kernelPair(io);
    await near.write(Buffer.alloc(1000));
    await near.writeOutput([Buffer.alloc(10), Buffer.alloc(20_000)]);
    await near.closeWrite();
    while (await far.read());
    assert.equal(near.bytesWritten, 21_010);
    assert.equal(far.bytesRead, 21_010);
    near.destroy();
    far.destroy();
  });

  test('gives chunks that were put back in the order of the last one first', async () => {
    const [near, far] = await kernelPair(io);
    near.unread(Buffer.from('b'));
    near.unread(Buffer.from('a'));
    for (const expected of ['a', 'b']) {
      assert.equal(Buffer.from((await near.read()) ?? []).toString(), expected);
    }
    near.destroy();
    far.destroy();
  });

  test('lingers for a peer that still reads, and no longer than it sends', async () => {
    const [near, far] = await kernelPair(io);
    await near.write(Buffer.from('answer'));
    await near.closeWrite();
    near.destroy();
    await far.write(Buffer.alloc(1000));
    assert.equal(Buffer.from((await far.read()) ?? []).toString(), 'answer');
    await far.closeWrite();
    assert.equal(await far.read(), undefined);
    assert.equal(await far.closed, undefined);
    assert.equal(await near.closed, undefined);
  });

  test('yields to the loop although there is always something to read', async () => {
    const [near, far] = await kernelPair(io);
    let turns = 0;
    const count = (): void => {
      turns++;
      if (!far.socket.isOpen) return;
      setImmediate(count);
    };
    setImmediate(count);
    const total = 64 << 20;
    const writing = (async () => {
      for (let sent = 0; sent < total; sent += 65_536) await near.write(Buffer.alloc(65_536));
      await near.closeWrite();
    })();
    let read = 0;
    for (let chunk = await far.read(); chunk; chunk = await far.read()) read += chunk.length;
    await writing;
    assert.equal(read, total);
    // 4 reads of 128 KB are what one link has of a turn.
    assert.ok(turns >= total / (4 * 131_072));
    near.destroy();
    far.destroy();
  });

  describe('that is spliced to another', () => {
    const flow = async () => {
      const [client, near] = await kernelPair(io);
      const [far, server] = await kernelPair(io);
      return { client, near, far, server };
    };

    test('moves what was put back first, then the rest, and counts it', async () => {
      const { client, near, far, server } = await flow();
      await client.write(Buffer.from('head'));
      const head = await near.read();
      near.unread(head ?? Buffer.alloc(0));
      let moved = 0;
      const spliced = near.spliceTo(far, { ...IGNORED, moved: (bytes) => (moved += bytes) });
      assert.ok(spliced);
      const body = Buffer.alloc(3 << 20, 'body');
      void client.write(Buffer.from(body));
      void client.closeWrite();
      const chunks: Uint8Array[] = [];
      void spliced.then(() => far.closeWrite());
      for (let chunk = await server.read(); chunk; chunk = await server.read()) chunks.push(chunk);
      assert.ok(Buffer.concat(chunks).equals(Buffer.concat([Buffer.from('head'), body])));
      assert.equal(moved, 4 + body.length);
      assert.equal(near.bytesRead, 4 + body.length);
      assert.equal(far.bytesWritten, 4 + body.length);
      for (const link of [client, near, far, server]) link.destroy();
    });

    test('refuses other readers and writers meanwhile', async () => {
      const { client, near, far, server } = await flow();
      const spliced = near.spliceTo(far, IGNORED);
      assert.ok(spliced);
      assert.equal(near.spliceTo(far, IGNORED), undefined);
      await assert.rejects(near.read());
      await assert.rejects(async () => far.write(Buffer.from('x')));
      client.destroy();
      await spliced;
      for (const link of [near, far, server]) link.destroy();
    });

    test('rejects when either is killed, and when a peer resets', async () => {
      for (const victim of ['near', 'far', 'client', 'server'] as const) {
        const links = await flow();
        const spliced = links.near.spliceTo(links.far, IGNORED);
        const back = links.far.spliceTo(links.near, IGNORED);
        assert.ok(spliced && back);
        const rejected = assert.rejects(spliced);
        const alsoRejected = assert.rejects(back);
        links[victim].destroy(new Error('killed'));
        if (victim === 'client') await rejected.then(() => links.far.destroy());
        if (victim === 'server') await alsoRejected.then(() => links.near.destroy());
        await Promise.all([rejected, alsoRejected]);
        for (const link of Object.values(links)) link.destroy();
      }
    });

    test('reports a reset of its peer while what was put back waits for room', async () => {
      const { client, near, far, server } = await flow();
      let full: Promise<void> | undefined;
      while (!full) full = far.write(Buffer.alloc(1 << 20));
      near.unread(Buffer.from('head'));
      const { promise, resolve } = Promise.withResolvers<Error>();
      const spliced = near.spliceTo(far, { ...IGNORED, sourceFailed: resolve });
      assert.ok(spliced);
      const rejected = assert.rejects(spliced, WriteError);
      const dropped = assert.rejects(full);
      client.destroy(new Error('cut'));
      assert.equal(codeOf(await promise), 'ECONNRESET');
      far.destroy(new Error('killed'));
      await Promise.all([rejected, dropped]);
      server.destroy();
    });

    test('is left to the caller where the other is not a kernel link', async () => {
      const [near, far] = await kernelPair(io);
      const [memory] = linkPair();
      assert.equal(near.spliceTo(memory, IGNORED), undefined);
      assert.equal(near.spliceTo(near, IGNORED), undefined);
      near.destroy();
      far.destroy();
    });
  });

  describe('that is dialled', () => {
    test('is a connect function of Happy Eyeballs, where the first that answers wins', async () => {
      const accepted: AcceptedConnection[] = [];
      const listener = listenKernel(
        io,
        { host: '127.0.0.1', port: 0 },
        { onConnection: (connection) => accepted.push(connection) },
      );
      const port = listener.endpoint?.port ?? 0;
      const carrier = await connectAny(
        ['::1', '127.0.0.1'],
        (address, attempt) => connectKernel(io, address, port, { signal: attempt }),
        { clock: systemClock, signal, discard: ({ link }) => link.destroy() },
      );
      assert.deepEqual(carrier.remote, { host: '127.0.0.1', port });
      await until(() => accepted.length === 1);
      assert.deepEqual(accepted[0]?.remote, carrier.local);
      assert.deepEqual(accepted[0]?.local, carrier.remote);
      carrier.link.destroy();
      accepted[0]?.destroy();
      listener.close();
    });

    test('is refused with the reason of the kernel', async () => {
      const listener = listenKernel(
        io,
        { host: '127.0.0.1', port: 0 },
        { onConnection: () => undefined },
      );
      const port = listener.endpoint?.port ?? 0;
      listener.close();
      listener.close();
      await assert.rejects(
        connectKernel(io, '127.0.0.1', port, { signal }),
        (error) => error instanceof DialError && error.code === 'refused',
      );
      await assert.rejects(
        connectKernel(io, 'not an address', port, { signal }),
        (error) => error instanceof DialError && error.code === 'failed',
      );
    });

    test('closes its socket when the dial is aborted', async () => {
      const open = calls.debug.open().length;
      const abort = new AbortController();
      // 192.0.2.0/24 is for documentation (RFC 5737): there is no answer, or no route.
      const dial = connectKernel(io, '192.0.2.1', 9, { signal: abort.signal });
      abort.abort(new Error('enough'));
      await assert.rejects(dial, DialError);
      assert.equal(calls.debug.open().length, open);
      await assert.rejects(connectKernel(io, '127.0.0.1', 9, { signal: abort.signal }), {
        code: 'aborted',
      });
    });

    test('speaks with a socket of Node', async () => {
      const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const connection = once(server, 'connection') as Promise<[Socket]>;
      const { link } = await connectKernel(io, '127.0.0.1', port, { signal });
      const [socket] = await connection;
      socket.on('end', () => socket.end('goodbye'));
      socket.resume();
      await link.closeWrite();
      assert.equal(Buffer.from((await link.read()) ?? []).toString(), 'goodbye');
      assert.equal(await link.read(), undefined);
      assert.equal(await link.closed, undefined);
      server.close();
    });
  });
});

describe('the watchdog of lost events', { skip: noKernelSockets }, () => {
  test('reports a link that waits although its socket is ready, once and with its history', async () => {
    const clock = new ManualClock();
    const lost: LostEvent[] = [];
    using watchdog = new LinkWatchdog(clock, (event) => lost.push(event));
    using io = checkedIo().io;
    const [near, far] = socketPair(io);
    const link = new KernelLink(near, watchdog);
    // A poller that loses what it is meant to deliver.
    near.ready = () => undefined;
    const reading = link.read();
    clock.advance(5_000);
    assert.equal(lost.length, 0);
    far.send(Buffer.from('unheard'));
    clock.advance(1_000);
    clock.advance(1_000);
    clock.advance(10_000);
    assert.deepEqual(
      lost.map(({ waitsFor, unread, history }) => [waitsFor, unread, history.length > 0]),
      [['input', 7, true]],
    );
    link.onReady(false);
    near.readable = true;
    await Promise.race([reading, nextTurn()]);
    link.destroy();
    await reading.catch(() => undefined);
    far.close();
  });

  test('is quiet about links that wait for their peer, and forgets those that are closed', async () => {
    const clock = new ManualClock();
    const lost: LostEvent[] = [];
    using watchdog = new LinkWatchdog(clock, (event) => lost.push(event));
    using io = checkedIo().io;
    const [near, far] = socketPair(io);
    const link = new KernelLink(near, watchdog);
    const reading = assert.rejects(link.read());
    assert.equal(watchdog.size, 1);
    clock.advance(60_000);
    link.destroy();
    await reading;
    assert.equal(watchdog.size, 0);
    assert.deepEqual(lost, []);
    clock.advance(60_000);
    assert.equal(clock.timers, 0);
    far.close();
  });
});
