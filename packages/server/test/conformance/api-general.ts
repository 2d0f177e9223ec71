import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, test } from 'node:test';
import { ROUTES } from '../../src/api/routes.ts';
import { readAll, readUpTo } from '../../../../test/support/read.ts';
import { serve, type Carrier } from './api-harness.ts';

/** A path of every route, and what its `Allow` names. */
const PATHS: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/v1/routes', ['GET', 'HEAD']],
  ['/v1/routes/default', ['PUT']],
  ['/v1/reload', ['POST']],
  ['/v1/connections', ['GET', 'HEAD', 'DELETE']],
  ['/v1/connections/7', ['DELETE']],
  ['/v1/connections/events', ['GET', 'HEAD']],
  ['/v1/traffic', ['GET', 'HEAD']],
  ['/v1/version', ['GET', 'HEAD']],
  ['/v1/health', ['GET', 'HEAD']],
];

/** The last four are methods that Node's parser does not know. */
const METHODS = [
  'GET',
  'HEAD',
  'PUT',
  'POST',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'BREW',
  'get',
  'Get',
  'X-ANY',
];

const UNKNOWN_PATHS = [
  '/',
  '/v1',
  '/v1/',
  '/v2/health',
  '/health',
  '/v1/health/',
  '/v1//health',
  '//v1/health',
  '/v1/Health',
  '/V1/health',
  '/v1/%68ealth',
  '/v1/health%20',
  '/v1/./health',

  '/v1/../v1/health',
  '/v1/routes/',
  '/v1/routes/a/b',
  '/v1/connections/',
  '/v1/connections/1/2',

  '/v1/connections/events/',
  '/v1/traffic/x',
  '/v1/reload/',
  '/favicon.ico',
  '/index.html',
  '*',
];

export function generalSuite(carrier: Carrier): void {
  describe('in general', () => {
    test('the health response is served whenever the API serves', async () => {
      await using api = await serve(carrier);
      api.app.routesError = new Error('the files are gone');
      api.app.tracker.traffic.stop();
      const { status, text } = await api.client.get('/v1/health');
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(text), { status: 'ok' });
    });

    test('the version is that of the app', async () => {
      await using api = await serve(carrier);
      assert.deepEqual(await api.client.json('GET', '/v1/version'), { version: '9.8.7-test' });
    });

    test('JSON responses have the content type of JSON', async () => {
      await using api = await serve(carrier);
      for (const path of ['/v1/health', '/v1/version', '/v1/routes', '/v1/connections']) {
        const { headers } = await api.client.get(path);
        assert.equal(headers['content-type'], 'application/json', path);
      }
    });

    test('a query is ignored where a path takes none', async () => {
      await using api = await serve(carrier);
      for (const path of ['/v1/health?', '/v1/health?x=1&y', '/v1/routes?%FF', '/v1/version??']) {
        assert.equal((await api.client.get(path)).status, 200, path);
      }
    });

    test('a path that the router does not have is 404 without a body', async () => {
      await using api = await serve(carrier);
      for (const path of UNKNOWN_PATHS) {
        for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
          const { status, text } = await api.client.ask(method, path);
          assert.deepEqual([status, text], [404, ''], `${method} ${path}`);
        }
      }
    });

    test('a known path with another method, OPTIONS included, is 405 with Allow and no body', async () => {
      await using api = await serve(carrier);
      for (const [path, allowed] of PATHS) {
        for (const method of METHODS.filter((name) => !allowed.includes(name))) {
          const reply = await api.client.raw(
            `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
          );
          const [head = '', body] = reply.split('\r\n\r\n');
          assert.match(head, /^HTTP\/1\.1 405 /, `${method} ${path}`);
          const allow = /^Allow: (.*)$/m.exec(head)?.[1]?.split(',');
          assert.deepEqual(allow?.sort(), [...allowed].sort(), `${method} ${path}`);
          assert.equal(body, '', `${method} ${path}`);
        }
      }
    });

    test('the list of routes here is that of the server', () => {
      const methods = ROUTES.map(({ method, path }) => `${method} ${path}`).sort();
      const known = PATHS.flatMap(([path, names]) =>
        names
          .filter((name) => name !== 'HEAD')
          .map(
            (name) =>
              `${name} ${path.replace('/connections/7', '/connections/{flow}').replace('/routes/default', '/routes/{group}')}`,
          ),
      );
      assert.deepEqual(methods, known.sort());
    });

    test('HEAD runs the GET handler and sends its head without the body', async () => {
      await using api = await serve(carrier);
      for (const path of ['/v1/health', '/v1/version', '/v1/routes', '/v1/connections']) {
        const [get, head] = [await api.client.get(path), await api.client.ask('HEAD', path)];
        assert.deepEqual([head.status, head.text], [200, ''], path);
        for (const name of ['content-type', 'content-length', 'etag']) {
          assert.equal(head.headers[name], get.headers[name], `${path} ${name}`);
        }
      }
    });

    test('HEAD of an event stream is its head, and then over', async () => {
      await using api = await serve(carrier);
      for (const path of ['/v1/traffic', '/v1/connections/events']) {
        const { status, headers, text } = await api.client.ask('HEAD', path);
        assert.deepEqual([status, text], [200, '']);
        assert.equal(headers['content-type'], 'text/event-stream');
      }
    });

    test('HEAD of a failing GET has its status', async () => {
      await using api = await serve(carrier);
      api.app.routesError = new Error('boom');
      assert.equal((await api.client.ask('HEAD', '/v1/routes')).status, 500);
    });

    test('no response carries a CORS header', async () => {
      await using api = await serve(carrier, 'sesame');
      const origin = { origin: 'https://page.example', 'access-control-request-method': 'PUT' };
      for (const [method, path] of [
        ['GET', '/v1/health'],
        ['OPTIONS', '/v1/routes/default'],
        ['GET', '/nowhere'],
      ] as const) {
        const { headers } = await api.client.ask(method, path, { headers: origin });
        const cors = Object.keys(headers).filter((name) => name.startsWith('access-control'));
        assert.deepEqual(cors, [], path);
      }
    });

    test('HTTP/2 is not supported', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
      assert.doesNotMatch(reply, /^HTTP\/1\.1 2/);
      const upgrade =
        'GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n' +
        'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n';
      const socket = await api.client.connect();
      socket.end(upgrade);
      const { data } = await readAll(socket);
      assert.match(data.toString(), /^HTTP\/1\.1 200 /);
    });

    test('HTTP/1.0 is served, and closed without a keep-alive request', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw('GET /v1/health HTTP/1.0\r\n\r\n');
      assert.match(reply, /^HTTP\/1\.1 200 OK\r\n/);
      assert.ok(reply.endsWith('{"status":"ok"}'));
    });

    test('a request needs no Host', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw('GET /v1/health HTTP/1.1\r\nConnection: close\r\n\r\n');
      assert.match(reply, /^HTTP\/1\.1 200 /);
    });

    test('an absolute target is served by its path', async () => {
      await using api = await serve(carrier);
      for (const [target, status] of [
        ['http://localhost/v1/health', 200],
        ['http://127.0.0.1:1/v1/health?x#y', 200],
        ['http://localhost', 404],
        ['http://localhost/v1/nothing', 404],
      ] as const) {
        const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
        assert.match(await api.client.raw(request), new RegExp(`^HTTP/1\\.1 ${status} `), target);
      }
    });

    test('a client that has half-closed still gets a response that takes a while', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw(
        'GET /v1/routes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
        { end: true },
      );
      assert.match(reply, /^HTTP\/1\.1 200 /);
    });

    test('one connection serves many requests', async () => {
      await using api = await serve(carrier);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        for (let i = 0; i < 20; i++) {
          const path = i % 2 === 0 ? '/v1/health' : '/v1/nothing';
          const { status } = await api.client.get(path, { agent });
          assert.equal(status, i % 2 === 0 ? 200 : 404);
        }
      } finally {
        agent.destroy();
      }
    });

    test('pipelined requests are served one after the other', async () => {
      await using api = await serve(carrier);
      const body = '{"target":"osaka"}';
      const put =
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n\r\n${body}`;
      const get = 'GET /v1/routes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
      const reply = await api.client.raw(put + get);
      assert.equal(reply.match(/HTTP\/1\.1 200 OK\r\n/g)?.length, 2, reply);
      assert.match(reply, /"default":\{"pick":"osaka","target":"osaka"\}/);
    });

    test('a client that sends far more than it reads is dropped, and only that client', async () => {
      await using api = await serve(carrier);
      const held = api.app.hold('lock');
      const socket = await api.client.connect();
      const body = '{"target":"osaka"}';
      socket.write(
        'PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      await held.reached;
      const closed = readAll(socket);
      socket.write('GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(10_000));
      await closed;
      assert.equal((await api.client.get('/v1/health')).status, 200);
      held.release();
    });

    test('bytes after a request with Connection: close do not abort its response', async () => {
      await using api = await serve(carrier);
      for (const path of ['/v1/health', '/v1/routes']) {
        const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
        const reply = await api.client.raw(`${request}rubbish\r\n\r\n${request}`);
        assert.equal(reply.match(/HTTP\/1\.1 /g)?.length, 1);
        assert.match(reply, /^HTTP\/1\.1 200 /);
      }
    });

    test('a client that expects 100 Continue gets it only when its body is wanted', async () => {
      await using api = await serve(carrier);
      const head = (type: string): string =>
        `PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n` +
        'Content-Length: 18\r\nExpect: 100-continue\r\n\r\n';
      const refused = await api.client.raw(head('text/plain'));
      assert.match(refused, /^HTTP\/1\.1 400 /);
      const socket = await api.client.connect();
      socket.write(head('application/json'));
      const invitation = await readUpTo(socket, 25);
      assert.equal(invitation?.toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
      socket.end('{"target":"osaka"}');
      const { data } = await readAll(socket);
      // Its half-close counts as disconnecting: it gets nothing, or the response, and no harm is done.
      assert.match(data.toString(), /^(HTTP\/1\.1 200 |$)/);
      assert.equal((await api.client.get('/v1/health')).status, 200);
    });

    test('an unknown expectation is ignored', async () => {
      await using api = await serve(carrier);
      const { status } = await api.client.get('/v1/health', { headers: { expect: 'miracles' } });
      assert.equal(status, 200);
    });

    test('CONNECT is no route either', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw('CONNECT example.com:443 HTTP/1.1\r\n\r\n');
      assert.match(reply, /^HTTP\/1\.1 404 /);
    });

    test('invalid HTTP gets a 400 response and is closed', async () => {
      await using api = await serve(carrier);
      for (const bytes of [
        '\r\n\r\nrubbish\r\n\r\n',
        '\x16\x03\x01\x02\x00',
        'GET /v1/health HTTP/3.0\r\n\r\n',
      ]) {
        const reply = await api.client.raw(bytes);
        assert.match(reply, /^HTTP\/1\.1 400 /, JSON.stringify(bytes));
      }
    });

    test('a head that is too long is 431', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw(
        `GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(300 << 10)}\r\n\r\n`,
      );
      assert.match(reply, /^HTTP\/1\.1 431 /);
    });

    test('a defect of the app is an internal error to the client, and is logged', async () => {
      await using api = await serve(carrier);
      api.app.routesError = new TypeError('undefined is not a function');
      const { status, text } = await api.client.get('/v1/routes');
      assert.equal(status, 500);
      assert.deepEqual(JSON.parse(text), { error: 'internal error: undefined is not a function' });
      assert.match(api.log.lines.join('\n'), /^error: API task failed: TypeError: undefined/);
    });

    test('requests write no log lines, refused ones included', async () => {
      await using api = await serve(carrier, 'sesame');
      await api.unauthenticated.get('/v1/health');
      await api.client.get('/nowhere');
      await api.client.pick('absent', 'tokyo');
      await api.client.raw('rubbish\r\n\r\n');
      assert.deepEqual(api.log.lines, []);
    });
  });
}
