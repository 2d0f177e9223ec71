import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { sendLog, STREAMS } from '../../../src/clash-api/streams/feeds.ts';
import {
  jsonLine,
  StallWatch,
  type ClashSink,
  upgradeResponse,
  WebSocketSink,
} from '../../../src/clash-api/streams/sinks.ts';
import type { ClashContext } from '../../../src/clash-api/answers/endpoint.ts';
import { LeasedMonitor } from '../../../src/clash-api/leased-monitor.ts';
import { Opcode, wholeFrame } from '../../../../proxy/src/transports/ws/frames.ts';
import { flowOf, trafficOf } from '../../../../../test/support/dashboard/fake-monitor.ts';
import { readExactly, readHead } from '../../../../../test/support/read.ts';
import { SECRET, ServedClash } from './served.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const MASK = Uint8Array.of(1, 2, 3, 4);

/** A connection that has been upgraded. */
async function upgraded(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\n` +
      `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
  );
  const head = await readHead(socket);
  assert.match(head, /^HTTP\/1.1 101 /);
  assert.match(head, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  return socket;
}

/** The next frame of a server: its opcode and payload. */
async function nextFrame(socket: Socket): Promise<readonly [number, Buffer]> {
  const [first = 0, second = 0] = await readExactly(socket, 2);
  const length = second === 126 ? (await readExactly(socket, 2)).readUInt16BE() : second;
  return [first & 0x0f, length === 0 ? Buffer.alloc(0) : await readExactly(socket, length)];
}

/** Values are sent when the test moves the clock, and never between two steps of it. */
const holdTicks = (t: TestContext): void => t.mock.timers.enable({ apis: ['setInterval'] });

describe('a WebSocket', () => {
  test('sends snapshots of connections, the first at once', async (t) => {
    holdTicks(t);
    await using clash = await ServedClash.start();
    clash.monitor.list(
      0,
      [flowOf(3), flowOf(4, {}, { closedAt: 1 })],
      trafficOf({ up: 1, down: 2 }),
    );
    const socket = await upgraded(clash.port, `/connections?token=${SECRET}`);
    const [opcode, payload] = await nextFrame(socket);
    assert.equal(opcode, Opcode.text);
    const snapshot = JSON.parse(payload.toString()) as {
      readonly connections: readonly { readonly id: string }[];
      readonly uploadTotal: number;
    };
    assert.deepEqual(
      snapshot.connections.map(({ id }) => id),
      ['3'],
    );
    assert.equal(snapshot.uploadTotal, 1);
    assert.equal(clash.monitor.holds, 1);
    socket.destroy();
  });

  test('answers a ping and a close, and discards what its client says', async (t) => {
    holdTicks(t);
    await using clash = await ServedClash.start();
    const socket = await upgraded(clash.port, `/traffic?token=${SECRET}`);
    socket.write(wholeFrame(Opcode.text, [Buffer.from('ignored')], MASK));
    socket.write(wholeFrame(Opcode.ping, [Buffer.from('are you there')], MASK));
    const [opcode, payload] = await nextFrame(socket);
    assert.deepEqual([opcode, payload.toString()], [Opcode.pong, 'are you there']);
    socket.write(wholeFrame(Opcode.close, [Buffer.from([3, 232])], MASK));
    assert.deepEqual(await nextFrame(socket), [Opcode.close, Buffer.from([3, 232])]);
    await once(socket.resume(), 'close');
  });

  test('is ended with a reason for a frame without a mask', async (t) => {
    holdTicks(t);
    await using clash = await ServedClash.start();
    const socket = await upgraded(clash.port, `/traffic?token=${SECRET}`);
    socket.write(wholeFrame(Opcode.text, [Buffer.from('x')]));
    assert.deepEqual(await nextFrame(socket), [Opcode.close, Buffer.from([3, 234])]);
    await once(socket.resume(), 'close');
  });

  test('is ended when the API is lost', async (t) => {
    holdTicks(t);
    await using clash = await ServedClash.start();
    clash.monitor.list(0, [], trafficOf({}));
    const socket = await upgraded(clash.port, `/connections?interval=100&token=${SECRET}`);
    await nextFrame(socket);
    clash.monitor.api = { kind: 'absent' };
    t.mock.timers.tick(100);
    const [opcode, payload] = await nextFrame(socket);
    assert.deepEqual([opcode, payload], [Opcode.close, Buffer.from([3, 233])]);
    socket.destroy();
  });

  test('takes any bytes in any pieces of a client', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40, size: 'max' })),
        fc.boolean(),
        (chunks, masked) => {
          const written: Buffer[] = [];
          const socket = new Duplex({
            read: () => undefined,
            write: (chunk: Buffer, _encoding, done) => {
              written.push(chunk);
              done();
            },
          });
          const sink = new WebSocketSink(socket, Buffer.alloc(0));
          if (masked) socket.emit('data', wholeFrame(Opcode.ping, [Buffer.from('p')], MASK));
          for (const chunk of chunks) socket.emit('data', Buffer.from(chunk));
          sink.send(jsonLine({}));
          const pong = wholeFrame(Opcode.pong, [Buffer.from('p')]);
          if (masked) assert.deepEqual(Buffer.concat(written).subarray(0, pong.length), pong);
          socket.destroy();
        },
      ),
    );
  });

  test('is made of a request of its protocol alone', () => {
    const headers = {
      upgrade: 'WebSocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': KEY,
    };
    assert.ok(upgradeResponse('GET', headers));
    assert.equal(upgradeResponse('POST', headers), undefined);
    assert.equal(upgradeResponse('GET', { ...headers, 'sec-websocket-version': '8' }), undefined);
    assert.equal(upgradeResponse('GET', { ...headers, 'sec-websocket-key': 'short' }), undefined);
    assert.equal(upgradeResponse('GET', { ...headers, upgrade: 'h2c' }), undefined);
  });
});

test('a client without WebSockets gets a line for each value', async (t) => {
  holdTicks(t);
  await using clash = await ServedClash.start();
  clash.monitor.traffic = trafficOf({ up: 10, down: 20, upRate: 1, downRate: 2 });
  const socket = connect(clash.port, '127.0.0.1');
  socket.write(
    `GET /traffic HTTP/1.1\r\nHost: 127.0.0.1:${clash.port}\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`,
  );
  const head = await readHead(socket);
  assert.match(head, /Content-Type: application\/json\r\n/);
  assert.match(head, /Transfer-Encoding: chunked\r\n/);
  t.mock.timers.tick(1000);
  const line = '{"up":1,"down":2,"upTotal":10,"downTotal":20}\n';
  const chunk = `${line.length.toString(16)}\r\n${line}\r\n`;
  assert.equal((await readExactly(socket, chunk.length)).toString(), chunk);
  socket.destroy();
});

test('a client that takes nothing between two looks has stalled', () => {
  const watch = new StallWatch();
  assert.equal(watch.isStalled(0, 0), false);
  assert.equal(watch.isStalled(0, 100), false, 'everything was taken');
  assert.equal(watch.isStalled(50, 200), false, 'some was taken');
  assert.equal(watch.isStalled(150, 300), true);
});

test('log lines that a client has no room for are lost, and it is told how many', async () => {
  const sent: unknown[] = [];
  let backlog = 0;
  const gone = new AbortController();
  const sink: ClashSink = {
    isReady: true,
    get backlog() {
      return backlog;
    },
    signal: gone.signal,
    send: (text) => void sent.push(JSON.parse(Buffer.concat(text).toString())),
    end: () => gone.abort(),
  };
  const line = (message: string) =>
    ({ kind: 'line', at: 0, level: 'info', target: 'svc', message, fields: {} }) as const;
  async function* events() {
    yield line('a');
    backlog = 2 << 20;
    yield line('b');
    yield { kind: 'lost', count: 2 } as const;
    yield line('c');
    backlog = 0;
    yield line('d');
    yield { kind: 'live' } as const;
  }
  await sendLog(events(), sink, false);
  assert.deepEqual(sent, [
    { type: 'info', payload: 'svc: a' },
    { type: 'warning', payload: 'clash_api: 4 lines were lost: the reader was too slow' },
    { type: 'info', payload: 'svc: d' },
  ]);
  assert.ok(gone.signal.aborted, 'the stream ends with the log');
});

test('a slow client skips values', async (t) => {
  holdTicks(t);
  await using clash = await ServedClash.start();
  clash.monitor.traffic = trafficOf({ upRate: 1 });
  const traffic = STREAMS.find(({ path }) => path === '/traffic');
  const sent: string[] = [];
  const gone = new AbortController();
  let isReady = true;
  const sink: ClashSink = {
    get isReady() {
      return isReady;
    },
    backlog: 0,
    signal: gone.signal,
    send: (text) => void sent.push(Buffer.concat(text).toString()),
    end: () => undefined,
  };
  const held = new LeasedMonitor(clash.monitor);
  const feed = await traffic?.open(
    { live: held } as unknown as ClashContext,
    new URLSearchParams(),
  );
  feed?.(sink);
  const tick = async (): Promise<void> => {
    t.mock.timers.tick(1000);
    await Promise.resolve();
    await Promise.resolve();
  };
  await tick();
  isReady = false;
  await tick();
  await tick();
  isReady = true;
  await tick();
  assert.equal(sent.length, 2);
  assert.equal(clash.monitor.holds, 1);
  gone.abort();
  await tick();
  assert.equal(sent.length, 2);
  held[Symbol.dispose]();
  assert.equal(clash.monitor.holds, 0);
});
