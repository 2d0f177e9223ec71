import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { partsOf, routeRequest } from '../../../src/clash-api/serve/controller.ts';
import { trafficOf } from '../../../../../test/support/dashboard/fake-monitor.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';
import { SECRET, ServedClash } from './served.ts';

describe('the paths of the controller', () => {
  const kindOf = (method: string, path: string, upgrades = false): string => {
    const parts = partsOf(path);
    const routed = parts && routeRequest(method, parts, upgrades);
    return routed?.kind === 'endpoint' ? routed.endpoint.path : (routed?.kind ?? 'invalid');
  };

  for (const [method, path, found] of [
    ['GET', '/', ''],
    ['GET', '//', 'no-path'],
    ['GET', '/proxies', '/proxies'],
    ['GET', '/proxies/', '/proxies'],
    ['GET', '/proxies/a%2Fb%20c', '/proxies/{name?}'],
    ['GET', '/proxies/x/delay', '/proxies/{name?}/delay'],
    ['GET', '/providers/proxies/p/healthcheck', '/providers/proxies/{provider?}/healthcheck'],
    [
      'GET',
      '/providers/proxies/p/n/healthcheck',
      '/providers/proxies/{provider?}/{name?}/healthcheck',
    ],
    ['GET', '/connections', '/connections'],
    ['GET', '/traffic', 'stream'],
    ['POST', '/traffic', 'no-method'],
    ['GET', '/restart', 'no-method'],
    ['GET', '/cache/dns/flush', 'no-method'],
    ['GET', '/nothing', 'no-path'],
    ['GET', '/proxies/%ff', 'invalid'],
    ['GET', `/${'a/'.repeat(50)}`, 'invalid'],
  ] as const) {
    test(`${method} ${path.slice(0, 40)}`, () => assert.equal(kindOf(method, path), found));
  }

  test('a WebSocket of connections is a stream', () => {
    assert.equal(kindOf('GET', '/connections', true), 'stream');
  });

  test('any target is routed or refused', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom('proxies', 'delay', '..', '%2f', '%', '?'));
    const path = fc.array(part, { maxLength: 12 }).map((parts) => `/${parts.join('/')}`);
    fc.assert(
      fc.property(
        path,
        fc.constantFrom('GET', 'PUT', 'X'),
        fc.boolean(),
        (target, method, upgrades) => {
          kindOf(method, target, upgrades);
        },
      ),
    );
  });
});

describe('access', () => {
  test('needs the secret, but for the files of a dashboard', async () => {
    await using clash = await ServedClash.start();
    const unauthorized = { message: 'Unauthorized' };
    for (const headers of [
      {},
      { Authorization: `Bearer ${SECRET}x` },
      { Authorization: SECRET },
      { Authorization: `bearer ${SECRET}` },
    ]) {
      const { status, json } = await clash.send('GET', '/version', headers);
      assert.deepEqual([status, json], [401, unauthorized]);
    }
    assert.equal((await clash.send('GET', `/version?token=${SECRET}`, {})).status, 401);
    assert.deepEqual((await clash.ask('GET', '/')).json, { hello: 'mihomo' });
  });

  test('pages of other origins are refused, those invited may read', async () => {
    await using clash = await ServedClash.start();
    const from = (origin: string) => ({ ...clash.authorized, Origin: origin });
    const foreign = await clash.send('GET', '/version', from('https://evil.example'));
    assert.equal(foreign.status, 403);
    assert.equal(foreign.headers['access-control-allow-origin'], undefined);
    const rebound = { ...clash.authorized, Host: `evil.example:${clash.port}` };
    assert.equal((await clash.send('GET', '/version', rebound)).status, 403);
    const invited = await clash.send('GET', '/version', from('https://board.example'));
    assert.equal(invited.status, 200);
    assert.equal(invited.headers['access-control-allow-origin'], 'https://board.example');
    const wrong = await clash.send('GET', '/version', { Origin: 'https://board.example' });
    assert.equal(wrong.status, 401);
    assert.equal(wrong.headers['access-control-allow-origin'], 'https://board.example');
  });

  test('a preflight request of an invited page is allowed, to a private network too', async () => {
    await using clash = await ServedClash.start();
    const preflight = (origin: string) =>
      clash.send('OPTIONS', '/proxies/Video', {
        Origin: origin,
        'Access-Control-Request-Method': 'PUT',
        'Access-Control-Request-Private-Network': 'true',
      });
    const { status, headers } = await preflight('https://board.example');
    assert.equal(status, 204);
    assert.equal(headers['access-control-allow-methods'], 'GET, POST, PUT, PATCH, DELETE');
    assert.equal(headers['access-control-allow-headers'], 'Content-Type, Authorization');
    assert.equal(headers['access-control-allow-private-network'], 'true');
    assert.equal((await preflight('https://evil.example')).status, 403);
  });
});

describe('answers', () => {
  const cases: readonly (readonly [string, string, unknown, number, unknown])[] = [
    ['GET', '/proxies/nobody', undefined, 404, { message: 'Resource not found' }],
    [
      'PUT',
      '/proxies/Video',
      { name: 'nobody' },
      400,
      { message: 'Selector update error: proxy not exist' },
    ],
    [
      'PUT',
      '/proxies/Games',
      { name: 'Video' },
      400,
      { message: 'Selector update error: proxy not exist' },
    ],
    ['PUT', '/proxies/osaka', { name: 'x' }, 400, { message: 'Must be a Selector' }],
    ['PUT', '/proxies/Video', '{', 400, { message: 'Body invalid' }],
    ['PUT', '/proxies/Video', '[]', 400, { message: 'Body invalid' }],
    ['PUT', '/proxies/Video', '"x"', 400, { message: 'Body invalid' }],
    ['DELETE', '/proxies/Video', undefined, 400, { message: 'Body invalid' }],
    ['GET', '/group/osaka', undefined, 404, { message: 'Resource not found' }],
    [
      'GET',
      '/group/Video/delay?timeout=1000&url=http://a/',
      undefined,
      503,
      { message: 'Weir has no control socket, which delay tests need' },
    ],
    ['GET', '/proxies/osaka/delay', undefined, 400, { message: 'Body invalid' }],
    ['GET', '/dns/query?name=a.example', undefined, 500, { message: 'DNS section is disabled' }],
    ['POST', '/cache/fakeip/flush', undefined, 204, undefined],
    ['PATCH', '/configs', { mode: 'rule' }, 204, undefined],
    ['PATCH', '/configs', { mode: 'Rule' }, 204, undefined],
    [
      'PATCH',
      '/configs',
      { mode: 'global' },
      400,
      { message: 'Weir has no modes: pick a target for the default route instead' },
    ],
    ['PATCH', '/configs', { mode: 'nonsense' }, 400, { message: 'Body invalid' }],
    ['PATCH', '/configs', { tun: { enable: false } }, 204, undefined],
    ['PATCH', '/configs', { 'no-such-key': 1 }, 204, undefined],
    ['PUT', '/configs', { path: '', payload: '' }, 204, undefined],
    ['PUT', '/configs', { path: 'x.yaml' }, 400, { message: 'path is not a absolute path' }],
    ['DELETE', '/connections', undefined, 204, undefined],
    ['DELETE', '/connections/7', undefined, 204, undefined],
    ['DELETE', '/connections/no-id', undefined, 204, undefined],
    ['GET', '/providers/rules', undefined, 200, { providers: {} }],
    ['PUT', '/providers/rules/x', undefined, 404, { message: 'Resource not found' }],
    ['PUT', '/providers/proxies/default', undefined, 204, undefined],
    ['GET', '/storage/zashboard', undefined, 200, null],
    [
      'GET',
      '/logs',
      undefined,
      502,
      { message: 'Weir has no control socket, which its log is followed through' },
    ],
    ['GET', '/logs?level=loud', undefined, 400, { message: 'Body invalid' }],
  ];
  test('are those of mihomo', async (t) => {
    await using clash = await ServedClash.start();
    for (const [method, path, body, status, json] of cases) {
      await t.test(`${method} ${path}`, async () => {
        const reply = await clash.ask(method, path, body);
        assert.deepEqual([reply.status, reply.json], [status, json]);
      });
    }
  });

  test('of unknown paths and methods are those of its router', async () => {
    await using clash = await ServedClash.start();
    const unknown = await clash.ask('GET', '/nothing');
    assert.deepEqual([unknown.status, unknown.text], [404, '404 page not found\n']);
    const method = await clash.ask('GET', '/restart');
    assert.deepEqual([method.status, method.text, method.headers.allow], [405, '', 'POST']);
  });

  test('a pick is one of the API, and one that is in force is not sent', async () => {
    await using clash = await ServedClash.start();
    assert.equal(
      (await clash.ask('PUT', '/proxies/Video', { name: 'tokyo (outbound)' })).status,
      204,
    );
    assert.equal((await clash.ask('PUT', '/proxies/GLOBAL', { name: 'osaka' })).status, 204);
    assert.equal((await clash.ask('PUT', '/proxies/Video', { name: 'osaka' })).status, 204);
    assert.deepEqual(
      clash.asked.filter(([method]) => method === 'PUT'),
      [
        ['PUT', '/v1/routes/Video', '{"target":"tokyo"}'],
        ['PUT', '/v1/routes/default', '{"target":"osaka"}'],
      ],
    );
  });

  test('what Weir refuses is told in its words', async () => {
    await using clash = await ServedClash.start({}, { 'PUT /v1/routes/Video': 422 });
    const { status, json } = await clash.ask('PUT', '/proxies/Video', { name: 'direct' });
    assert.deepEqual([status, json], [400, { message: 'Selector update error: no such thing' }]);
  });

  test('connections wait for the first totals', async () => {
    await using clash = await ServedClash.start();
    const reply = clash.ask('GET', '/connections');
    clash.monitor.traffic = trafficOf({ up: 5, down: 6 });
    clash.monitor.changed();
    const { json } = await reply;
    const { connections, ...totals } = json as { readonly connections: readonly { id: string }[] };
    assert.deepEqual(totals, { uploadTotal: 5, downloadTotal: 6, memory: 0 });
    assert.deepEqual(
      connections.map(({ id }) => id),
      ['7'],
    );
  });

  test('bodies are bounded', async () => {
    await using clash = await ServedClash.start();
    const { status } = await clash.ask('PUT', '/proxies/Video', { name: 'x'.repeat(100_000) });
    assert.equal(status, 413);
  });
});

test('a dashboard’s files are served, and nothing else', async () => {
  await using folder = await scratch();
  const ui = join(folder.path, 'ui');
  await mkdir(join(ui, 'assets'), { recursive: true });
  await writeFile(join(folder.path, 'secret.txt'), 'secret');
  await writeFile(join(ui, 'index.html'), '<!doctype html>');
  await writeFile(join(ui, 'assets', 'app.js'), 'export {};');
  await writeFile(join(ui, '.hidden'), 'hidden');
  await symlink(join(folder.path, 'secret.txt'), join(ui, 'link.txt'));
  await symlink('assets/app.js', join(ui, 'inner.js'));
  await using clash = await ServedClash.start({ ui });
  const get = async (path: string) => {
    const reply = await clash.send('GET', path, {});
    return [reply.status, reply.text, reply.headers['content-type']];
  };
  assert.deepEqual(await get('/ui/'), [200, '<!doctype html>', 'text/html; charset=utf-8']);
  assert.deepEqual(await get('/ui/assets/app.js'), [
    200,
    'export {};',
    'text/javascript; charset=utf-8',
  ]);
  assert.deepEqual(await get('/ui/inner.js'), [
    200,
    'export {};',
    'text/javascript; charset=utf-8',
  ]);
  const redirect = await clash.send('GET', '/ui', {});
  assert.deepEqual([redirect.status, redirect.headers.location], [307, '/ui/']);
  for (const path of [
    '/ui/nothing.js',
    '/ui/link.txt',
    '/ui/.hidden',
    '/ui/assets',
    '/ui/assets/',
    '/ui/../secret.txt',
    '/ui/%2e%2e/secret.txt',
    '/ui/..%2fsecret.txt',
    '/ui/assets/..%5c..%5csecret.txt',
    '/ui/%00',
  ]) {
    assert.equal((await clash.send('GET', path, {})).status, 404, path);
  }
  assert.equal((await clash.send('PUT', '/ui/index.html', {})).status, 405);
});

test('an upgrade is refused without the secret, for other paths and for malformed requests', async () => {
  await using clash = await ServedClash.start();
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  const statusOf = async (path: string, more = ''): Promise<string> => {
    const socket = connect(clash.port, '127.0.0.1');
    socket.end(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${clash.port}\r\nConnection: Upgrade\r\n` +
        `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${more}\r\n`,
    );
    return (await text(socket)).split('\r\n')[0] ?? '';
  };
  assert.match(await statusOf('/traffic'), /401/);
  assert.match(await statusOf('/traffic?token=wrong'), /401/);
  assert.match(await statusOf(`/proxies?token=${SECRET}`), /404/);
  assert.match(await statusOf(`/logs?token=${SECRET}`), /502/);
  assert.match(await statusOf(`/connections?interval=x&token=${SECRET}`), /400/);
  assert.match(
    await statusOf(`/traffic?token=${SECRET}`, 'Origin: https://evil.example\r\n'),
    /403/,
  );
});
