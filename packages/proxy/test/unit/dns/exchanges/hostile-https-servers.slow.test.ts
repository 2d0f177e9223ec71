import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import { HttpsExchange } from '../../../../src/dns/exchanges/https-exchange.ts';
import { encodeQuery } from '../../../../src/dns/message.ts';
import {
  FIELD_LINE_LIMIT,
  HEAD_LIMIT,
  INTERIM_LIMIT,
  IDLE_FRAME_BURST,
} from '../../../../../http/src/limits.ts';
import { FrameType } from '../../../../../http/src/http2/frames.ts';
import {
  frame,
  parseFrames,
  type ParsedFrame,
  plainBlock,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../../../../test/support/http2/raw-frames.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['dns.test'] });
const ca = { file: 'ca.pem', certificates: [authority.cert] };
const never = new AbortController().signal;
const question = { name: 'a.example', type: 'A' } as const;
/** A valid reply to `question`, without records. */
const REPLY = Buffer.from(encodeQuery(question, { id: 0 }));
REPLY.writeUInt16BE(0x8180, 2);

const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;

/** What a server does with each connection. */
type Play = (socket: TLSSocket, connection: number) => void;

async function harness(t: TestContext, protocol: 'h2' | 'http/1.1', play: Play) {
  let connections = 0;
  const open = new Set<Socket>();
  const server = createServer({ ...certificate, ALPNProtocols: [protocol] }, (socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    play(socket, connections++);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clock = new ManualClock();
  const where = { host: '127.0.0.1', port };
  const exchange = new HttpsExchange({
    server: where,
    host: 'dns.test',
    path: '/dns-query',
    ca,
    clock,
  });
  t.after(() => {
    exchange.close();
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { exchange, clock, open, connections: () => connections };
}

/** Sends `parts` once the whole request has come, which ends with the question. */
const http1 =
  (...parts: readonly (string | Uint8Array)[]): Play =>
  (socket) => {
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0 || received.length < end + 4 + 128) return;
      received = Buffer.alloc(0);
      for (const part of parts) socket.write(part);
    });
  };

/** Calls `respond` with the id of each stream whose request has come whole, and `onFrame` with each frame. */
const http2 =
  (
    respond: (socket: TLSSocket, streamId: number, connection: number) => void,
    onFrame: (frame: ParsedFrame, socket: TLSSocket) => void = () => undefined,
  ): Play =>
  (socket, connection) => {
    socket.write(Buffer.concat([settingsFrame(), SETTINGS_ACK]));
    let received = Buffer.alloc(0);
    let seen = 0;
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const frames = parseFrames(received);
      for (const each of frames.slice(seen)) {
        onFrame(each, socket);
        const { type, flags, streamId } = each;
        const ends = type === FrameType.DATA && (flags & END_STREAM) !== 0;
        if (ends) respond(socket, streamId, connection);
      }
      seen = frames.length;
    });
  };

const OK = plainBlock([
  [':status', '200'],
  ['content-type', 'application/dns-message'],
]);
const okHead = (streamId: number): Buffer => frame(FrameType.HEADERS, END_HEADERS, streamId, OK);
const answer = (streamId: number): Buffer =>
  Buffer.concat([okHead(streamId), frame(FrameType.DATA, END_STREAM, streamId, REPLY)]);

/** A quarter of the window of a stream, which is as large as the longest message. */
const dataFrame = (streamId: number): Buffer =>
  frame(FrameType.DATA, 0, streamId, Buffer.alloc(16_384));

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n';
const WHOLE = Buffer.concat([Buffer.from(`${HEAD}Content-Length: ${REPLY.length}\r\n\r\n`), REPLY]);

for (const [what, protocol, play, message] of [
  [
    'a head without end',
    'http/1.1',
    http1('HTTP/1.1 200 OK\r\n', `A: ${'b'.repeat(HEAD_LIMIT)}`),
    /the head is longer than 65536 bytes$/,
  ],
  [
    'header lines without end',
    'http/1.1',
    http1('HTTP/1.1 200 OK\r\n', `${'A: b\r\n'.repeat(FIELD_LINE_LIMIT + 1)}\r\n`),
    /more than 1000 header lines$/,
  ],
  [
    'interim responses without end',
    'http/1.1',
    http1('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(INTERIM_LIMIT + 1)),
    /responded with nothing but interim responses$/,
  ],
  ['something other than HTTP', 'http/1.1', http1('SSH-2.0-x\r\n'), /this is not HTTP\/1$/],
  [
    'chunks without end',
    'http/1.1',
    http1(
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n`,
      `ffff\r\n${'x'.repeat(0xffff)}\r\n`,
      '1\r\nx',
    ),
    /the response is longer than a DNS message can be$/,
  ],
  [
    'a body without end',
    'http/1.1',
    http1(`${HEAD}\r\n`, Buffer.alloc(1 << 20)),
    /the response is longer than a DNS message can be$/,
  ],
  [
    'two lengths',
    'http/1.1',
    http1(`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`),
    /different values of Content-Length$/,
  ],
  [
    'a header block without end',
    'h2',
    http2((socket, id) => {
      socket.write(frame(FrameType.HEADERS, 0, id, OK));
      for (let i = 0; i < 40; i++)
        socket.write(frame(FrameType.CONTINUATION, 0, id, Buffer.alloc(1024)));
    }),
    /HTTP\/2: a header block is too large \(ENHANCE_YOUR_CALM\)$/,
  ],
  [
    'interim responses without end',
    'h2',
    http2((socket, id) => {
      const early = frame(FrameType.HEADERS, END_HEADERS, id, plainBlock([[':status', '103']]));
      for (let i = 0; i <= INTERIM_LIMIT; i++) socket.write(early);
    }),
    /HTTP\/2: too many interim responses \(ENHANCE_YOUR_CALM\)$/,
  ],
  [
    'a body without end',
    'h2',
    http2(
      (socket, id) => void socket.write(Buffer.concat([okHead(id), dataFrame(id), dataFrame(id)])),
      // Within the window, which is opened again once a quarter of it was read.
      ({ type, streamId: id }, socket) => {
        if (type === FrameType.WINDOW_UPDATE && id !== 0) socket.write(dataFrame(id));
      },
    ),
    /the response is longer than a DNS message can be$/,
  ],
  [
    'a body beyond its window',
    'h2',
    http2((socket, id) => {
      socket.write(okHead(id));
      for (let i = 0; i < 5; i++) socket.write(dataFrame(id));
    }),
    // Frames that are read one by one have made room for the next: then the message is too long first.
    /the response is longer than a DNS message can be$|HTTP\/2: the window of the stream is exceeded \(FLOW_CONTROL_ERROR\)$/,
  ],
  [
    'SETTINGS without end',
    'h2',
    http2((socket) => {
      const flood = Buffer.alloc((IDLE_FRAME_BURST + 1) * settingsFrame().length);
      for (let at = 0; at < flood.length; at += settingsFrame().length)
        flood.set(settingsFrame(), at);
      socket.write(flood);
    }),
    /HTTP\/2: too many frames that carry nothing \(ENHANCE_YOUR_CALM\)$/,
  ],
  [
    'a pushed response',
    'h2',
    http2((socket, id) => {
      socket.write(frame(FrameType.PUSH_PROMISE, END_HEADERS, id, Buffer.concat([uint32(2), OK])));
    }),
    /HTTP\/2: PUSH_PROMISE, which is disabled \(PROTOCOL_ERROR\)$/,
  ],
  [
    'a reset of every stream',
    'h2',
    http2((socket, id) => {
      socket.write(frame(FrameType.RST_STREAM, 0, id, uint32(7)));
    }),
    /HTTP\/2: the server reset the stream with REFUSED_STREAM$/,
  ],
] as const) {
  test(`${what} over ${protocol} is a failure of the server`, async (t) => {
    const { exchange, clock } = await harness(t, protocol, play);
    await assert.rejects(exchange.ask(question, never), { code: 'upstream', message });
    exchange.close();
    await eventually('no timer is left', () => clock.timers === 0);
  });
}

for (const [protocol, play] of [
  ['http/1.1', http1(`${HEAD}Content-Length: ${REPLY.length}\r\n\r\n`, REPLY.subarray(0, 5))],
  ['h2', http2((socket, id) => void socket.write(okHead(id)))],
] as const) {
  test(`a body that does not come over ${protocol} ends its connection, and the question in time`, async (t) => {
    const { exchange, clock, open, connections } = await harness(t, protocol, play);
    const failed = assert.rejects(exchange.ask(question, never), {
      code: 'timed_out',
      message: /no answer$/,
    });
    // The head counts as a sign of life, so that a connection has two periods of 4 s.
    let isOver = false;
    void failed.then(() => (isOver = true));
    await eventually('the question has failed', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (open.size > 0) clock.advance(1000);
      return isOver;
    });
    await failed;
    assert.equal(connections(), 2);
    await eventually('both are closed', () => open.size === 0);
  });
}

test('bytes after a response over HTTP/1.1 do not become the next one', async (t) => {
  const { exchange, connections } = await harness(
    t,
    'http/1.1',
    http1(Buffer.concat([WHOLE, WHOLE])),
  );
  for (let i = 0; i < 2; i++) await exchange.ask(question, never);
  assert.equal(connections(), 2);
});

test('a response over HTTP/1.1 that nothing has asked for closes the connection', async (t) => {
  const { exchange, open } = await harness(t, 'http/1.1', (socket) => {
    http1(WHOLE)(socket, 0);
    socket.once('data', () => setImmediate(() => socket.write(WHOLE)));
  });
  await exchange.ask(question, never);
  await eventually('the connection is closed', () => open.size === 0);
});

test('a body over HTTP/1.1 may end with its connection', async (t) => {
  const { exchange } = await harness(t, 'http/1.1', (socket) => {
    socket.once('data', () => socket.end(Buffer.concat([Buffer.from(`${HEAD}\r\n`), REPLY])));
  });
  assert.equal((await exchange.ask(question, never)).rcode, 0);
});

test('an aborted question over HTTP/1.1 closes its connection, whose response may come late', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const { exchange, open } = await harness(t, 'http/1.1', (socket) => {
    socket.once('data', () => arrived.resolve());
  });
  const controller = new AbortController();
  const asked = exchange.ask(question, controller.signal);
  await arrived.promise;
  controller.abort(new Error('gone'));
  await assert.rejects(asked, { code: 'aborted' });
  await eventually('the connection is closed', () => open.size === 0);
});

test('six questions over HTTP/1.1 have connections of their own, and the seventh waits', async (t) => {
  const held: (() => void)[] = [];
  const { exchange, connections } = await harness(t, 'http/1.1', (socket) => {
    socket.on('data', () => held.push(() => socket.write(WHOLE)));
  });
  const asked = Array.from({ length: 7 }, () => exchange.ask(question, never));
  await eventually('six have come', () => held.length === 6);
  assert.equal(connections(), 6);
  held.shift()?.();
  await eventually('the seventh has come', () => held.length === 6);
  for (const respond of held) respond();
  await Promise.all(asked);
  assert.equal(connections(), 6);
});

test('questions above MAX_CONCURRENT_STREAMS wait for a stream', async (t) => {
  const streams: number[] = [];
  let write: ((bytes: Uint8Array) => void) | undefined;
  let acknowledged = 0;
  const onFrame = ({ type, flags }: ParsedFrame): void => {
    if (type === FrameType.SETTINGS && (flags & ACK) !== 0) acknowledged++;
  };
  const { exchange, connections } = await harness(t, 'h2', (socket, connection) => {
    write = (bytes) => void socket.write(bytes);
    http2((_, id) => streams.push(id), onFrame)(socket, connection);
    socket.write(settingsFrame([3, 1]));
  });
  const first = exchange.ask(question, never);
  await eventually('the first has come', () => streams.length === 1);
  // A client may send before it has read the SETTINGS of its server, of which there are two here.
  await eventually('the limit is known', () => acknowledged === 2);
  const later = [exchange.ask(question, never), exchange.ask(question, never)];
  for (let i = 0; i < 3; i++) {
    await eventually('the next has come', () => streams.length === i + 1);
    write?.(answer(streams[i] ?? 0));
  }
  await Promise.all([first, ...later]);
  assert.deepEqual(streams, [1, 3, 5]);
  assert.equal(connections(), 1);
});

test('after GOAWAY the question under way is answered, and the next has another connection', async (t) => {
  const goAway = frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(1), uint32(0)]));
  const { exchange, connections, open } = await harness(
    t,
    'h2',
    http2((socket, id, connection) => {
      socket.write(connection === 0 ? Buffer.concat([goAway, answer(id)]) : answer(id));
    }),
  );
  await exchange.ask(question, never);
  await eventually('the connection is closed', () => open.size === 0);
  await exchange.ask(question, never);
  assert.equal(connections(), 2);
});

test('a question that GOAWAY leaves behind is asked once more on another connection', async (t) => {
  const goAway = frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)]));
  const { exchange, connections } = await harness(
    t,
    'h2',
    http2((socket, id, connection) => {
      socket.write(connection === 0 ? goAway : answer(id));
    }),
  );
  assert.equal((await exchange.ask(question, never)).rcode, 0);
  assert.equal(connections(), 2);
});
