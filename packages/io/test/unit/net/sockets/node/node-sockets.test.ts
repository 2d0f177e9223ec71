import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { DeadlineError } from '../../../../../src/net/errors.ts';
import { connectTcp } from '../../../../../src/net/sockets/node/node-sockets.ts';
import type { DialledSocket } from '../../../../../src/net/sockets/sockets.ts';
import { freePort } from '../../../../../../../test/support/ports.ts';

async function listen(t: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => sockets.delete(socket));
    onConnection(socket);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const never = (): AbortSignal => new AbortController().signal;

test('a dialled carrier moves bytes both ways and half-closes', async (t) => {
  const port = await listen(t, (socket) => socket.pipe(socket));
  const { link } = await connectTcp('127.0.0.1', port, { signal: never() });
  await link.write(Buffer.from('there and back'));
  await link.closeWrite();
  assert.equal(Buffer.from((await link.read()) ?? []).toString(), 'there and back');
  assert.equal(await link.read(), undefined);
  assert.equal(await link.closed, undefined);
});

test('a dialled carrier knows both of its ends and counts its wire bytes', async (t) => {
  const accepted = Promise.withResolvers<Socket>();
  const port = await listen(t, accepted.resolve);
  const carrier = await connectTcp('127.0.0.1', port, { signal: never() });
  const socket = await accepted.promise;
  assert.deepEqual(carrier.remote, { host: '127.0.0.1', port });
  assert.deepEqual(carrier.local, { host: '127.0.0.1', port: socket.remotePort });
  await carrier.link.write(Buffer.alloc(10));
  assert.equal(carrier.wire.bytesWritten, 10);
  carrier.link.destroy();
});

test('a server of this process finds the port of a dial that was asked for it too early', async (t) => {
  let dialled: DialledSocket | undefined;
  const accepted = Promise.withResolvers<readonly [number | undefined, number | undefined]>();
  const port = await listen(t, (socket) => {
    accepted.resolve([dialled?.local?.port, socket.remotePort]);
  });
  const onSocket = (socket: DialledSocket): void => {
    dialled = socket;
    assert.equal(socket.local, undefined);
  };
  const { link } = await connectTcp('127.0.0.1', port, { signal: never(), onSocket });
  const [own, remote] = await accepted.promise;
  assert.ok(own);
  assert.equal(own, remote);
  link.destroy();
});

test('a port without a listener is reported as refused, with the address', async () => {
  const free = await freePort();
  await assert.rejects(connectTcp('127.0.0.1', free, { signal: never() }), (error: Error) => {
    assert.equal('code' in error && error.code, 'refused');
    assert.match(error.message, new RegExp(`^127\\.0\\.0\\.1:${free}: `));
    return true;
  });
});

test('an abort before the connect opens nothing', async () => {
  const signal = AbortSignal.abort(new Error('gone'));
  await assert.rejects(connectTcp('127.0.0.1', 1, { signal }), { code: 'aborted' });
});

test('an abort while connecting destroys the socket and reports the reason', async (t) => {
  const port = await listen(t, () => undefined);
  const controller = new AbortController();
  const dial = connectTcp('127.0.0.1', port, { signal: controller.signal });
  controller.abort(new DeadlineError('dialling took longer than 10 s'));
  await assert.rejects(dial, { code: 'timed_out' });
});

test('an abort after the connect leaves the carrier alone', async (t) => {
  const port = await listen(t, (socket) => socket.end('still here'));
  const controller = new AbortController();
  const { link } = await connectTcp('127.0.0.1', port, { signal: controller.signal });
  controller.abort();
  assert.equal(Buffer.from((await link.read()) ?? []).toString(), 'still here');
  link.destroy();
});
