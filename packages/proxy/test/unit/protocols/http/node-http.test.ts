import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  type Server,
} from 'node:http';
import {
  connect as connectTcp,
  createServer as createTcpServer,
  type AddressInfo,
  type Socket,
} from 'node:net';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@weir/io/time';
import { toDialError } from '@weir/io';
import { relay } from '@weir/io/links';
import { SocketLink } from '@weir/io/sockets';
import type { Dispatcher, StreamRequest } from '../../../../src/protocols/contract.ts';
import { createHttpInbound } from '../../../../src/protocols/http/inbound.ts';
import { createHttpOutbound } from '../../../../src/protocols/http/outbound.ts';
import { inboundContext } from '../../../../../../test/support/protocols/inbound-context.ts';
import { freePort } from '../../../../../../test/support/ports.ts';
import { eventually } from '../../../../../../test/support/wait.ts';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import {
  carrierOf,
  Peer,
  quietLog,
  session,
} from '../../../../../../test/support/protocols/http/support.ts';

/** Dials destinations; the open flows can be counted. */
class DirectDispatcher implements Dispatcher {
  opened = 0;
  live = 0;

  async stream(request: StreamRequest): Promise<void> {
    const { destination } = request;
    const socket = connectTcp({ ...destination, allowHalfOpen: true });
    try {
      await once(socket, 'connect');
    } catch (error) {
      throw toDialError(error, destination);
    }
    this.opened++;
    this.live++;
    const counter = { addUp: () => undefined, addDown: () => undefined };
    await relay(await request.accept(), new SocketLink(socket), counter, systemClock);
    this.live--;
  }

  packets(): Promise<void> {
    return Promise.reject(new Error('no test needs packets'));
  }
}

const listen = async (server: Server | ReturnType<typeof createTcpServer>): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

async function text(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const BIG = Buffer.alloc(3 << 20, 'weir');

const serve: RequestListener = (request, response) => {
  const respond = async (): Promise<void> => {
    switch (request.url ?? '') {
      case '/echo': {
        response.writeHead(200, { 'X-Length': request.headers['content-length'] ?? 'chunked' });
        for await (const chunk of request) response.write(chunk);
        response.end();
        break;
      }
      case '/big':
        response.writeHead(200, { 'Content-Length': BIG.length }).end(BIG);
        break;
      case '/close':
        response.writeHead(200, { Connection: 'close' }).end('closing');
        break;
      case '/trailers':
        response.writeHead(200, { Trailer: 'X-Sum' });
        response.write('body');
        response.addTrailers({ 'X-Sum': '42' });
        response.end();
        break;
      case '/hints':
        response.writeEarlyHints({ link: '</a.css>; rel=preload' });
        response.end('hinted');
        break;
      case '/headers':
        response.end(JSON.stringify(request.rawHeaders));
        break;
      default:
        response.writeHead(404).end('no such page');
    }
  };
  respond().catch(() => response.destroy());
};

describe('the HTTP inbound between node:http clients and origins', () => {
  const dispatcher = new DirectDispatcher();
  const inbound = createHttpInbound(
    undefined,
    inboundContext('http-in', { dispatcher, clock: systemClock }, { sniffing: false }),
    { accounts: [], allowTransparent: false },
  );
  let sessions = 0;
  const proxy = createTcpServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sessions++;
    void inbound
      .serve(carrierOf(new SocketLink(socket)), session)
      .catch(() => undefined)
      .finally(() => sessions--);
  });
  const origin = createServer(serve);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let proxyPort = 0;
  let originPort = 0;

  before(async () => {
    origin.on('upgrade', (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n',
      );
      socket.pipe(socket);
    });
    proxyPort = await listen(proxy);
    originPort = await listen(origin);
  });

  after(() => {
    agent.destroy();
    proxy.close();
    origin.close();
    origin.closeAllConnections();
  });

  /** A request through the proxy; `path` is that at the origin. */
  async function ask(
    path: string,
    options: RequestOptions = {},
    body?: string | Buffer,
  ): Promise<IncomingMessage> {
    const request = httpRequest({
      host: '127.0.0.1',
      port: proxyPort,
      path: `http://127.0.0.1:${originPort}${path}`,
      agent,
      ...options,
    });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }

  test('carries bodies of any framing over one connection and one flow', async () => {
    const opened = dispatcher.opened;
    const sized = await ask('/echo', { method: 'POST', headers: { 'Content-Length': 5 } }, 'hello');
    assert.equal(sized.headers['x-length'], '5');
    assert.equal(await text(sized), 'hello');
    const headers = { 'Transfer-Encoding': 'chunked' };
    const chunked = await ask('/echo', { method: 'PUT', headers }, 'in chunks');
    assert.equal(chunked.headers['x-length'], 'chunked');
    assert.equal(await text(chunked), 'in chunks');
    assert.equal(await text(await ask('/missing')), 'no such page');
    assert.equal((await text(await ask('/big'))).length, BIG.length);
    assert.equal(await text(await ask('/big', { method: 'HEAD' })), '');
    assert.equal(await text(await ask('/echo')), '');
    assert.equal(dispatcher.opened, opened + 1);
  });

  test('echoes a large body while it is still being sent', async () => {
    const response = await ask('/echo', { method: 'POST', agent: false }, BIG);
    assert.ok(Buffer.from(await text(response)).equals(BIG));
  });

  test('opens a new flow when the origin closes the old one', async () => {
    assert.equal(await text(await ask('/close')), 'closing');
    assert.equal(await text(await ask('/hints')), 'hinted');
  });

  test('passes trailers and interim responses on', async () => {
    const trailed = await ask('/trailers');
    assert.equal(await text(trailed), 'body');
    assert.deepEqual(trailed.trailers, { 'x-sum': '42' });
    const request = httpRequest({
      host: '127.0.0.1',
      port: proxyPort,
      path: `http://127.0.0.1:${originPort}/hints`,
    });
    const information = once(request, 'information');
    const answered = once(request, 'response');
    request.end();
    const [hint] = (await information) as [{ statusCode: number }];
    assert.equal(hint.statusCode, 103);
    const [response] = (await answered) as [IncomingMessage];
    assert.equal(await text(response), 'hinted');
  });

  test('adds nothing but Via to a request', async () => {
    const response = await ask('/headers', { headers: { 'X-Name': 'v' }, agent: false });
    const headers: unknown = JSON.parse(
      (await text(response)).replace(/1\.1 [0-9a-f]{16}/, '1.1 (name)'),
    );
    assert.deepEqual(headers, [
      'Host',
      `127.0.0.1:${originPort}`,
      'X-Name',
      'v',
      'Via',
      '1.1 (name)',
      'Connection',
      'close',
    ]);
  });

  test('waits for 100 Continue', async () => {
    const request = httpRequest({
      host: '127.0.0.1',
      port: proxyPort,
      method: 'POST',
      path: `http://127.0.0.1:${originPort}/echo`,
      headers: { Expect: '100-continue', 'Content-Length': 4 },
    });
    request.flushHeaders();
    await once(request, 'continue');
    request.end('body');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(await text(response), 'body');
  });

  test('upgrades', async () => {
    const request = httpRequest({
      host: '127.0.0.1',
      port: proxyPort,
      path: `http://127.0.0.1:${originPort}/`,
      headers: { Connection: 'Upgrade', Upgrade: 'echo' },
    });
    request.end();
    const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket];
    socket.write('through the tunnel');
    const [echoed] = (await once(socket, 'data')) as [Buffer];
    assert.equal(echoed.toString(), 'through the tunnel');
    socket.end();
    await once(socket, 'close');
  });

  test('responds 502 for an unreachable origin and continues', async () => {
    const port = await freePort();
    const refused = await ask('/', { path: `http://127.0.0.1:${port}/` });
    assert.equal(refused.statusCode, 502);
    assert.match(await text(refused), /refused/i);
    assert.equal(await text(await ask('/hints')), 'hinted');
  });

  test('serves the HTTP outbound', async () => {
    const outbound = createHttpOutbound(
      { account: undefined },
      {
        tag: 'up',
        family: 'auto',
        resolver: { resolve: () => Promise.reject(new Error('nothing is resolved here')) },
        clock: systemClock,
        log: quietLog,
        ownListeners: new OwnListeners(),
        shared: new KeptObjects(),
        server: { host: '127.0.0.1', port: proxyPort },
        dial: async () => {
          const socket = connectTcp({ port: proxyPort, host: '127.0.0.1', allowHalfOpen: true });
          await once(socket, 'connect');
          return carrierOf(new SocketLink(socket));
        },
      },
    );
    const { signal } = new AbortController();
    const tunnel = new Peer(
      await outbound.connect({ host: '127.0.0.1', port: originPort }, { signal }),
    );
    await tunnel.send('GET /hints HTTP/1.0\r\n\r\n');
    await tunnel.end();
    assert.match(await tunnel.rest(), /hinted$/);
  });

  test('leaves nothing behind', async () => {
    agent.destroy();
    await eventually(
      () => `${sessions} sessions and ${dispatcher.live} flows are left`,
      () => sessions === 0 && dispatcher.live === 0,
    );
  });
});
