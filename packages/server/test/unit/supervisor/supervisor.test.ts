import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { RegexCache } from '@weir/proxy/names';
import { systemClock, type Clock } from '@weir/io/time';
import { type Logger, silentLogger } from '@weir/base/log';
import { Supervisor } from '../../../src/supervisor/supervisor.ts';
import type { InboundSpec, ListenSpec, Spec } from '@weir/proxy/spec';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { inboundSpec, spec, wantedOf } from '../../../../../test/support/data/specs.ts';
import { freePort } from '../../../../../test/support/ports.ts';

/** A supervisor that remembers where its inbounds listen. */
function create(clock: Clock = systemClock) {
  const addresses = new Map<string, number>();
  const errors: string[] = [];
  const log: Logger = {
    ...silentLogger,
    error: (line) => errors.push(String(line)),
    info: (line) => {
      const match = /^inbound (\S+) listening on .*:(\d+)$/.exec(String(line));
      if (match) addresses.set(match[1] ?? '', Number(match[2]));
    },
    target: () => log,
  };
  const supervisor = new Supervisor({
    clock,
    log,
    regexes: new RegexCache(),
    ownListeners: new OwnListeners(),
  });
  const apply = (wanted: Spec) => supervisor.apply(wantedOf(wanted));
  const portOf = (tag: string): number => {
    const port = addresses.get(tag);
    assert.ok(port, `${tag} never listened`);
    return port;
  };
  return { supervisor, apply, portOf, errors };
}

const echo: Server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.pipe(socket);
});
echo.listen(0, '127.0.0.1');
await once(echo, 'listening');
after(() => echo.close());
const echoPort = (echo.address() as AddressInfo).port;

/** Opens a flow through a SOCKS inbound to the echo server; resolves with the connected socket. */
async function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  socket.on('error', () => undefined); // a stop cuts what is left
  socket.write(Buffer.from([5, 1, 0]));
  await readExactly(socket, 2);
  const request = [5, 1, 0, 1, 127, 0, 0, 1, echoPort >> 8, echoPort & 255];
  socket.write(Buffer.from(request));
  const reply = await readExactly(socket, 10);
  assert.equal(reply[1], 0, `refused with ${reply[1]}`);
  return socket;
}

async function readExactly(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const chunk = socket.read(length) as Buffer | null;
    if (chunk) return chunk;
    await once(socket, 'readable');
  }
}

async function echoes(socket: Socket): Promise<void> {
  socket.write('ping');
  assert.equal((await readExactly(socket, 4)).toString(), 'ping');
}

const quiet = { sniffing: false };
const at = (port: number): ListenSpec => ({ kind: 'ip', host: '127.0.0.1', port });

const serving = (...inbounds: InboundSpec[]): Spec => spec({ inbounds });

describe('a reload', () => {
  test('does not wait on a stop for origins that keep connections open', async () => {
    // Only the grace of the stop passes: whatever else waits for time waits for ever.
    const { supervisor, apply, portOf } = create({
      ...systemClock,
      after: (ms, callback) =>
        ms === 0 ? systemClock.after(0, callback) : { cancel: () => undefined },
    });
    const origin = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    });
    origin.listen(0, '127.0.0.1');
    await once(origin, 'listening');
    const settings = { accounts: [], allowTransparent: false };
    await apply(serving(inboundSpec('in', { ...quiet, protocol: 'http', settings })));
    const client = connect({ host: '127.0.0.1', port: portOf('in') });
    const { port } = origin.address() as AddressInfo;
    client.end(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
    await once(client.resume(), 'end');
    assert.equal(supervisor.tracker.flowCount, 1);
    await supervisor.stop(0);
    assert.equal(supervisor.tracker.flowCount, 0);
    origin.close();
  });
});

describe('a start', () => {
  /** A client that has sent all of its handshake, and that the process has had time to accept. */
  async function earlyClient(port: number): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, echoPort >> 8, echoPort & 255]));
    // Once this has come back, the event loop has taken what was there before it.
    const fence = connect({ host: '127.0.0.1', port: echoPort });
    fence.write('fence');
    await readExactly(fence, 5);
    fence.destroy();
    return socket;
  }

  test('serves a client that came before everything was bound', async () => {
    const { supervisor } = create();
    const port = await freePort();
    const inbounds = [inboundSpec('in', { ...quiet, listen: at(port) })];
    let early: Socket | undefined;
    const bound = async (): Promise<void> => {
      early = await earlyClient(port);
      assert.equal(early.readableLength, 0);
    };
    await supervisor.apply(wantedOf(spec({ inbounds })), { bound });
    assert.ok(early);
    assert.deepEqual([...(await readExactly(early, 2))], [5, 0]);
    assert.equal((await readExactly(early, 10))[1], 0);
    await echoes(early);
    early.destroy();
    await supervisor.stop(0);
  });

  test('closes such a client, and frees the address, when something cannot be bound', async () => {
    const { supervisor } = create();
    const port = await freePort();
    const inbounds = [inboundSpec('in', { ...quiet, listen: at(port) })];
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const bound = async (): Promise<void> => {
      (await earlyClient(port)).once('close', () => resolve());
      throw new Error('the API cannot be bound');
    };
    const start = supervisor.apply(wantedOf(spec({ inbounds })), { bound });
    await assert.rejects(start, /the API cannot be bound/);
    await closed;
    const probe = createServer().listen(port, '127.0.0.1');
    await once(probe, 'listening');
    probe.close();
    await supervisor.stop(0);
  });

  test('has what goes with it changed in the turn of its commit', async () => {
    const { supervisor } = create();
    const inbounds = [inboundSpec('in', { ...quiet, listen: at(await freePort()) })];
    const seen: [string, number][] = [];
    const see = (what: string) => seen.push([what, supervisor.inbounds]);
    await supervisor.apply(wantedOf(spec({ inbounds })), {
      bound: async () => {
        see('bound');
        setImmediate(() => see('next turn'));
      },
      committed: () => see('committed'),
    });
    assert.deepEqual(seen.slice(0, 2), [
      ['bound', 0],
      ['committed', 1],
    ]);
    const failure = new Error('not bound');
    const bound = (): Promise<void> => Promise.reject(failure);
    const committed = (): void => assert.fail('it was not committed');
    await assert.rejects(supervisor.apply(wantedOf(spec({})), { bound, committed }), failure);
    await supervisor.stop(0);
  });

  test('ends with a stop that comes while it binds', async () => {
    const { supervisor } = create();
    const port = await freePort();
    const inbounds = [inboundSpec('in', { ...quiet, listen: at(port) })];
    const bound = (): Promise<void> => supervisor.stop(0);
    const start = supervisor.apply(wantedOf(spec({ inbounds })), { bound });
    await assert.rejects(start, /the proxy is stopping/);
    const probe = createServer().listen(port, '127.0.0.1');
    await once(probe, 'listening');
    probe.close();
  });
});

describe('a stop', () => {
  test('waits for live sessions, and ends those that outlive the grace', async () => {
    const { supervisor, apply, portOf } = create();
    await apply(serving(inboundSpec('in', quiet)));
    const staying = await open(portOf('in'));
    const closed = new Promise((resolve) => staying.once('close', resolve));
    await supervisor.stop(1);
    await closed;
    assert.equal(supervisor.tracker.flowCount, 0);
    assert.deepEqual(supervisor.tracker.sessions(), []);
    await assert.rejects(apply(serving()), { code: 'stopped' });
  });
});

describe('a check', () => {
  test('builds everything and touches nothing', async () => {
    const { supervisor, apply, portOf } = create();
    await apply(serving(inboundSpec('in', quiet)));
    const { port } = echo.address() as AddressInfo;
    await supervisor.check(
      wantedOf(serving(inboundSpec('elsewhere', { ...quiet, listen: at(port) }))),
    );
    await echoes(await open(portOf('in')));
    await supervisor.stop(0);
  });
});
