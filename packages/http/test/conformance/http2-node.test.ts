import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { Http2Driver } from '../../src/http2/http2-driver.ts';
import type { HttpField } from '../../src/fields/field.ts';
import type { Http2Settings } from '../../src/http2/settings.ts';
import { systemClock } from '@weir/io/time';
import { SocketLink } from '@weir/io/sockets';
import { StreamLog } from '../../../../test/support/http2/core.ts';

/** Our HTTP/2 against Node's (nghttp2), in either role. */

const WINDOW = 1 << 20;

/** What our side of a connection has reported. */
class Ours {
  readonly driver: Http2Driver;
  readonly requests: StreamLog[] = [];
  readonly ended: Promise<Error | undefined>;
  onRequest: (log: StreamLog) => void = () => undefined;
  readonly ready: Promise<void>;

  constructor(role: 'client' | 'server', socket: Socket, settings: Http2Settings = {}) {
    const ended = Promise.withResolvers<Error | undefined>();
    const ready = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.ready = ready.promise;
    const options = { role, settings: { initialWindowSize: WINDOW, ...settings } } as const;
    this.driver = new Http2Driver(
      new SocketLink(socket, socket),
      systemClock,
      { ...options, connectionWindow: 4 * WINDOW },
      {
        onRequest: (stream, fields) => {
          const log = new StreamLog(stream);
          log.head = fields;
          this.requests.push(log);
          this.onRequest(log);
        },
        onPeerSettings: () => ready.resolve(),
        onEnd: ended.resolve,
      },
    );
    this.driver.start();
  }

  request(fields: readonly HttpField[] = REQUEST): StreamLog {
    const stream = this.driver.connection.request(fields);
    assert.ok(stream, 'no request can be made');
    return new StreamLog(stream);
  }
}

const REQUEST: readonly HttpField[] = [
  { name: ':method', value: 'POST' },
  { name: ':scheme', value: 'http' },
  { name: ':path', value: '/echo' },
  { name: ':authority', value: 'server.test' },
];
const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];
const TRAILERS: readonly HttpField[] = [{ name: 'x-last', value: 'yes' }];

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Our server and a client of Node. */
async function nodeClient(
  body: (session: http2.ClientHttp2Session, ours: Ours) => Promise<void>,
  settings: Http2Settings = {},
): Promise<void> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => sockets.push(socket));
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const session = http2.connect(`http://127.0.0.1:${await listening(server)}`);
  session.on('error', () => undefined);
  const [socket] = await accepted;
  const ours = new Ours('server', socket, settings);
  try {
    await once(session, 'remoteSettings');
    await body(session, ours);
  } finally {
    session.destroy();
    for (const each of sockets) each.destroy();
    server.close();
  }
}

/** Our client and a server of Node. */
async function nodeServer(
  body: (server: http2.Http2Server, ours: Ours) => Promise<void>,
  settings: http2.Settings = {},
): Promise<void> {
  const server = http2.createServer({ settings });
  const sessions: http2.Http2Session[] = [];
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  const socket = connect({ host: '127.0.0.1', port: await listening(server), allowHalfOpen: true });
  await once(socket, 'connect');
  const ours = new Ours('client', socket);
  try {
    await ours.ready;
    await body(server, ours);
  } finally {
    ours.driver.destroy();
    for (const session of sessions) session.destroy();
    server.close();
  }
}

/** Resolves when a stream of ours has ended both sides, or was aborted. */
async function closed(log: StreamLog): Promise<void> {
  while (!log.stream.isClosed) await new Promise(setImmediate);
}

const bytesOf = (length: number, seed: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + seed * 7 + (i >> 8)) & 0xff));

describe('a server of ours and a client of Node', () => {
  test('megabytes are echoed, with trailers behind them', () =>
    nodeClient(async (session, ours) => {
      ours.onRequest = (log) => {
        log.stream.respond(OK, false);
        echo(log, TRAILERS);
      };
      const sent = bytesOf(5 << 20, 1);
      const stream = session.request({ ':method': 'POST', ':path': '/echo' });
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      const trailers = once(stream, 'trailers') as Promise<[http2.IncomingHttpHeaders]>;
      stream.end(sent);
      await once(stream, 'close');
      assert.ok(Buffer.concat(chunks).equals(sent));
      assert.equal((await trailers)[0]['x-last'], 'yes');
    }));

  test('a thousand requests at once, each with other fields', () =>
    nodeClient(
      async (session, ours) => {
        ours.onRequest = (log) => {
          const id = log.head.find(({ name }) => name === 'x-id')?.value ?? '';
          log.stream.respond([...OK, { name: 'x-re', value: id }], false);
          echo(log);
        };
        const answers = Array.from({ length: 1000 }, async (_, i) => {
          const stream = session.request({
            ':method': 'POST',
            ':path': `/${i}`,
            'x-id': `id-${i}-${'x'.repeat(i % 50)}`,
          });
          stream.end(`body ${i}`);
          const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
          assert.match(String(headers['x-re']), new RegExp(`^id-${i}-`));
          const chunks: Buffer[] = [];
          for await (const chunk of stream) chunks.push(chunk as Buffer);
          return String(Buffer.concat(chunks));
        });
        for (const [i, text] of (await Promise.all(answers)).entries()) {
          assert.equal(text, `body ${i}`);
        }
      },
      { maxConcurrentStreams: 1000 },
    ));

  test('a client that reads slowly holds back its stream alone', () =>
    nodeClient(async (session, ours) => {
      ours.onRequest = (log) => log.stream.respond(OK, false);
      const slow = session.request({ ':method': 'POST', ':path': '/' });
      slow.on('error', () => undefined);
      await once(slow, 'response');
      const [log] = ours.requests;
      assert.ok(log);
      while (log.write(Buffer.alloc(16 << 10)) === true);
      assert.ok(log.stream.queued > 0);
      const quick = session.request({ ':method': 'POST', ':path': '/' });
      await once(quick, 'response');
      ours.requests[1]?.write('hello');
      const [chunk] = (await once(quick, 'data')) as [Buffer];
      assert.equal(String(chunk), 'hello');
      slow.resume();
      while (log.stream.queued > 0) await new Promise(setImmediate);
      assert.equal(log.writable, 1);
    }));

  test('a reset is reported with its code, and the next request served', () =>
    nodeClient(async (session, ours) => {
      ours.onRequest = (log) => log.stream.respond(OK, false);
      const stream = session.request({ ':method': 'POST', ':path': '/' });
      stream.on('error', () => undefined);
      await once(stream, 'response');
      stream.destroy(new Error('aborted'));
      const [log] = ours.requests;
      assert.ok(log);
      await closed(log);
      assert.equal(log.end?.by, 'peer');
      const next = session.request({ ':method': 'POST', ':path': '/' });
      await once(next, 'response');
    }));

  test('header blocks in several frames, and tables of other sizes', () =>
    nodeClient(async (session, ours) => {
      ours.onRequest = (log) => {
        log.stream.respond([...OK, ...log.head.filter(({ name }) => name === 'x-long')], true);
      };
      for (const headerTableSize of [0, 100, 65_536]) {
        const settled = once(session, 'localSettings');
        session.settings({ headerTableSize });
        await settled;
        for (let i = 0; i < 3; i++) {
          const long = `${i}`.repeat(5000);
          const stream = session.request({ ':path': '/', 'x-long': long });
          const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
          assert.equal(headers['x-long'], long);
          stream.resume();
        }
      }
    }));

  test('a PING of either side is acknowledged', () =>
    nodeClient(async (session, ours) => {
      const acked = new Promise<void>((resolve, reject) => {
        session.ping((error: Error | null) => (error ? reject(error) : resolve()));
      });
      await acked;
      await new Promise<void>((resolve) => ours.driver.connection.ping(resolve));
    }));

  test('a graceful close lets the open stream end, and takes no other', () =>
    nodeClient(async (session, ours) => {
      ours.onRequest = (log) => log.stream.respond(OK, false);
      const stream = session.request({ ':method': 'POST', ':path': '/' });
      await once(stream, 'response');
      const gone = once(session, 'goaway') as Promise<[number]>;
      ours.driver.close();
      assert.equal((await gone)[0], 0);
      const [log] = ours.requests;
      assert.ok(log);
      log.write('last');
      log.stream.end();
      const [chunk] = (await once(stream, 'data')) as [Buffer];
      assert.equal(String(chunk), 'last');
      stream.end();
      assert.equal(await ours.ended, undefined);
    }));
});

describe('a client of ours and a server of Node', () => {
  test('megabytes are echoed, with trailers behind them', () =>
    nodeServer(async (server, ours) => {
      server.on('stream', (stream: http2.ServerHttp2Stream) => {
        stream.respond({ ':status': 200 }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-last': 'yes' }));
        stream.pipe(stream);
      });
      const sent = bytesOf(5 << 20, 2);
      const log = ours.request();
      await sendAll(log, sent);
      await closed(log);
      assert.equal(log.status, 200);
      assert.ok(log.data.equals(sent));
      assert.deepEqual(log.trailers, TRAILERS);
    }));

  test('as many requests at once as the server accepts, and then the others', () =>
    nodeServer(
      async (server, ours) => {
        server.on('stream', (stream: http2.ServerHttp2Stream) => {
          stream.respond({ ':status': 200 });
          stream.pipe(stream);
        });
        const logs: StreamLog[] = [];
        while (logs.length < 500) {
          while (!ours.driver.connection.mayRequest) await new Promise(setImmediate);
          const log = ours.request();
          log.write(`request ${logs.length}`);
          log.stream.end();
          logs.push(log);
        }
        for (const [i, log] of logs.entries()) {
          await closed(log);
          assert.deepEqual([log.end, String(log.data)], [undefined, `request ${i}`]);
        }
      },
      { maxConcurrentStreams: 50 },
    ));

  test('small windows and small tables of the server are kept to', () =>
    nodeServer(
      async (server, ours) => {
        server.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
          stream.respond({ ':status': 200, 'x-re': headers['x-id'] });
          stream.pipe(stream);
        });
        for (let i = 0; i < 5; i++) {
          const log = ours.request([...REQUEST, { name: 'x-id', value: `${i}`.repeat(200) }]);
          const sent = bytesOf(100_000, i);
          await sendAll(log, sent);
          await closed(log);
          assert.ok(log.data.equals(sent));
          assert.equal(log.head.find(({ name }) => name === 'x-re')?.value, `${i}`.repeat(200));
        }
      },
      { initialWindowSize: 1000, headerTableSize: 100 },
    ));

  test('a refused stream, a cancelled one and the end of the session are distinguished', () =>
    nodeServer(async (server, ours) => {
      const expected = [http2.constants.NGHTTP2_REFUSED_STREAM, http2.constants.NGHTTP2_CANCEL];
      const codes = [...expected];
      server.on('stream', (stream: http2.ServerHttp2Stream) => {
        stream.on('error', () => undefined);
        const code = codes.shift();
        if (code === undefined) stream.session?.destroy();
        else stream.close(code);
      });
      for (const code of expected) {
        const log = ours.request();
        await closed(log);
        assert.deepEqual(log.end, { by: 'peer', code });
      }
      const log = ours.request();
      await closed(log);
      assert.equal(log.end?.by, 'connection');
      await ours.ended;
    }));
});

/** Sends back what a stream receives. */
function echo(log: StreamLog, trailers?: readonly HttpField[]): void {
  log.onReadable = () => {
    const { stream } = log;
    for (const piece of stream.take(1 << 20)) log.write(Buffer.from(piece));
    if (stream.remoteEnded) stream.end(trailers);
  };
}

/** Sends bytes, and the end, as the queue has room. */
async function sendAll(log: StreamLog, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; at += 10_000) {
    if (log.write(bytes.subarray(at, at + 10_000)) !== false) continue;
    const { writable } = log;
    while (log.writable === writable) await new Promise(setImmediate);
  }
  log.stream.end();
}
