import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { DialError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import { SocketLink } from '@weir/io/sockets';
import type { OutboundCarrierSpec } from '../../../../src/spec.ts';
import { frameHeader, Opcode } from '../../../../src/transports/ws/frames.ts';
import { failureLine } from '../../../../../../test/support/data/harmless-output.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';
import { WsClient } from '../../../../src/transports/ws/client.ts';
import { acceptKey } from '../../../../src/transports/ws/handshake.ts';
import { markedKey } from '../../../../src/transports/ws/upgrade.ts';

test('the key of a handshake and the masking keys come from the random source', async () => {
  const expected = new SeededRandom(7);
  const key = markedKey(expected);
  const maskingKeys = [expected.bytes(4), expected.bytes(4)];
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const endpoint = { host: '127.0.0.1', port: address.port };
  const socket = connect({ ...endpoint, allowHalfOpen: true });
  const [[accepted]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  const spec = { kind: 'ws', path: '/', host: 'server.test', earlyData: 0 } as const;
  const client = new WsClient(spec, endpoint, new ManualClock(), new SeededRandom(7));
  const opening = client.open(new SocketLink(socket), new AbortController().signal);
  let received = '';
  for await (const chunk of accepted) {
    received += chunk.toString('latin1');
    if (received.endsWith('\r\n\r\n')) {
      assert.match(received, new RegExp(`Sec-WebSocket-Key: ${RegExp.escape(key)}\r\n`));
      received = '';
      const lines = ['101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
      accepted.write(
        `HTTP/1.1 ${lines.join('\r\n')}\r\nSec-WebSocket-Accept: ${acceptKey(key)}\r\n\r\n`,
      );
      const link = await opening;
      await link.write(Uint8Array.of(0));
      await link.write(Uint8Array.of(0));
    } else if (received.length >= 14) {
      break;
    }
  }
  // Frames of one zero byte: a header of two bytes, the masking key, and its first byte.
  const frame = (bytes: Buffer): string =>
    `\x82\x81${bytes.toString('latin1')}${String.fromCharCode(bytes[0] ?? 0)}`;
  assert.equal(received, maskingKeys.map(frame).join(''));
  accepted.destroy();
  server.close();
});

const SPEC = { kind: 'ws', path: '/a b', host: 'server.test', earlyData: 0 } as const;
const SERVER = { host: '192.0.2.1', port: 443 };
const KEY = markedKey(new SeededRandom(7));
const ACCEPTED = [
  'HTTP/1.1 101 Switching Protocols',
  'Upgrade: websocket',
  'Connection: Upgrade',
  `Sec-WebSocket-Accept: ${acceptKey(KEY)}`,
];
const head = (...lines: readonly string[]): string => [...lines, '', ''].join('\r\n');

interface Dialled {
  /** The server's end of the connection. */
  readonly far: ByteLink;
  readonly opening: Promise<ByteLink>;
  readonly clock: ManualClock;
  readonly abort: AbortController;
}

function dial(spec: OutboundCarrierSpec & { kind: 'ws' } = SPEC): Dialled {
  const [near, far] = linkPair();
  const [clock, abort] = [new ManualClock(), new AbortController()];
  const client = new WsClient(spec, SERVER, clock, new SeededRandom(7));
  return { far, opening: client.open(near, abort.signal), clock, abort };
}

async function rejects(opening: Promise<unknown>, message: string): Promise<void> {
  await assert.rejects(opening, (error) => {
    assert.ok(error instanceof DialError, String(error));
    assert.equal(error.code, 'upstream');
    assert.equal(error.message, `192.0.2.1:443: WebSocket: ${message}`);
    return true;
  });
}

test('a request names the path, the host and the key, and nothing else', async () => {
  const { far, opening } = dial();
  const request = head(
    'GET /a%20b HTTP/1.1',
    'Host: server.test',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${KEY}`,
    'Sec-WebSocket-Version: 13',
  );
  assert.equal(String(await far.read()), request);
  await far.closeWrite();
  await rejects(opening, 'the server closed the connection without a response');
});

const RESPONSES: readonly (readonly [what: string, response: string, problem: string])[] = [
  [
    'another status',
    head('HTTP/1.1 404 Not Found', 'Content-Length: 0'),
    'the server responded with HTTP status 404 (path and host have to be those of the server)',
  ],
  [
    'another status after an interim response',
    head('HTTP/1.1 102 Processing') + head('HTTP/1.1 503 Busy'),
    'the server responded with HTTP status 503 (a web server before it cannot reach the proxy behind)',
  ],
  [
    'another key',
    head(...ACCEPTED.slice(0, 3), `Sec-WebSocket-Accept: ${acceptKey('x')}`),
    'Sec-WebSocket-Accept does not match the request',
  ],
  [
    'the key twice',
    head(...ACCEPTED, ACCEPTED[3] ?? ''),
    'Sec-WebSocket-Accept does not match the request',
  ],
  [
    'another protocol',
    head(...ACCEPTED.with(1, 'Upgrade: h2c')),
    'the server upgrades to another protocol',
  ],
  [
    'no connection option',
    head(...ACCEPTED.toSpliced(2, 1)),
    'the server upgrades to another protocol',
  ],
  [
    'an extension',
    head(...ACCEPTED, 'Sec-WebSocket-Extensions: permessage-deflate'),
    'the server uses an extension that was not offered',
  ],
  ['no HTTP', 'SSH-2.0-x\r\n', 'this is not HTTP/1'],
  ['HTTP/2', head('HTTP/2.0 200 OK'), 'HTTP/2.0 is not supported'],
  ['a malformed status line', head('HTTP/1.1 1x1 No'), 'the status line is malformed'],
  ['a line without a colon', head(...ACCEPTED, 'x'), 'a header line has an invalid name'],
  ['line ends without CR', ACCEPTED.join('\n') + '\n\n', 'a line does not end in CR LF'],
  ['half a response', ACCEPTED.join('\r\n'), 'the peer closed in the middle of a message head'],
  [
    'a head without end',
    `${ACCEPTED.join('\r\n')}\r\nX: ${'x'.repeat(40 << 10)}`,
    'the head is longer than 40960 bytes',
  ],
  [
    'more header lines than the limit',
    head(...ACCEPTED, ...Array.from({ length: 98 }, () => 'X: y')),
    'more than 100 header lines',
  ],
  [
    'interim responses without end',
    head('HTTP/1.1 100 Continue').repeat(17),
    'the server responds with nothing but interim responses',
  ],
];
for (const [what, response, problem] of RESPONSES) {
  test(`a server that sends ${what} fails the dial`, async () => {
    const { far, opening } = dial();
    far.write(Buffer.from(response))?.catch(() => undefined);
    far.closeWrite().catch(() => undefined);
    await rejects(opening, problem);
    await far.closed;
  });
}

test('a redirection with escapes is written escaped in the log', async () => {
  const { far, opening } = dial();
  const failed = failureLine(opening);
  const response = head('HTTP/1.1 302 no\u009b31m', 'Location: http://x/\u009b2J\u0085forged');
  far.write(Buffer.from(response, 'latin1'))?.catch(() => undefined);
  assert.match(await failed, /redirects to "http:\/\/x\/\\u\{9b\}2J\\u\{85\}forged"/);
});

test('interim responses are skipped, and what comes with the response is read', async () => {
  const { far, opening } = dial();
  const interim = head('HTTP/1.1 100 Continue') + head('HTTP/1.1 103 Early Hints', 'Link: x');
  const bytes = Buffer.concat([
    Buffer.from(interim + head(...ACCEPTED)),
    frameHeader(Opcode.binary, 2),
    Buffer.from('hi'),
  ]);
  for (const byte of bytes) far.write(Buffer.of(byte))?.catch(() => undefined);
  const link = await opening;
  assert.equal(String(await link.read()) + String(await link.read()), 'hi');
});

test('a host that HTTP does not allow fails the dial', async () => {
  for (const host of ['a\r\nX: y', 'a\0', '例']) {
    const { opening } = dial({ ...SPEC, host });
    await rejects(opening, 'the host has a character that HTTP does not allow');
  }
});

test('a server that does not respond fails the dial at the limit', async () => {
  const { far, opening, clock } = dial();
  await far.read();
  await far.write(Buffer.from('HTTP/1.1 101'));
  const failed = assert.rejects(opening, { code: 'timed_out' });
  clock.advance(10_000);
  await failed;
  await far.closed;
  assert.equal(clock.timers, 0);
});

test('an aborted dial closes the connection', async () => {
  const { far, opening, abort, clock } = dial();
  await far.read();
  const failed = assert.rejects(opening, { code: 'aborted' });
  abort.abort(new Error('no longer wanted'));
  await failed;
  await far.closed;
  assert.equal(clock.timers, 0);
  const aborted = new AbortController();
  aborted.abort(new Error('never wanted'));
  const [near, other] = linkPair();
  const client = new WsClient(SPEC, SERVER, clock, new SeededRandom(7));
  await assert.rejects(client.open(near, aborted.signal), { code: 'aborted' });
  await other.closed;
});

test('with early data the first write makes the request, and meets its failure', async () => {
  const { far, opening } = dial({ ...SPEC, earlyData: 5 });
  const link = await opening;
  const written = assert.rejects(link.write(Buffer.from('first')) ?? Promise.resolve(), /404/);
  assert.match(String(await far.read()), /\r\nSec-WebSocket-Protocol: Zmlyc3Q\r\n\r\n$/);
  await far.write(Buffer.from(head('HTTP/1.1 404 Not Found')));
  await written;
  assert.match(String(await link.closed), /404/);
});

test('a connection that ends before its first write fails the link', async () => {
  const { far, opening } = dial({ ...SPEC, earlyData: 5 });
  const link = await opening;
  far.destroy(new Error('reset'));
  await assert.rejects(link.read(), /ended before it was used/);
  await link.closed;
});
