import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import test from 'node:test';
import { open, portOf } from '../support/data/address.ts';
import { freedom, httpIn, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { ask, httpConnect } from '../support/peers/http-client.ts';
import { freePort } from '../support/ports.ts';
import { readUpTo } from '../support/read.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import type { Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';
import { api, apiAddresses, apiOf, editConfig } from './api-support.ts';

/*
 * Requests for the proxy itself: its inbounds, and its API.
 */

const TRANSPARENT = '[inbound.settings]\nallow_transparent = true';

/** An address of this host that is not loopback. */
const elsewhere = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

test('a transparent request for its own inbound gets a 508 response', async (t) => {
  await using weir = await Weir.start(
    `${api()}${httpIn('http', `listen = "::"\n${TRANSPARENT}`)}${freedom()}`,
  );
  const port = portOf(weir.address('http'));
  const client = await apiOf(weir);
  const hosts = [
    `localhost`,
    '0.0.0.0',
    '127.0.0.1',
    '127.3.2.1',
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]',
  ];
  if (elsewhere !== undefined) hosts.push(elsewhere);
  for (const host of hosts) {
    await t.test(host, async () => {
      const socket = await open({ host: '127.0.0.1', port });
      const { status } = await ask(socket, `GET / HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
      socket.destroy();
      assert.equal(status, 508);
    });
  }
  const { text } = await client.get('/v1/connections');
  assert.match(text, /"flows":\[\]/);
  await weir.child.until(
    'the line',
    ({ stderr }) => / WARN .*http -> tcp localhost/.exec(stderr)?.[0],
  );
});

test('a chain over two inbounds of one process works', async () => {
  await using weir = await Weir.start(socksIn() + httpIn() + freedom());
  const inner = weir.address('http');
  const { status, socket } = await httpConnect(inner, `127.0.0.1:${portOf(weir.address('socks'))}`);
  socket.destroy();
  assert.equal(status, 200);
});

test('an outbound whose server is its own inbound ends after a bounded number of rounds', async () => {
  const port = await freePort();
  await using weir = await Weir.start(
    httpIn('http').replace(/port = 0/, `port = ${port}`) +
      proxyOut('self', 'http', { host: '127.0.0.1', port }),
  );
  const { status, socket } = await httpConnect(weir.address('http'), 'target.invalid:80');
  socket.destroy();
  assert.ok(status >= 400);
  await weir.child.until('the line', ({ stderr }) => /has passed \d+ inbounds/.exec(stderr)?.[0]);
});

test(
  'the API without a secret is for clients of this host alone',
  { skip: elsewhere === undefined },
  async () => {
    await using weir = await Weir.start(
      api() + httpIn('http', 'listen = "0.0.0.0"') + httpIn('inner') + freedom(),
    );
    await apiOf(weir);
    const [address] = apiAddresses(weir);
    assert.ok(address);
    const port = portOf(weir.address('http'));
    const from = async (host: string, target: string): Promise<number> => {
      const { status, socket } = await httpConnect({ host, port }, target);
      socket.destroy();
      return status;
    };
    assert.equal(await from('127.0.0.1', `127.0.0.1:${portOf(address)}`), 200);
    assert.equal(await from(elsewhere ?? '', `127.0.0.1:${portOf(address)}`), 403);
    assert.equal(await from(elsewhere ?? '', `localhost:${portOf(address)}`), 403);
    const through = await httpConnect(
      { host: elsewhere ?? '', port },
      `127.0.0.1:${portOf(weir.address('inner'))}`,
    );
    assert.equal(through.status, 200);
    const nested = `CONNECT 127.0.0.1:${portOf(address)} HTTP/1.1\r\nHost: x\r\n\r\n`;
    assert.equal((await ask(through.socket, nested)).status, 403);
    through.socket.destroy();
  },
);

test(
  'a client of another host does not reach the API through an outbound to another inbound, before and after a reload',
  { skip: elsewhere === undefined },
  async () => {
    const port = await freePort();
    const config = (inner: number): string =>
      api() +
      socksIn('socks', 'listen = "0.0.0.0"') +
      socksIn('inner').replace('port = 0', `port = ${inner}`) +
      freedom() +
      proxyOut('chain', 'socks', { host: '127.0.0.1', port: inner }) +
      '[route]\ndefault = "direct"\n' +
      rule('chain', 'inbound_tag = ["socks"]');
    await using weir = await Weir.start(config(port));
    const client = await apiOf(weir);
    const [target] = apiAddresses(weir);
    assert.ok(target && !('path' in target));
    const NOT_ALLOWED = 2;
    const entrance = portOf(weir.address('socks'));
    const from = (host: string): Promise<number> =>
      socksReply({ host, port: entrance }, { host: target.host, port: portOf(target) });
    assert.equal(await from('127.0.0.1'), 0);
    assert.equal(await from(elsewhere ?? ''), NOT_ALLOWED);
    const moved = await freePort();
    await editConfig(weir, () => config(moved));
    await client.json('POST', '/v1/reload');
    assert.equal(await from('127.0.0.1'), 0);
    assert.equal(await from(elsewhere ?? ''), NOT_ALLOWED);
  },
);

/** An outbound over gRPC to an inbound of the same process. */
function grpcToItself(port: number): string {
  const way: Way = { protocol: 'vless', carrier: { network: 'grpc' } };
  const server = { host: '127.0.0.1', port };
  return weirIn(way, { tag: 'grpc', port }) + weirOut(way, server, { tag: 'self' });
}

test(
  'a client of another host does not share a connection of one of this host on its way to the API',
  { skip: elsewhere === undefined },
  async () => {
    await using weir = await Weir.start(
      api() +
        socksIn('socks', 'listen = "0.0.0.0"') +
        grpcToItself(await freePort()) +
        freedom() +
        '[route]\ndefault = "direct"\n' +
        rule('self', 'inbound_tag = ["socks"]'),
    );
    const client = await apiOf(weir);
    const target = apiAddresses(weir)[0];
    assert.ok(target && !('path' in target));
    const port = portOf(weir.address('socks'));
    const request = `GET /v1/health HTTP/1.1\r\nHost: ${target.host}:${portOf(target)}\r\n\r\n`;
    const through = (host: string): Promise<Socket> =>
      socksConnect({ host, port }, { host: target.host, port: portOf(target) });
    const local = await through('127.0.0.1');
    assert.equal((await ask(local, request)).status, 200);
    const foreign = await through(elsewhere ?? '');
    foreign.write(request);
    assert.equal(await readUpTo(foreign, 1), undefined);
    await weir.child.until('the refusal', ({ stderr }) => /has no secret: only/.exec(stderr)?.[0]);
    await eventually('the session and flow of the local client alone', async () => {
      const { text } = await client.get('/v1/connections');
      return text.match(/"inbound":"grpc"/g)?.length === 2;
    });
    local.destroy();
    foreign.destroy();
  },
);

test('a circle over a shared connection ends after a bounded number of rounds', async () => {
  await using weir = await Weir.start(socksIn() + grpcToItself(await freePort()));
  const socket = await socksConnect(weir.address('socks'), { host: 'target.invalid', port: 80 });
  socket.write('x');
  assert.equal(await readUpTo(socket, 1), undefined);
  socket.destroy();
  await weir.child.until('the line', ({ stderr }) => /has passed 16 inbounds/.exec(stderr)?.[0]);
});

test('a request that loops over another path is recognized by its Via', async () => {
  await using weir = await Weir.start(httpIn('http', TRANSPARENT) + freedom());
  const { once } = await import('node:events');
  const { createServer } = await import('node:http');
  const origin = createServer((request, response) => response.end(request.headers.via));
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const bound = origin.address();
  assert.ok(typeof bound === 'object' && bound);
  const socket = await open(weir.address('http'));
  socket.write(
    `GET http://127.0.0.1:${bound.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  const text = String(Buffer.concat(await socket.toArray()));
  const via = /1\.1 [0-9a-f]{16}/.exec(text)?.[0];
  assert.ok(via);
  const again = await open(weir.address('http'));
  const { status } = await ask(
    again,
    `GET http://127.0.0.1:${bound.port}/ HTTP/1.1\r\nHost: x\r\nVia: 1.0 a, ${via}\r\n\r\n`,
  );
  again.destroy();
  origin.close();
  assert.equal(status, 508);
});
