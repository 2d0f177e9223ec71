import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get as httpGet, type Agent, type Server } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer, get as httpsGet } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import * as undici from 'undici';
import { WebSocket as WsSocket, WebSocketServer } from 'ws';
import type { Weir } from '../../packages/weir/src/index.ts';
import { TestAuthority } from '../support/data/test-certificates.ts';
import { startLibrary } from '../support/library/start.ts';
import { blackhole, freedom } from '../support/process/config.ts';
import { eventually, within } from '../support/wait.ts';

const TWO = freedom('direct') + freedom('other') + blackhole();
/** `direct` in another version. */
const CHANGED = freedom('direct', 'address_family = "ipv4_only"') + freedom('other') + blackhole();

interface Site extends AsyncDisposable {
  readonly url: string;
  /** Connections accepted so far. */
  readonly accepted: () => number;
}

async function site(
  server: Server | ReturnType<typeof createSecureServer>,
  scheme: string,
): Promise<Site> {
  let accepted = 0;
  server.on('connection', () => accepted++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://localhost:${port}/`,
    accepted: () => accepted,
    async [Symbol.asyncDispose]() {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const hello = (): Promise<Site> =>
  site(
    createServer((_, response) => void response.end('hello')),
    'http',
  );

interface HeldProxy extends AsyncDisposable {
  readonly port: number;
  /** Resolves at a request to connect, with the function that has it accepted. */
  readonly asked: Promise<() => void>;
}

/** An HTTP proxy that connects when it is told to. */
async function heldProxy(): Promise<HeldProxy> {
  const { promise: asked, resolve } = Promise.withResolvers<() => void>();
  const server = createServer().listen(0, '127.0.0.1');
  server.on('connect', ({ url }, client) => {
    const { hostname, port } = new URL(`http://${url}`);
    resolve(() => {
      const upstream = connect(Number(port), hostname);
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      pipeline(client, upstream, client, () => undefined);
    });
  });
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

async function fetchText(url: string, agent: Agent): Promise<string> {
  const request = (url.startsWith('https') ? httpsGet : httpGet)(url, { agent });
  const [response] = await once(request, 'response');
  return text(response);
}

const flows = (weir: Weir): number => weir.connections().flows.length;

const none = (weir: Weir): Promise<unknown> => eventually('no flow', () => flows(weir) === 0);

describe('agents', () => {
  test('keep connections, until a reload replaces their outbound', async () => {
    await using origin = await hello();
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent({ outbound: 'direct', user: 'ann' });
    for (let count = 0; count < 3; count++) {
      assert.equal(await fetchText(origin.url, agents.http), 'hello');
      await eventually('an idle connection', () => Object.keys(agents.http.freeSockets).length > 0);
    }
    assert.equal(origin.accepted(), 1);
    assert.equal(host.weir.connections().flows[0]?.user, 'ann');
    // Nothing about this outbound changes.
    await host.change(`${TWO}[route]\ndefault = "other"\n`);
    assert.equal(flows(host.weir), 1);
    await host.change(CHANGED);
    await none(host.weir);
    assert.equal(await fetchText(origin.url, agents.http), 'hello');
    assert.equal(origin.accepted(), 2);
    agents.destroy();
    await none(host.weir);
  });

  test('close idle connections when the routes change, if the rules decide', async () => {
    await using origin = await hello();
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent();
    assert.equal(await fetchText(origin.url, agents.http), 'hello');
    await host.change(`${TWO}[route]\ndefault = "other"\n`);
    await none(host.weir);
    assert.equal(await fetchText(origin.url, agents.http), 'hello');
    assert.equal(host.weir.connections().flows[0]?.outbound, 'other');
  });

  test('finish a request whose outbound is replaced, and do not keep its connection', async () => {
    const waiting = Promise.withResolvers<() => void>();
    await using origin = await site(
      createServer((_, response) => {
        response.write('before ');
        waiting.resolve(() => response.end('after'));
      }),
      'http',
    );
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent({ outbound: 'direct' });
    const response = fetchText(origin.url, agents.http);
    const finish = await waiting.promise;
    await host.change(CHANGED);
    finish();
    assert.equal(await response, 'before after');
    await none(host.weir);
  });

  test('end a request after their time limit', async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue({ dns: ['localhost'] });
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent({ timeout: 50, ca: authority.cert });
    const silent = (): void => undefined;
    for (const [scheme, server] of [
      ['http', createServer(silent)],
      ['https', createHttpsServer({ cert, key }, silent)],
    ] as const) {
      await using origin = await site(server, scheme);
      const request = scheme === 'http' ? httpGet : httpsGet;
      const pending = request(origin.url, { agent: agents[scheme] });
      await within(once(pending, 'timeout'), `the time limit of ${scheme}`);
      pending.destroy();
      await once(pending, 'error');
    }
  });

  test('refuse a request to a unix socket, which would go elsewhere', async () => {
    await using host = await startLibrary(TWO);
    const { http } = host.weir.agent();
    const pending = httpGet({ socketPath: '/run/x.sock', agent: http });
    const [error] = await once(pending, 'error');
    assert.ok(error instanceof TypeError);
    assert.match(error.message, /socketPath/);
  });

  // Of other names got reads every key, and rejects it.
  test('have no enumerable key beside http and https', async () => {
    await using host = await startLibrary(TWO);
    const keys: string[] = [];
    for (const key in host.weir.agent()) keys.push(key);
    assert.deepEqual(keys, ['http', 'https']);
  });

  test('verify the certificate of the destination', async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue({ dns: ['localhost'] });
    const ca = authority.cert;
    const server = createHttpsServer({ cert, key }, (_, response) => void response.end('secret'));
    await using origin = await site(server, 'https');
    await using host = await startLibrary(TWO);
    const trusting = host.weir.agent({ ca });
    assert.equal(await fetchText(origin.url, trusting.https), 'secret');
    const strict = host.weir.agent();
    await assert.rejects(fetchText(origin.url, strict.https), { code: /CERT|ISSUER|VERIFY/ });
    trusting.destroy();
  });

  test('report a destination that is not reached', async () => {
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent({ outbound: 'block' });
    await assert.rejects(fetchText('http://a.example/', agents.http), {
      name: 'DialError',
      code: 'blocked',
    });
  });

  test('carry WebSockets', async () => {
    const server = createServer();
    new WebSocketServer({ server }).on('connection', (peer) =>
      peer.on('message', (data, isBinary) => peer.send(data, { binary: isBinary })),
    );
    await using origin = await site(server, 'ws');
    await using host = await startLibrary(TWO);
    const client = new WsSocket(origin.url, { agent: host.weir.agent().http });
    await once(client, 'open');
    assert.equal(flows(host.weir), 1);
    client.send('hello');
    const [data] = await once(client, 'message');
    assert.equal(String(data), 'hello');
    client.close();
    await none(host.weir);
  });

  test('open no connection once the proxy is stopping', async () => {
    await using origin = await hello();
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent();
    const { hostname, port } = new URL(origin.url);
    const socket = await host.weir.connect({ host: hostname, port: Number(port) });
    const stopped = host.weir.stop({ graceMs: 3_600_000 });
    await assert.rejects(fetchText(origin.url, agents.http), { code: 'aborted' });
    socket.destroy();
    await within(stopped, 'the stop');
  });

  test('do not delay a stop by idle connections', async () => {
    await using origin = await hello();
    await using host = await startLibrary(TWO);
    const agents = host.weir.agent();
    await fetchText(origin.url, agents.http);
    await eventually('an idle connection', () => Object.keys(agents.http.freeSockets).length > 0);
    // Within the limit of this wait, and not after the hour.
    await within(host.weir.stop({ graceMs: 3_600_000 }), 'the stop');
  });
});

describe('a dispatcher', () => {
  test('serves the global fetch and that of undici, by one connection', async () => {
    await using origin = await hello();
    await using host = await startLibrary(TWO);
    const dispatcher = host.weir.dispatcher({ outbound: 'direct' });
    assert.ok(dispatcher instanceof undici.Dispatcher);
    assert.equal(await (await fetch(origin.url, { dispatcher })).text(), 'hello');
    const one = { connections: 1 };
    const own = host.weir.dispatcher({ outbound: 'direct', undici, agent: one });
    assert.equal(await (await undici.fetch(origin.url, { dispatcher: own })).text(), 'hello');
    assert.equal(
      await (await undici.request(origin.url, { dispatcher: own })).body.text(),
      'hello',
    );
    assert.equal(origin.accepted(), 2);
    await own.close();
    await assert.rejects(undici.request(origin.url, { dispatcher: own }));
    await eventually('one flow', () => flows(host.weir) === 1);
  });

  test('dials anew after a reload has replaced the outbound, and finishes what has begun', async () => {
    const waiting = Promise.withResolvers<() => void>();
    const server = createServer((request, response) => {
      if (request.url !== '/slow') return void response.end('hello');
      response.write('before ');
      return waiting.resolve(() => response.end('after'));
    });
    await using origin = await site(server, 'http');
    await using host = await startLibrary(TWO);
    const dispatcher = host.weir.dispatcher({ undici, outbound: 'direct' });
    const slow = await undici.request(`${origin.url}slow`, { dispatcher });
    const finish = await waiting.promise;
    await host.change(CHANGED);
    const { body } = await undici.request(origin.url, { dispatcher });
    assert.equal(await body.text(), 'hello');
    const versions = host.weir.connections().flows.map((flow) => flow.outbound_version);
    assert.deepEqual(versions, [1, 2]);
    finish();
    assert.equal(await slow.body.text(), 'before after');
    await eventually('the end of the first', () => flows(host.weir) === 1);
    await dispatcher.destroy();
    await none(host.weir);
  });

  test('keeps no connection whose outbound was replaced during its dial', async () => {
    await using origin = await hello();
    await using upstream = await heldProxy();
    const proxy = `[[outbound]]\ntag = "slow"\nprotocol = "http"\nserver = "127.0.0.1"\nport = ${upstream.port}\n`;
    await using host = await startLibrary(proxy + TWO);
    const { weir } = host;
    const dispatcher = weir.dispatcher({ undici, agent: { connections: 1 } });
    const first = undici.request(origin.url, { dispatcher });
    const release = await upstream.asked;
    await host.change(`${proxy + TWO}[route]\ndefault = "other"\n`);
    release();
    await (await first).body.text();
    await (await undici.request(origin.url, { dispatcher })).body.text();
    await eventually('the end of the first', () => flows(weir) === 1);
    assert.equal(weir.connections().flows[0]?.outbound, 'other');
    assert.equal(origin.accepted(), 2);
    await dispatcher.destroy();
  });

  test('speaks HTTP/2 where the destination does, with the CA that it is given', async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue({ dns: ['localhost'] });
    const ca = authority.cert;
    const server = createSecureServer({ cert, key }, (request, response) =>
      response.end(request.httpVersion),
    );
    await using origin = await site(server, 'https');
    await using host = await startLibrary(TWO);
    const dispatcher = host.weir.dispatcher({ tls: { ca }, allowH2: true });
    assert.equal(await (await fetch(origin.url, { dispatcher })).text(), '2.0');
    await dispatcher.destroy();
    const strict = host.weir.dispatcher();
    await assert.rejects(fetch(origin.url, { dispatcher: strict }), TypeError);
  });

  test('carries the WebSocket of undici', async () => {
    const server = createServer();
    new WebSocketServer({ server }).on('connection', (peer) =>
      peer.on('message', (data, isBinary) => peer.send(data, { binary: isBinary })),
    );
    await using origin = await site(server, 'ws');
    await using host = await startLibrary(TWO);
    const dispatcher = host.weir.dispatcher({ undici });
    const client = new undici.WebSocket(origin.url, { dispatcher });
    await once(client, 'open');
    assert.equal(flows(host.weir), 1);
    client.send('hello');
    const [{ data }] = await once(client, 'message');
    assert.equal(data, 'hello');
    client.close();
    await once(client, 'close');
    await none(host.weir);
  });

  test('needs undici 7 or newer', async () => {
    await using host = await startLibrary(TWO);
    // @ts-expect-error not a module
    assert.throws(() => host.weir.dispatcher({ undici: {} }), { code: 'no_undici' });
  });
});
