import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiClient } from '@weir/client/api';
import { ActionError } from '../../../../src/dashboard/parameters.ts';
import type { PageSource } from '../../../../src/dashboard/contract.ts';
import type { PageFiles } from '../../../../src/dashboard/files/page-files.ts';
import { DashboardServer } from '../../../../src/dashboard/server/dashboard-server.ts';
import { patch } from '../../../../src/dashboard/shared/delta.ts';
import type { JsonValue, SessionInfo } from '../../../../src/dashboard/shared/protocol.ts';
import { WeirError } from '@weir/base';
import {
  DashboardClient,
  DashboardStream,
} from '../../../../../../test/support/dashboard/client.ts';
import { fakeMonitor } from '../../../../../../test/support/dashboard/fake-monitor.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

const NO_FILES: PageFiles = { get: async () => undefined, scriptHashes: ['sha256-AAA='] };

interface Started extends AsyncDisposable {
  readonly server: DashboardServer;
  readonly defects: readonly unknown[];
  readonly monitor: ReturnType<typeof fakeMonitor>;
}

async function start(source: Partial<PageSource> = {}, readOnly = false): Promise<Started> {
  const defects: unknown[] = [];
  const monitor = fakeMonitor();
  const server = await DashboardServer.start({
    listen: { kind: 'tcp', host: '127.0.0.1', port: 0, tls: undefined },
    files: NO_FILES,
    context: {
      monitor,
      api: new ApiClient({ kind: 'unix', path: '/nowhere' }, undefined),
      socket: undefined,
      config: undefined,
      env: {},
      readOnly,
      now: () => 0,
    },
    sources: [{ topics: [], actions: [], ...source }],
    version: '1.2.3',
    onDefect: (error) => defects.push(error),
  });
  return { server, defects, monitor, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe('access to a dashboard', () => {
  test('a link gives a cookie that scripts cannot read, bound to the port', async () => {
    await using started = await start();
    const client = await DashboardClient.signIn(started.server.newLink());
    const { port } = new URL(started.server.url);
    assert.match(
      client.setCookie,
      new RegExp(`^weir-dashboard-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`),
    );
    const info = (await (await client.ask('GET', '/session')).json()) as SessionInfo;
    assert.deepEqual(info, { version: '1.2.3', readOnly: false, key: client.key });
  });

  test('everything but the page needs the cookie and the key', async () => {
    await using started = await start();
    const { cookie, key } = await DashboardClient.signIn(started.server.newLink());
    for (const [path, method] of [
      ['/session', 'GET'],
      ['/streams', 'POST'],
      ['/actions/a', 'POST'],
      ['/streams/a', 'PUT'],
    ] as const) {
      const client = new DashboardClient(started.server.url);
      const ask = async (): Promise<number> =>
        (await client.ask(method, path, method === 'GET' ? undefined : [])).status;
      assert.equal(await ask(), 401, path);
      client.key = key;
      assert.equal(await ask(), 401, path);
      client.key = '-';
      client.cookie = cookie;
      assert.equal(await ask(), 401, path);
    }
  });

  test('every response has the policy', async () => {
    await using started = await start();
    for (const path of ['/', '/session', '/../../etc/passwd', '/streams']) {
      const { headers } = await fetch(started.server.url + path);
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /^default-src 'none'; script-src 'self' 'sha256-AAA='; /);
      assert.doesNotMatch(policy, /unsafe|\*/);
      assert.match(policy, /require-trusted-types-for 'script'/);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
      assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
    }
  });

  test('other methods are refused', async () => {
    await using started = await start();
    const client = await DashboardClient.signIn(started.server.newLink());
    const response = await client.ask('DELETE', '/session');
    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), 'GET, POST');
    assert.equal((await client.ask('POST', '/', {})).status, 405);
  });
});

describe('actions', () => {
  const actions: PageSource['actions'] = [
    { name: 'echo', changes: false, run: async (parameters) => parameters },
    { name: 'change', changes: true, run: async () => 'done' },
    {
      name: 'conflict',
      changes: false,
      run: () => {
        throw new ActionError('conflict', 'changed\u202e', { hint: 'reload', details: { a: 1 } });
      },
    },
    {
      name: 'fail',
      changes: false,
      run: () => {
        throw new WeirError('lost', 'the API is lost');
      },
    },
    {
      name: 'defect',
      changes: false,
      run: () => {
        throw new Error('secret detail');
      },
    },
  ];

  test('have a result, or an error with what the page shows', async () => {
    await using started = await start({ actions });
    const client = await DashboardClient.signIn(started.server.newLink());
    assert.deepEqual(await client.act('echo', { a: [1] }), { status: 200, body: { a: [1] } });
    assert.deepEqual(await client.act('conflict'), {
      status: 409,
      body: {
        error: {
          code: 'conflict',
          message: 'changed\\u{202e}',
          hints: ['reload'],
          details: { a: 1 },
        },
      },
    });
    assert.equal((await client.act('fail')).status, 422);
    assert.equal((await client.act('none')).status, 404);
    const defect = await client.act('defect');
    assert.equal(defect.status, 500);
    assert.doesNotMatch(JSON.stringify(defect.body), /secret detail/);
    assert.equal(started.defects.length, 1);
  });

  test('that change something are refused with --read-only', async () => {
    await using started = await start({ actions }, true);
    const client = await DashboardClient.signIn(started.server.newLink());
    const { status, body } = await client.act('change');
    assert.equal(status, 403);
    assert.equal((body as { error: { code: string } }).error.code, 'read-only');
    assert.equal((await client.act('echo')).status, 200);
  });
});

describe('the stream of a page', () => {
  const counting = (): {
    source: Pick<PageSource, 'topics'>;
    set: (value: JsonValue) => void;
    held: () => number;
  } => {
    let value: JsonValue = { n: 0 };
    let held = 0;
    const topic = {
      name: 'count',
      view: (parameters: JsonValue): JsonValue => {
        if (parameters === 'bad') throw new ActionError('bad-request', 'no');
        return { value, parameters };
      },
      hold: () => {
        held++;
        return { [Symbol.dispose]: () => void held-- };
      },
    };
    return { source: { topics: [topic] }, set: (next) => (value = next), held: () => held };
  };

  test('has whole values first, then numbered differences', async () => {
    const { source, set } = counting();
    await using started = await start(source);
    const client = await DashboardClient.signIn(started.server.newLink());
    await using stream = await DashboardStream.open(client, [
      { id: 7, topic: 'count', parameters: 'p' },
    ]);
    assert.match(stream.hello.stream, /^[\w-]{43}$/);
    const first = await stream.next();
    assert.deepEqual(first, {
      n: 1,
      watch: 7,
      delta: { set: { value: { n: 0 }, parameters: 'p' } },
    });
    set({ n: 5 });
    started.monitor.changed();
    const second = await stream.next();
    assert.deepEqual(second, {
      n: 2,
      watch: 7,
      delta: { keys: { value: { keys: { n: { set: 5 } } } } },
    });
    assert.ok('delta' in first && 'delta' in second);
    assert.deepEqual(patch(patch(undefined, first.delta), second.delta), {
      value: { n: 5 },
      parameters: 'p',
    });
  });

  test('changes its watches, and releases what they held', async () => {
    const { source, held } = counting();
    await using started = await start(source);
    const client = await DashboardClient.signIn(started.server.newLink());
    await using stream = await DashboardStream.open(client, [
      { id: 1, topic: 'count', parameters: 1 },
    ]);
    await stream.next();
    assert.equal(held(), 1);
    const path = `/streams/${stream.hello.stream}`;
    const watches = [
      { id: 1, topic: 'count', parameters: 2 },
      { id: 2, topic: 'count', parameters: 3 },
    ];
    assert.equal((await client.ask('PUT', path, watches)).status, 204);
    assert.deepEqual(await stream.next(), {
      n: 2,
      watch: 1,
      delta: { keys: { parameters: { set: 2 } } },
    });
    assert.equal((await stream.next()).watch, 2);
    assert.equal(held(), 2);
    assert.equal((await client.ask('PUT', path, [])).status, 204);
    assert.equal(held(), 0);
    assert.equal((await client.ask('PUT', path, [{}])).status, 400);
    const other = await DashboardClient.signIn(started.server.newLink());
    assert.equal((await other.ask('PUT', path, [])).status, 404);
  });

  test('reports topics that have no value, once', async () => {
    const { source } = counting();
    await using started = await start(source);
    const client = await DashboardClient.signIn(started.server.newLink());
    const watches = [
      { id: 1, topic: 'none', parameters: null },
      { id: 2, topic: 'count', parameters: 'bad' },
    ];
    await using stream = await DashboardStream.open(client, watches);
    const codes = [await stream.next(), await stream.next()].map((message) =>
      'error' in message ? message.error.code : '',
    );
    assert.deepEqual(codes, ['not-found', 'bad-request']);
    await client.ask('PUT', `/streams/${stream.hello.stream}`, [
      { id: 2, topic: 'count', parameters: 'good' },
    ]);
    assert.deepEqual(await stream.next(), {
      n: 3,
      watch: 2,
      delta: { set: { value: { n: 0 }, parameters: 'good' } },
    });
  });

  test('holds the monitor while there are streams, of which there are few', async () => {
    await using started = await start(counting().source);
    const client = await DashboardClient.signIn(started.server.newLink());
    const streams = [];
    for (let n = 0; n < 4; n++) streams.push(await DashboardStream.open(client, []));
    assert.equal(started.monitor.holds, 1);
    const refused = await client.ask('POST', '/streams', []);
    assert.equal(refused.status, 429);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
    await eventually('the release of the monitor', () => started.monitor.holds === 0);
  });

  test('and actions refuse parameters that are nested without need', async () => {
    const { source } = counting();
    const actions = [{ name: 'echo', changes: false, run: async (given: JsonValue) => given }];
    await using started = await start({ ...source, actions });
    const client = await DashboardClient.signIn(started.server.newLink());
    const deep = JSON.parse(`${'['.repeat(8000)}${']'.repeat(8000)}`) as unknown;
    const watches = [{ id: 1, topic: 'count', parameters: deep }];
    assert.equal((await client.ask('POST', '/streams', watches)).status, 400);
    assert.equal((await client.act('echo', deep)).status, 400);
    assert.equal((await client.act('echo', { a: [{ b: [1] }] })).status, 200);
    assert.deepEqual(started.defects, []);
  });
});
