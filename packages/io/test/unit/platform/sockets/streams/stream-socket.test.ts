import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { codeOf } from '@weir/base';
import { DescriptorRoom } from '../../../../../src/platform/sockets/descriptor-room.ts';
import { KernelIo } from '../../../../../src/platform/sockets/kernel-io.ts';
import { openSystemCalls } from '../../../../../src/platform/sockets/bindings.ts';
import { checkCalls } from '../../../../../src/platform/sockets/probe.ts';
import * as linux from '../../../../../src/platform/sockets/linux.ts';
import type { IpAddress, SocketAddress } from '../../../../../src/platform/sockets/sockaddr.ts';
import { getOption, readOption } from '../../../../../src/platform/sockets/socket-options.ts';
import { StreamListener } from '../../../../../src/platform/sockets/streams/stream-listener.ts';
import { AGAIN, StreamSocket } from '../../../../../src/platform/sockets/streams/stream-socket.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkedIo,
  noKernelSockets,
  socketPair,
  until,
} from '../../../../../../../test/support/links/kernel-io.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

interface Accepted {
  readonly socket: StreamSocket;
  readonly remote: SocketAddress | undefined;
}

function listen(io: KernelIo, host = '127.0.0.1') {
  const accepted: Accepted[] = [];
  const listener = new StreamListener(
    io,
    { host, port: 0 },
    {
      onSocket: (socket, remote) => accepted.push({ socket, remote }),
    },
  );
  return { accepted, listener, local: listener.local as IpAddress };
}

/** Connects to a port, and ends as soon as that is done. */
const CONNECT_ONCE = `
  const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1', () => {
    process.stdout.write('connected', () => process.exit());
  });
`;

/** Connects, and waits until it is done. */
async function connected(io: KernelIo, address: SocketAddress): Promise<StreamSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const attempt = StreamSocket.connect(io, address, (error) => (error ? reject(error) : resolve()));
  if (!attempt.connected) await promise;
  return attempt.socket;
}

/** A TCP connection over loopback. */
async function tcpPair(io: KernelIo) {
  const { accepted, listener, local } = listen(io);
  const far = await connected(io, local);
  await until(() => accepted.length === 1);
  const [{ socket: near }] = accepted as [Accepted];
  listener.close();
  assert.equal(near.receive(), AGAIN);
  const close = (): void => {
    near.close();
    far.close();
  };
  return { near, far, close };
}

/** A listener with the sockets that it has accepted, and the reasons for which it held others back. */
function observedListener(io: KernelIo) {
  const reasons: string[] = [];
  const accepted: StreamSocket[] = [];
  const listener = new StreamListener(
    io,
    { host: '127.0.0.1', port: 0 },
    {
      onSocket: (socket) => accepted.push(socket),
      onPaused: (reason) => reasons.push(reason),
    },
  );
  return { listener, reasons, accepted };
}

describe('a stream socket of the kernel', { skip: noKernelSockets }, () => {
  for (const host of ['127.0.0.1', '::1']) {
    test(`connects to ${host}, and both sides know the other's address`, async () => {
      using io = checkedIo().io;
      const { accepted, listener, local } = listen(io, host);
      const socket = await connected(io, local);
      await until(() => accepted.length === 1);
      const [first] = accepted as [Accepted];
      assert.deepEqual(first.remote, io.addresses.localOf(socket.fd));
      assert.deepEqual(io.addresses.peerOf(socket.fd), local);
      first.socket.close();
      socket.close();
      listener.close();
    });
  }

  test('a listener on the IPv6 wildcard takes IPv4 connections, with IPv4 addresses', async () => {
    using io = checkedIo().io;
    const { accepted, listener, local } = listen(io, '::');
    const socket = await connected(io, { host: '127.0.0.1', port: local.port });
    await until(() => accepted.length === 1);
    assert.equal((accepted[0]?.remote as IpAddress | undefined)?.host, '127.0.0.1');
    accepted[0]?.socket.close();
    socket.close();
    listener.close();
  });

  test('what is accepted inherits the options of its listener', async () => {
    using io = checkedIo().io;
    const { accepted, listener, local } = listen(io);
    const socket = await connected(io, local);
    await until(() => accepted.length === 1);
    for (const fd of [socket.fd, accepted[0]?.socket.fd ?? -1]) {
      assert.equal(getOption(io, fd, linux.IPPROTO_TCP, linux.TCP_NODELAY), 1);
      assert.equal(getOption(io, fd, linux.SOL_SOCKET, linux.SO_KEEPALIVE), 1);
      assert.equal(getOption(io, fd, linux.IPPROTO_TCP, linux.TCP_KEEPIDLE), 60);
      assert.equal(getOption(io, fd, linux.IPPROTO_TCP, linux.TCP_KEEPINTVL), 1);
      assert.equal(getOption(io, fd, linux.IPPROTO_TCP, linux.TCP_KEEPCNT), 10);
    }
    accepted[0]?.socket.close();
    socket.close();
    listener.close();
  });

  test('what waits unsent is bounded, small changes aside, and no longer', async () => {
    using io = checkedIo().io;
    const { near, close } = await tcpPair(io);
    const [mb, unsent] = [1 << 20, linux.TCP_NOTSENT_LOWAT];
    const limits = [0, mb, 0.8 * mb, 1.2 * mb, mb / 2, 2 * mb, 0].map((bytes) => {
      near.limitUnsent(Math.floor(bytes));
      return getOption(io, near.fd, linux.IPPROTO_TCP, unsent);
    });
    assert.deepEqual(limits, [0, mb, mb, mb, mb / 2, 2 * mb, 0]);
    close();
  });

  test('what is sent over loopback is not paced by BBR', async (t) => {
    const { io, calls } = checkedIo();
    using _ = io;
    const { near, far, close } = await tcpPair(io);
    const bytes = Buffer.from('bbr');
    const choose = (fd: number): boolean => {
      bytes.copy(io.option.bytes);
      const [tcp, congestion] = [linux.IPPROTO_TCP, linux.TCP_CONGESTION];
      return calls.setsockopt(fd, tcp, congestion, io.option.at, bytes.length) === 0;
    };
    const algorithm = (fd: number): string => {
      readOption(io, fd, linux.IPPROTO_TCP, linux.TCP_CONGESTION, 16);
      return io.option.bytes.toString('latin1', 0, 16).replace(/\0.*$/, '');
    };
    if (!choose(near.fd)) {
      t.skip('the kernel has no BBR, or does not let this user choose it');
      close();
      return;
    }
    const chunk = Buffer.alloc(64 << 10);
    let sent = 0;
    await until(() => {
      sent += Math.max(0, near.send(chunk));
      far.receive();
      return sent >= 192 << 10;
    });
    assert.equal(algorithm(near.fd), 'bbr');
    near.sent((256 << 10) - 1 - sent);
    assert.equal(algorithm(near.fd), 'bbr');
    near.sent(1);
    assert.equal(algorithm(near.fd), 'reno');
    // The next look is much later.
    assert.ok(choose(near.fd));
    near.sent((64 << 20) - 1);
    assert.equal(algorithm(near.fd), 'bbr');
    near.sent(1);
    assert.equal(algorithm(near.fd), 'reno');
    close();
  });

  test('a port without a listener refuses with the text of node:net', async () => {
    const { io, calls } = checkedIo();
    using _ = io;
    const { listener, local } = listen(io);
    listener.close();
    await assert.rejects(connected(io, local), {
      code: 'ECONNREFUSED',
      message: `connect ECONNREFUSED 127.0.0.1:${local.port}`,
    });
    // The failed one is still open, for its owner to close; then there is only epoll itself.
    assert.equal(calls.debug.open().length, 2);
  });

  test('an address in use is reported as node:net does', () => {
    using io = checkedIo().io;
    const { listener, local } = listen(io);
    assert.throws(() => new StreamListener(io, local, { onSocket: () => undefined }), {
      code: 'EADDRINUSE',
      syscall: 'listen',
      message: `listen EADDRINUSE: address already in use 127.0.0.1:${local.port}`,
    });
    listener.close();
    listener.close();
  });

  test('a reset reaches the peer as an error, and not as an end', async () => {
    using io = checkedIo().io;
    const { accepted, listener, local } = listen(io);
    const socket = await connected(io, local);
    await until(() => accepted.length === 1);
    accepted[0]?.socket.reset();
    await until(() => socket.readable);
    let result = socket.receive();
    while (result === AGAIN) {
      await nextTurn();
      result = socket.receive();
    }
    assert.equal(result, -linux.ECONNRESET);
    socket.close();
    listener.close();
  });

  test('its descriptor can become a socket of Node, which closes it', async () => {
    const { io, calls } = checkedIo();
    using _ = io;
    const { accepted, listener, local } = listen(io);
    const socket = await connected(io, local);
    await until(() => accepted.length === 1);
    const fd = accepted[0]?.socket.release() ?? -1;
    assert.equal(accepted[0]?.socket.fd, -1);
    assert.ok(!calls.debug.open().includes(fd));
    const adopted = new Socket({ fd, allowHalfOpen: true });
    adopted.write('from Node');
    await until(() => socket.receive() === 9);
    assert.equal(io.scratch.bytes.toString('latin1', 0, 9), 'from Node');
    socket.shutdown();
    adopted.resume();
    await once(adopted, 'end');
    adopted.destroy();
    socket.close();
    listener.close();
  });

  test('a unix socket is readable until a read returns EAGAIN', async () => {
    using io = checkedIo().io;
    const [near, far] = socketPair(io);
    assert.ok(near.readable && near.writable);
    assert.equal(near.receive(), AGAIN);
    assert.ok(!near.readable);
    assert.equal(far.send(Buffer.from('abc')), 3);
    await until(() => near.readable);
    assert.equal(near.receive(), 3);
    assert.ok(near.readable);
    const block = Buffer.alloc(1 << 16);
    while (near.send(block) !== AGAIN) assert.ok(near.writable);
    assert.ok(!near.writable);
    while (far.receive() !== AGAIN);
    await until(() => near.writable);
    near.close();
    far.close();
  });

  describe('a short read of TCP', () => {
    test('waits for an event instead of a read that returns EAGAIN', async () => {
      const { io, calls } = checkedIo();
      using _ = io;
      const { near, far, close } = await tcpPair(io);
      for (const text of ['abc', 'd']) {
        far.send(Buffer.from(text));
        await until(() => near.readable);
        assert.equal(near.receive(), text.length);
        assert.ok(!near.readable);
        const before = calls.debug.historyOf(near.fd).length;
        assert.equal(near.receive(), AGAIN);
        assert.equal(calls.debug.historyOf(near.fd).length, before);
      }
      // The end comes with an event of its own.
      far.shutdown();
      await until(() => near.readable);
      assert.equal(near.receive(), 0);
      close();
    });

    test('is followed by another when the end of the stream has come with the bytes', async () => {
      using io = checkedIo().io;
      const { near, far, close } = await tcpPair(io);
      far.send(Buffer.from('abc'));
      far.shutdown();
      await until(() => near.readable);
      assert.equal(near.receive(), 3);
      assert.equal(near.receive(), 0);
      close();
    });

    test('is followed by another after a reset', async () => {
      using io = checkedIo().io;
      const { near, far, close } = await tcpPair(io);
      far.send(Buffer.from('abc'));
      await until(() => near.readable);
      assert.equal(near.receive(), 3);
      far.reset();
      await until(() => near.readable);
      assert.equal(near.receive(), -linux.ECONNRESET);
      close();
    });

    test('is followed by another around urgent data, at which the kernel stops', async () => {
      using io = checkedIo().io;
      const { near, far, close } = await tcpPair(io);
      far.send(Buffer.from('abc'));
      assert.equal(io.calls.send(far.fd, io.scratch.at, 1, linux.MSG_OOB), 1);
      far.send(Buffer.from('def'));
      await until(() => near.urgent);
      assert.equal(near.receive(), 3);
      assert.equal(near.receive(), 3);
      assert.equal(near.receive(), AGAIN);
      close();
    });

    test('is followed by another at once in the bulk of a stream', async () => {
      using io = checkedIo().io;
      const { near, far, close } = await tcpPair(io);
      assert.equal(far.send(Buffer.alloc(10_000)), 10_000);
      await until(() => near.unread() === 10_000);
      await until(() => near.readable);
      assert.equal(near.receive(), 10_000);
      assert.ok(near.readable);
      assert.equal(near.receive(), AGAIN);
      close();
    });
  });

  test('a listener on a path removes its file when it closes', async () => {
    using io = checkedIo().io;
    const folder = await mkdtemp(join(tmpdir(), 'weir-listen-'));
    const path = join(folder, 's');
    const accepted: Accepted[] = [];
    const listener = new StreamListener(
      io,
      { path },
      {
        onSocket: (socket, remote) => accepted.push({ socket, remote }),
      },
    );
    const socket = await connected(io, { path });
    await until(() => accepted.length === 1);
    assert.deepEqual(accepted[0]?.remote, { path: '' });
    assert.throws(() => new StreamListener(io, { path }, { onSocket: () => undefined }), {
      code: 'EADDRINUSE',
    });
    accepted[0]?.socket.close();
    socket.close();
    listener.close();
    await assert.rejects(stat(path), (error) => codeOf(error) === 'ENOENT');
    await rm(folder, { recursive: true });
  });

  test('a path that is too long is refused', () => {
    using io = checkedIo().io;
    assert.throws(
      () => new StreamListener(io, { path: `/${'x'.repeat(200)}` }, { onSocket: () => undefined }),
      { code: 'EINVAL' },
    );
  });

  test('accepting is held back while a flow would find no descriptors, and loses nothing', async () => {
    const calls = checkCalls(openSystemCalls());
    const clock = new ManualClock();
    using io = new KernelIo(calls, clock);
    using ofClients = new KernelIo(calls, clock);
    const accepted: StreamSocket[] = [];
    const reasons: string[] = [];
    const listener = new StreamListener(
      io,
      { host: '127.0.0.1', port: 0 },
      {
        onSocket: (socket) => accepted.push(socket),
        onPaused: (reason) => reasons.push(reason),
      },
    );
    // So many flows fit: each has a seat for its destination beside its own descriptor.
    let free = 5;
    io.room.free = () => free - io.room.reserved * 2;
    const clients = await Promise.all(
      Array.from({ length: 5 }, () => connected(ofClients, listener.local)),
    );
    await until(() => reasons.length === 1);
    assert.equal(accepted.length, 2);
    clock.advance(20);
    assert.deepEqual(reasons, ['this process has too many open files']);
    free = 64;
    clock.advance(20);
    await until(() => accepted.length === 5);
    assert.equal(reasons.length, 1);
    assert.equal(io.room.reserved, 5);
    const elsewhere = listen(ofClients, '127.0.0.1');
    const destination = await connected(io, elsewhere.local);
    assert.equal(io.room.reserved, 4, 'one of them has its destination');
    destination.close();
    elsewhere.listener.close();
    for (const socket of [...accepted, ...clients]) socket.close();
    assert.equal(io.room.reserved, 0);
    listener.close();
    assert.equal(clock.timers, 0);
  });

  test('a listener that closes accepts the connections that are complete', async () => {
    using io = checkedIo().io;
    const { accepted, listener, local } = listen(io, '127.0.0.1');
    const { port } = local;
    // Another process's connection: this one's event loop does not run until the end of the test.
    const { stdout } = spawnSync(process.execPath, ['-e', CONNECT_ONCE, String(port)], {
      encoding: 'utf8',
      timeout: 20_000,
    });
    assert.equal(stdout, 'connected');
    listener.close();
    assert.equal(accepted.length, 1);
    for (const { socket } of accepted) socket.close();
  });

  test('a kernel that does not count descriptors is asked before each connection', async () => {
    const calls = checkCalls(openSystemCalls());
    const room = new DescriptorRoom(calls, () => 0);
    using io = new KernelIo(calls, new ManualClock());
    io.room.free = (fd) => room.free(fd);
    const { listener, reasons, accepted } = observedListener(io);
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => connected(io, listener.local)),
    );
    await until(() => accepted.length === 10);
    assert.deepEqual(reasons, []);
    for (const socket of [...accepted, ...clients]) socket.close();
    listener.close();
    assert.equal(calls.debug.open().length, 1);
  });

  test('a socket that cannot be watched is closed, and accepting is held back', async () => {
    const checked = checkCalls(openSystemCalls());
    let refuse = false;
    const ENOSPC = 28;
    using io = new KernelIo(
      {
        ...checked,
        epollCtl: (...all) =>
          refuse && all[1] === linux.EPOLL_CTL_ADD ? -1 : checked.epollCtl(...all),
        errno: () => (refuse ? ENOSPC : checked.errno()),
      },
      new ManualClock(),
    );
    const reasons: string[] = [];
    const listener = new StreamListener(
      io,
      { host: '127.0.0.1', port: 0 },
      { onSocket: (socket) => socket.close(), onPaused: (reason) => reasons.push(reason) },
    );
    refuse = true;
    const client = new Socket().connect((listener.local as IpAddress).port, '127.0.0.1');
    client.on('error', () => undefined);
    await until(() => reasons.length === 1);
    assert.deepEqual(reasons, ['epoll_ctl ENOSPC']);
    assert.equal(io.room.reserved, 0);
    refuse = false;
    client.destroy();
    listener.close();
    assert.equal(checked.debug.open().length, 1);
  });

  test('connects although errno is that of another call of the thread', async () => {
    const checked = checkCalls(openSystemCalls());
    let overwritten = 0;
    using io = new KernelIo(
      {
        ...checked,
        connect: (...all) => {
          overwritten = 1;
          return checked.connect(...all);
        },
        errno: () => (overwritten-- > 0 ? linux.EAGAIN : checked.errno()),
      },
      new ManualClock(),
    );
    const { accepted, listener, local } = listen(io);
    const socket = await connected(io, local);
    await until(() => accepted.length === 1);
    for (const each of [socket, ...accepted.map((one) => one.socket)]) each.close();
    listener.close();
    assert.equal(checked.debug.open().length, 1);
  });

  test('a connection that cannot be watched is reset, and never ends as if it were empty', async () => {
    const calls = checkCalls(openSystemCalls());
    let watches = true;
    using io = new KernelIo(
      {
        ...calls,
        epollCtl: (...all) => (watches ? calls.epollCtl(...all) : -1),
        errno: () => (watches ? calls.errno() : linux.ENOMEM),
      },
      new ManualClock(),
    );
    const { listener, local } = listen(io);
    watches = false;
    const client = new Socket().connect(local.port, '127.0.0.1');
    client.resume();
    const [error] = (await once(client, 'error')) as [unknown];
    assert.equal(codeOf(error), 'ECONNRESET');
    watches = true;
    listener.close();
  });

  test('accept4 without a descriptor is held back as well', async () => {
    const calls = checkCalls(openSystemCalls());
    const clock = new ManualClock();
    let exhausted = true;
    using io = new KernelIo(
      {
        ...calls,
        accept4: (...all) => (exhausted ? -1 : calls.accept4(...all)),
        errno: () => (exhausted ? linux.EMFILE : calls.errno()),
      },
      clock,
    );
    const { listener, reasons, accepted } = observedListener(io);
    const client = new Socket().connect((listener.local as IpAddress).port, '127.0.0.1');
    await until(() => reasons.length === 1);
    exhausted = false;
    clock.advance(20);
    await until(() => accepted.length === 1);
    assert.match(reasons[0] ?? '', /too many open files/);
    accepted[0]?.close();
    client.destroy();
    listener.close();
  });

  test('a listener that cannot be watched again is tried until it can', async () => {
    const checked = checkCalls(openSystemCalls());
    const clock = new ManualClock();
    const ENOSPC = 28;
    let failures = 0;
    using io = new KernelIo(
      {
        ...checked,
        epollCtl: (...all) => {
          if (failures === 0 || all[1] !== linux.EPOLL_CTL_ADD) return checked.epollCtl(...all);
          failures--;
          return -1;
        },
        errno: () => ENOSPC,
      },
      clock,
    );
    const { listener, reasons, accepted } = observedListener(io);
    const { port } = listener.local as IpAddress;
    // One that is lost, and the listener itself three times.
    failures = 4;
    const lost = new Socket().connect(port, '127.0.0.1').on('error', () => undefined);
    await until(() => reasons.length === 1);
    const client = new Socket().connect(port, '127.0.0.1');
    for (let looks = 0; looks < 3; looks++) clock.advance(20);
    assert.equal(failures, 0);
    assert.equal(accepted.length, 0);
    clock.advance(20);
    await until(() => accepted.length === 1);
    accepted[0]?.close();
    for (const socket of [lost, client]) socket.destroy();
    listener.close();
    assert.equal(checked.debug.open().length, 1);
  });

  test('a listener whose registration could not be removed is watched again all the same', async () => {
    const checked = checkCalls(openSystemCalls());
    const clock = new ManualClock();
    let keeps = false;
    using io = new KernelIo(
      {
        ...checked,
        accept4: (...all) => (keeps ? -1 : checked.accept4(...all)),
        errno: () => (keeps ? linux.EMFILE : checked.errno()),
        epollCtl: (...all) =>
          keeps && all[1] === linux.EPOLL_CTL_DEL ? -1 : checked.epollCtl(...all),
      },
      clock,
    );
    const { listener, reasons, accepted } = observedListener(io);
    keeps = true;
    const client = new Socket().connect((listener.local as IpAddress).port, '127.0.0.1');
    await until(() => reasons.length === 1);
    keeps = false;
    clock.advance(20);
    await until(() => accepted.length === 1);
    accepted[0]?.close();
    client.destroy();
    listener.close();
    assert.equal(checked.debug.open().length, 1);
  });

  test('a handler that throws leaves no descriptor open, and the address is freed', async () => {
    const { io, calls } = checkedIo();
    using _ = io;
    const listener = new StreamListener(
      io,
      { host: '127.0.0.1', port: 0 },
      {
        onSocket: () => {
          throw new Error('not wanted');
        },
      },
    );
    const { port } = listener.local as IpAddress;
    const client = new Socket().connect(port, '127.0.0.1').on('error', () => undefined);
    await once(client, 'connect');
    assert.throws(() => listener.close(), /not wanted/);
    client.destroy();
    assert.equal(calls.debug.open().length, 1);
    const next = new StreamListener(io, { host: '127.0.0.1', port }, { onSocket: () => undefined });
    next.close();
  });
});
