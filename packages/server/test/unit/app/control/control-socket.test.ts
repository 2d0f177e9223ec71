import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  followLog,
  openTunnel,
  requestDrain,
  requestLoadedFiles,
  requestLogFilter,
  requestProfile,
  requestReload,
  requestStatus,
  requestUserFlows,
} from '../../../../src/app/control/control-client.ts';
import type { ControlHandlers } from '../../../../src/app/control/control-handlers.ts';
import { RequestReader } from '../../../../src/app/control/control-http.ts';
import { ControlSocket } from '../../../../src/app/control/control-socket.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const STATUS = { version: '1', pid: 7, config: null, started_at: 1 };
const FLOWS = { inbound: 'in', removed: true, close: false };
const TUNNEL = { outbound: 'a & ü', host: '::1', port: 80 };

interface Asked {
  readonly name: string;
  readonly request: unknown;
}

const NO_LIMITS_REPORT = {
  kind: 'limits',
  file: null,
  state_file: null,
  accounts: [],
  more: 0,
  events: [],
};

/** A control socket whose handlers note what they are asked. */
async function controlled(over: Partial<ControlHandlers> = {}) {
  const folder = await scratch();
  const path = join(folder.path, 's');
  const asked: Asked[] = [];
  const note =
    (name: string, value: unknown) =>
    (request_?: unknown): Promise<unknown> => {
      asked.push({ name, request: request_ });
      return Promise.resolve(value);
    };
  const handlers: Record<keyof ControlHandlers, unknown> = {
    reload: note('reload', { kind: 'unchanged' }),
    setLogFilter: (text: string) => {
      asked.push({ name: 'log-level', request: text });
      return { kind: 'applied', summary: text };
    },
    status: note('status', STATUS),
    drain: note('drain', {
      kind: 'drain',
      since: null,
      flows: 0,
      sessions: 0,
      handshakes: 0,
      device_flows: 0,
    }),
    userFlows: note('user-flows', { kind: 'flows', count: 3 }),
    limits: note('limits', NO_LIMITS_REPORT),
    loadedFiles: note('loaded-files', { files: [], more: 0 }),
    profile: note('profile', { kind: 'profile', profile: null, heap: {}, versions: {} }),
    log: async (wanted: unknown, client: Socket) => {
      asked.push({ name: 'log', request: wanted });
      client.end('{"live":true}\n');
    },
    usage: async (wanted: unknown, client: Socket) => {
      asked.push({ name: 'usage', request: wanted });
      client.end();
    },
    followsUsage: () => false,
    endUsage: () => Promise.resolve(),
    connect: async (wanted: unknown, client: Socket) => {
      asked.push({ name: 'connect', request: wanted });
      client.write('{"kind":"connected","outbound":"a","times":{},"suspect":null}\nhello ');
      client.pipe(client);
    },
  };
  const socket = await ControlSocket.open(path, { ...handlers, ...over } as ControlHandlers);
  return {
    path,
    asked,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A socket before `path` as Weir 2.1.0 has it: it reads a line, and closes at one that is no request. */
async function lineSocket(path: string): Promise<AsyncDisposable & { readonly path: string }> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    client.once('data', (line: Buffer) => {
      if (/^[A-Z]/.test(line.toString())) {
        client.destroy();
        return;
      }
      const inner = connect({ path, allowHalfOpen: true });
      inner.write(line);
      client
        .pipe(inner)
        .pipe(client)
        .on('error', () => undefined);
    });
    client.on('error', () => undefined);
  });
  server.listen(`${path}.old`);
  await once(server, 'listening');
  return { path: `${path}.old`, [Symbol.asyncDispose]: async () => void server.close() };
}

/** Makes every request, and returns the results. */
async function askAll(path: string): Promise<readonly unknown[]> {
  const { stream, opened } = await openTunnel(path, TUNNEL);
  stream.end('world');
  const echoed = Buffer.concat((await stream.toArray()) as Buffer[]).toString();
  return [
    await requestReload(path),
    await requestReload(path, 'by ann'),
    await requestLogFilter(path, 'debug,a::b=trace'),
    await requestStatus(path),
    await requestDrain(path, 'begin'),
    await requestDrain(path, 'undo'),
    await requestDrain(path, 'show'),
    await requestUserFlows(path, FLOWS),
    await requestLoadedFiles(path),
    await requestProfile(path, 0),
    await Array.fromAsync(followLog(path, { filter: 'warn', tail: true })),
    opened,
    echoed,
  ];
}

describe('the control socket', () => {
  test('answers a command as it answers one of before, and a command asks either', async () => {
    await using now = await controlled();
    await using before = await lineSocket(now.path);
    const results = await askAll(now.path);
    const byHttp = now.asked.splice(0);
    assert.deepEqual(await askAll(before.path), results);
    assert.deepEqual(now.asked, byHttp);
    assert.deepEqual(byHttp, [
      { name: 'connect', request: TUNNEL },
      { name: 'reload', request: undefined },
      { name: 'reload', request: 'by ann' },
      { name: 'log-level', request: 'debug,a::b=trace' },
      { name: 'status', request: undefined },
      ...['begin', 'undo', 'show'].map((action) => ({ name: 'drain', request: action })),
      { name: 'user-flows', request: FLOWS },
      { name: 'loaded-files', request: undefined },
      { name: 'profile', request: { seconds: 0, busy: false } },
      { name: 'log', request: { filter: 'warn', tail: true } },
    ]);
    assert.equal(results.at(-1), 'hello world');
  });

  test('responds with the reason when a request fails within the process', async () => {
    const fails = () => Promise.reject(new TypeError('no such part'));
    await using now = await controlled({
      profile: fails,
      status: fails,
      userFlows: fails,
      drain: fails,
    });
    await using before = await lineSocket(now.path);
    const reason = /: internal error: no such part$|^internal error: no such part$/;
    for (const { path } of [now, before]) {
      await assert.rejects(requestProfile(path, 0), reason);
      await assert.rejects(requestStatus(path), reason);
      await assert.rejects(requestDrain(path, 'show'), reason);
      await assert.rejects(requestUserFlows(path, FLOWS), reason);
    }
  });

  test('of a process that ends meanwhile gives none', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 's');
    const never = () => new Promise<never>(() => undefined);
    const handlers = {
      reload: never,
      status: never,
      followsUsage: () => false,
    } as unknown as ControlHandlers;
    const socket = await ControlSocket.open(path, handlers);
    const failed = [
      assert.rejects(requestStatus(path), /gave none: it has ended, or is an older Weir/),
      assert.rejects(requestReload(path), /the process gave no outcome/),
    ];
    await requestDrain(path, 'show').catch(() => undefined); // the others have been read
    socket.close();
    await Promise.all(failed);
    await assert.rejects(requestStatus(path), /connect ENOENT/);
  });

  test('takes a request of HTTP in any pieces', () => {
    const body = '{"cause":"ü"}';
    const head = `POST /control/reload HTTP/1.1\r\nHost: weir\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    const bytes = Buffer.from(`${head}${body}`);
    const inPieces = (size: number): void => {
      const reader = new RequestReader();
      for (let at = 0; at < bytes.length; at += size) {
        const read = reader.add(bytes.subarray(at, at + size));
        if (at + size < bytes.length) assert.equal(read, undefined);
        else
          assert.deepEqual(typeof read === 'object' && [read.body, read.ahead.length], [body, 0]);
      }
    };
    for (let size = 1; size <= bytes.length; size++) inPieces(size);
    const further = new RequestReader().add(Buffer.concat([bytes, Buffer.from('more')]));
    assert.equal(typeof further === 'object' && String(further.ahead), 'more');
    const endless = new RequestReader();
    const filler = Buffer.alloc(1024, 'a');
    const results = Array.from({ length: 17 }, () => endless.add(filler));
    assert.deepEqual(results, [...Array.from({ length: 16 }, () => undefined), 431]);
  });

  test('refuses other requests of HTTP by their status', async () => {
    await using now = await controlled();
    const statusOf = async (method: string, path: string, body = ''): Promise<unknown> => {
      const sent = request({ socketPath: now.path, method, path }).end(body);
      sent.on('error', () => undefined);
      const [{ statusCode, headers }] = (await once(sent, 'response')) as [
        { statusCode: number; headers: Record<string, string> },
      ];
      return [statusCode, headers['allow']];
    };
    assert.deepEqual(await statusOf('GET', '/'), [404, undefined]);
    assert.deepEqual(await statusOf('GET', '/control/flow'), [404, undefined]);
    assert.deepEqual(await statusOf('PUT', '/control/drain'), [405, 'GET,HEAD,POST,DELETE']);
    assert.deepEqual(await statusOf('PUT', '/control/log-level', 'x'.repeat(4097)), [
      413,
      undefined,
    ]);
    assert.deepEqual(now.asked, []);
  });
});
