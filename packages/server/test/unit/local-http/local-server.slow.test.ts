import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { request, type IncomingMessage, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { eventText, type SseStream } from '../../../src/local-http/event-stream.ts';
import { type LocalExchange, LocalHttpError } from '../../../src/local-http/local-exchange.ts';
import { LocalServer, type LocalServerOptions } from '../../../src/local-http/local-server.ts';
import { newToken, secretCheck } from '../../../src/local-http/secret.ts';
import { TestAuthority } from '../../../../../test/support/data/test-certificates.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const LOOPBACK = { kind: 'tcp', host: '127.0.0.1', port: 0, tls: undefined } as const;

const start = (
  serve: LocalServerOptions['serve'],
  more: Partial<LocalServerOptions> = {},
): Promise<LocalServer> =>
  LocalServer.start({
    listen: LOOPBACK,
    serve,
    onDefect: (error) => assert.fail(String(error)),
    ...more,
  });

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

async function ask(
  { port }: Pick<LocalServer, 'port'>,
  options: RequestOptions = {},
  body?: string,
): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, agent: false, ...options }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const { statusCode: status = 0, headers } = response;
  return { status, headers, body: Buffer.concat(chunks).toString() };
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

describe('a local server', () => {
  test('serves requests that pass the guard, and refuses others', async () => {
    await using server = await start((exchange) => exchange.sendJson(200, exchange.path), {
      headers: { 'X-Content-Type-Options': 'nosniff' },
    });
    assert.equal(server.url, `http://127.0.0.1:${server.port}`);
    const served = await ask(server, { path: '/a%20b?c=d' });
    assert.equal(served.body, '"/a%20b"');
    assert.equal(served.headers['x-content-type-options'], 'nosniff');
    const refused = await ask(server, { headers: { Host: 'evil.example' } });
    assert.equal(refused.status, 403);
    assert.deepEqual(JSON.parse(refused.body), {
      error: {
        code: 'foreign-host',
        message: 'the Host header does not name this server',
        hints: [],
      },
    });
    assert.equal(refused.headers['x-content-type-options'], 'nosniff');
  });

  test('sends the errors of its handler, but not the text of defects', async () => {
    const defects: unknown[] = [];
    await using server = await start(
      ({ path }) => {
        if (path === '/known')
          throw new LocalHttpError(409, 'conflict', 'changed', { hint: 'a\nb' });
        throw new Error('secret detail');
      },
      { onDefect: (error) => defects.push(error) },
    );
    const known = await ask(server, { path: '/known' });
    assert.equal(known.status, 409);
    assert.deepEqual(JSON.parse(known.body), {
      error: { code: 'conflict', message: 'changed', hints: ['a', 'b'] },
    });
    const defect = await ask(server);
    assert.equal(defect.status, 500);
    assert.doesNotMatch(defect.body, /secret detail/);
    assert.equal(defects.length, 1);
  });

  test('reads bodies of JSON up to the limit', async () => {
    await using server = await start(async (exchange) => {
      exchange.sendJson(200, await exchange.readJson(16));
    });
    const post = (body: string, headers: Record<string, string> = JSON_TYPE): Promise<Answer> =>
      ask(server, { method: 'POST', headers }, body);
    assert.equal((await post('{"a":1}')).body, '{"a":1}');
    assert.equal((await post('{"a":')).status, 400);
    assert.equal((await post('{}', { 'Content-Type': 'text/plain' })).status, 415);
    assert.equal((await post('{}', {})).status, 415);
    assert.equal((await post(' '.repeat(17))).status, 413);
    const chunked = await post(' '.repeat(17), { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' });
    assert.equal(chunked.status, 413);
  });

  test('answers bytes that are not HTTP with 400', async () => {
    await using server = await start(() => assert.fail('served'));
    const socket = connect(server.port ?? 0, '127.0.0.1');
    socket.end('\x16\x03\x01garbage\r\n\r\n');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    assert.match(chunk.toString(), /^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  test('at its bound of connections, the oldest that has shown no secret gives way', async () => {
    await using server = await start(
      (exchange) => {
        if (exchange.path === '/trusted') exchange.trust();
        exchange.send(204);
      },
      { maxConnections: 2 },
    );
    const begin = async (path: string): Promise<Socket> => {
      const socket = connect(server.port ?? 0, '127.0.0.1').on('error', () => undefined);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
      await once(socket, 'data');
      return socket;
    };
    const trusted = await begin('/trusted');
    const first = await begin('/');
    const closed = once(first, 'close');
    const second = await begin('/trusted');
    await closed;
    const third = connect(server.port ?? 0, '127.0.0.1').on('error', () => undefined);
    await once(third, 'close');
    for (const socket of [trusted, second]) {
      assert.equal(socket.readyState, 'open');
      socket.destroy();
    }
  });

  test('at its bound of connections, the source with the most gives way', async () => {
    await using server = await start((exchange) => exchange.send(204), { maxConnections: 3 });
    const begin = async (localAddress: string): Promise<Socket> => {
      const port = server.port ?? 0;
      const socket = connect({ port, host: '127.0.0.1', localAddress }).on(
        'error',
        () => undefined,
      );
      socket.write(`GET / HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
      await once(socket, 'data');
      return socket;
    };
    const other = await begin('127.0.0.2');
    const flood = [await begin('127.0.0.3'), await begin('127.0.0.3')];
    for (let at = 0; at < 3; at++) {
      const closed = once(flood[at] as Socket, 'close');
      flood.push(await begin('127.0.0.3'));
      await closed;
    }
    assert.equal(other.readyState, 'open');
    for (const socket of [other, ...flood]) socket.destroy();
  });

  test('for the public serves any host, and links of any page', async () => {
    await using server = await start((exchange) => exchange.send(204), { isPublic: true });
    const headers = {
      Host: 'proxy.example',
      Origin: 'https://other.example',
      'Sec-Fetch-Site': 'cross-site',
    };
    assert.equal((await ask(server, { headers })).status, 204);
  });

  test('shows a renewed certificate to clients that connect from then on', async () => {
    const authority = new TestAuthority();
    const issued = () => {
      const { cert, key } = authority.issue({ ip: ['127.0.0.1'] });
      const certificate = Buffer.from(cert);
      return { certificate, key: Buffer.from(key), names: new X509Certificate(certificate) };
    };
    const [first, second] = [issued(), issued()];
    await using server = await start((exchange) => exchange.send(204), {
      listen: { ...LOOPBACK, tls: first },
    });
    const shown = async (): Promise<string> => {
      const socket = connectTls({ host: '127.0.0.1', port: server.port, ca: authority.cert });
      await once(socket, 'secureConnect');
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    assert.equal(await shown(), first.names.fingerprint256);
    server.renewTls(second);
    assert.equal(await shown(), second.names.fingerprint256);
  });

  test('has few pipelined requests of a connection wait, and closes it for more', async () => {
    let served = 0;
    let isResponding = true;
    await using server = await start((exchange) => {
      served++;
      if (isResponding) exchange.send(204);
    });
    const pipelined = async (count: number): Promise<number> => {
      served = 0;
      const socket = connect(server.port ?? 0, '127.0.0.1').on('error', () => undefined);
      const head = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`;
      socket.write(`${head}\r\n`.repeat(count - 1));
      socket.end(`${head}Connection: close\r\n\r\n`);
      await once(socket.resume(), 'close');
      return served;
    };
    assert.equal(await pipelined(16), 16);
    isResponding = false;
    assert.equal(await pipelined(1000), 16);
  });

  test('knows a client with TLS that has shown a secret', async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue({ ip: ['127.0.0.1'] });
    const certificate = Buffer.from(cert);
    await using server = await start(
      (exchange) => {
        exchange.trust();
        exchange.send(204);
      },
      {
        listen: {
          ...LOOPBACK,
          tls: { certificate, key: Buffer.from(key), names: new X509Certificate(certificate) },
        },
        maxConnections: 1,
      },
    );
    const port = server.port ?? 0;
    const trusted = connectTls({ host: '127.0.0.1', port, ca: authority.cert });
    trusted.write(`GET / HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
    await once(trusted, 'data');
    const other = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(other, 'close');
    assert.equal(trusted.readyState, 'open');
    trusted.destroy();
  });

  test('closes connections on which a request takes too long', async () => {
    const times = { head: 20, request: 40, idle: 60_000 };
    await using server = await start(
      async (exchange) => exchange.sendJson(200, await exchange.readJson()),
      { times },
    );
    const post = `POST / HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\n`;
    for (const part of ['', 'GET / HT', post, `${post}Content-Length: 9\r\n\r\n{`]) {
      const socket = connect(server.port ?? 0, '127.0.0.1')
        .on('error', () => undefined)
        .resume();
      socket.write(part);
      await once(socket, 'close');
    }
  });

  test('closes connections that are idle', async () => {
    const times = { head: 10_000, request: 10_000, idle: 50 };
    await using server = await start((exchange) => exchange.send(204), { times });
    const socket = connect(server.port ?? 0, '127.0.0.1').resume();
    socket.write(`GET / HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
    await once(socket, 'close');
  });

  test('serves a request for an upgrade that it has not as any other', async () => {
    await using server = await start((exchange) => exchange.send(204));
    const headers = {
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AA',
    };
    assert.equal((await ask(server, { headers })).status, 204);
  });

  test('on a unix socket, which only its user can connect to', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'page.sock');
    await using server = await start((exchange) => exchange.send(204), {
      listen: { kind: 'unix', path },
    });
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal(server.url, undefined);
    const answer = await ask({ port: undefined }, { socketPath: path });
    assert.equal(answer.status, 204);
  });

  test('refuses an upgrade that does not pass the guard', async () => {
    await using server = await start(() => undefined, {
      upgrade: (_request, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    });
    const upgrade = async (origin: string): Promise<string> => {
      const socket = connect(server.port ?? 0, '127.0.0.1');
      socket.write(
        `GET / HTTP/1.1\r\nHost: ${server.address}\r\nOrigin: ${origin}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
      );
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return chunk.toString('latin1').slice(9, 12);
    };
    assert.equal(await upgrade(`http://${server.address}`), '101');
    assert.equal(await upgrade('http://evil.example'), '403');
  });

  test('names an address that is taken', async () => {
    await using server = await start(() => undefined);
    const listen = { ...LOOPBACK, port: server.port ?? 0 };
    await assert.rejects(
      start(() => undefined, { listen }),
      /cannot listen on 127\.0\.0\.1:\d+: address already in use/,
    );
  });
});

describe('a stream of events', () => {
  const streaming = async (): Promise<{
    server: LocalServer;
    opened: Promise<SseStream>;
  }> => {
    const { promise: opened, resolve } = Promise.withResolvers<SseStream>();
    const server = await start((exchange: LocalExchange) => resolve(exchange.openEvents()));
    return { server, opened };
  };

  const open = async ({ port }: LocalServer): Promise<IncomingMessage> => {
    const sent = request({ host: '127.0.0.1', port, agent: false }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response.on('error', () => undefined);
  };

  test('sends events, and ends', async () => {
    const { server, opened } = await streaming();
    await using _ = server;
    const response = await open(server);
    assert.equal(response.headers['content-type'], 'text/event-stream');
    const writer = await opened;
    writer.send(eventText(undefined, '{"n":1}'));
    writer.send(eventText('count', '2'));
    writer.end();
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    assert.equal(text, 'data: {"n":1}\n\nevent: count\ndata: 2\n\n');
  });

  test('disconnects a client that does not read, at a bounded backlog', async () => {
    const { server, opened } = await streaming();
    await using _ = server;
    const response = await open(server);
    response.pause();
    const writer = await opened;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    writer.onClose = resolve;
    const piece = 'x'.repeat(100_000);
    let sent = 0;
    while (writer.send(piece)) assert.ok(++sent < 1000);
    await closed;
    assert.equal(writer.closed, true);
    assert.equal(writer.send('late'), false);
    response.destroy();
  });

  test('is ready again once the client has taken everything', async () => {
    const { server, opened } = await streaming();
    await using _ = server;
    const response = await open(server);
    const writer = await opened;
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    writer.onReady = resolve;
    response.resume();
    writer.send('x'.repeat(1_000_000));
    assert.equal(writer.ready, false);
    await ready;
    assert.equal(writer.ready, true);
    response.destroy();
  });
});

test('a token is random, and is compared as a whole', () => {
  const token = newToken();
  assert.match(token, /^[\w-]{43}$/);
  assert.notEqual(newToken(), token);
  const check = secretCheck(token);
  assert.equal(check(token), true);
  assert.equal(check(`${token}a`), false);
  assert.equal(check(''), false);
});
