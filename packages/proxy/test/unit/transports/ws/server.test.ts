import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { MAX_ALL_HEAD_BYTES } from '../../../../../http/src/limits.ts';
import { messageOf } from '@weir/base';
import { type ByteLink, linkPair } from '@weir/io/links';
import { frameHeader, Opcode } from '../../../../src/transports/ws/frames.ts';
import { acceptKey } from '../../../../src/transports/ws/handshake.ts';
import { WsServer } from '../../../../src/transports/ws/server.ts';
import { HEAD_BYTES, HEAD_FIELDS } from '../../../../src/transports/ws/upgrade.ts';
import { readAll } from '../../../../../io/test/conformance/byte-link.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { chunksOf } from '../../../../../../test/support/http/http1/fuzz.ts';
import { CODE_POINT } from '../../../../../../test/support/data/code-point.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const SPEC = { kind: 'ws', path: '/ws', host: 'server.test' } as const;

interface Request {
  readonly line?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A request that is upgraded, but for what differs. */
function request({ line = 'GET /ws HTTP/1.1', headers = {} }: Request = {}): string {
  const all = {
    Host: 'server.test',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': KEY,
    'Sec-WebSocket-Version': '13',
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `${name}: ${each}`),
  );
  return [line, ...lines, '', ''].join('\r\n');
}

interface Served {
  readonly near: ByteLink;
  readonly upgraded: Promise<ByteLink | undefined>;
}

function serve(host: string | undefined = SPEC.host, clock = new ManualClock()): Served {
  const [near, far] = linkPair();
  return { near, upgraded: new WsServer({ ...SPEC, host }, clock).upgrade(far) };
}

/** The first line of the response, after which a refused connection has ended. */
async function statusOf(bytes: string | Buffer, host?: string): Promise<string> {
  const { near, upgraded } = serve(host);
  for (const chunk of chunksOf(Buffer.from(bytes), [4096])) near.write(chunk)?.catch(() => {});
  near.closeWrite().catch(() => undefined);
  const response = near.read().catch(() => undefined);
  (await upgraded)?.destroy();
  const text = String((await response) ?? '');
  near.destroy();
  if (text === '') return 'closed';
  const [line = '', field] = text.split('\r\n');
  if (line !== OPEN) assert.equal(field, 'Content-Type: text/plain; charset=utf-8');
  return line;
}

const OPEN = 'HTTP/1.1 101 Switching Protocols';
const INVALID = 'HTTP/1.1 400 Bad Request';
const UNKNOWN = 'HTTP/1.1 404 Not Found';
const TOO_LONG = 'HTTP/1.1 431 Request Header Fields Too Large';

const TABLE: readonly (readonly [what: string, Request | string, status: string])[] = [
  ['a request as it should be', {}, OPEN],
  ['a host with a port in other case', { headers: { Host: 'SERVER.test:8443' } }, OPEN],
  ['an upgrade in other case', { headers: { Upgrade: 'WebSocket' } }, OPEN],
  ['a list of connection options', { headers: { Connection: 'keep-alive, upgrade' } }, OPEN],
  ['a query', { line: 'GET /ws?ed=2048 HTTP/1.1' }, OPEN],
  ['a later minor version', { line: 'GET /ws HTTP/1.2' }, OPEN],
  ['an announced body of no bytes', { headers: { 'Content-Length': '0' } }, OPEN],
  ['a protocol that is no early data', { headers: { 'Sec-WebSocket-Protocol': 'a, b' } }, OPEN],
  ['empty lines before it', `\r\n\r\n${request()}`, OPEN],
  ['another path', { line: 'GET /other HTTP/1.1' }, UNKNOWN],
  ['a path that only begins like it', { line: 'GET /ws/ HTTP/1.1' }, UNKNOWN],
  ['a whole URL', { line: 'GET http://server.test/ws HTTP/1.1' }, UNKNOWN],
  ['another host', { headers: { Host: 'other.test' } }, UNKNOWN],
  ['no host', { headers: { Host: undefined } }, UNKNOWN],
  ['another method', { line: 'POST /ws HTTP/1.1' }, UNKNOWN],
  ['a method in lower case', { line: 'get /ws HTTP/1.1' }, UNKNOWN],
  ['HTTP/1.0', { line: 'GET /ws HTTP/1.0' }, 'HTTP/1.0 404 Not Found'],
  ['no upgrade', { headers: { Upgrade: undefined } }, UNKNOWN],
  ['an upgrade to something else', { headers: { Upgrade: 'h2c' } }, UNKNOWN],
  ['two upgrades', { headers: { Upgrade: ['websocket', 'websocket'] } }, UNKNOWN],
  ['an upgrade that is no connection option', { headers: { Connection: 'close' } }, UNKNOWN],
  ['another version', { headers: { 'Sec-WebSocket-Version': '8' } }, INVALID],
  ['two versions', { headers: { 'Sec-WebSocket-Version': ['13', '13'] } }, INVALID],
  ['no version', { headers: { 'Sec-WebSocket-Version': undefined } }, INVALID],
  ['no key', { headers: { 'Sec-WebSocket-Key': undefined } }, INVALID],
  ['a key of another length', { headers: { 'Sec-WebSocket-Key': 'c2hvcnQ=' } }, INVALID],
  ['two keys', { headers: { 'Sec-WebSocket-Key': [KEY, KEY] } }, INVALID],
  ['two hosts', { headers: { Host: ['server.test', 'server.test'] } }, INVALID],
  ['a body', { headers: { 'Content-Length': '5' } }, INVALID],
  ['a chunked body', { headers: { 'Transfer-Encoding': 'chunked' } }, INVALID],
  ['different lengths', { headers: { 'Content-Length': ['0', '5'] } }, INVALID],
  ['an invalid length', { headers: { 'Content-Length': '-1' } }, INVALID],
  [
    'both a length and a coding',
    { headers: { 'Content-Length': '0', 'Transfer-Encoding': 'chunked' } },
    INVALID,
  ],
  ['an unknown coding', { headers: { 'Transfer-Encoding': 'gzip' } }, INVALID],
  ['a bare CR in a value', { headers: { 'X-Y': 'a\rUpgrade: b' } }, INVALID],
  ['a bare LF in a value', { headers: { 'X-Y': 'a\nUpgrade: b' } }, INVALID],
  ['a NUL in a value', { headers: { 'X-Y': 'a\0' } }, INVALID],
  ['a folded line', { headers: { 'X-Y': 'a\r\n b' } }, INVALID],
  ['a space before a colon', { headers: { 'X-Y ': 'a' } }, INVALID],
  ['a name that is no token', { headers: { 'X@Y': 'a' } }, INVALID],
  ['a line without a colon', request().replace('Host:', 'Host'), INVALID],
  ['line ends without CR', request().replaceAll('\r\n', '\n'), INVALID],
  ['a space too many', { line: 'GET  /ws HTTP/1.1' }, INVALID],
  ['a control character in the target', { line: 'GET /ws\x01 HTTP/1.1' }, INVALID],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', INVALID],
  ['a TLS record', '\x16\x03\x01\x02\x00\x01', INVALID],
  ['half a request', request().slice(0, -2), INVALID],
  ['nothing', '', 'closed'],
  ['empty lines only', '\r\n\r\n', 'closed'],
  [
    'early data beyond its limit',
    { headers: { 'Sec-WebSocket-Protocol': 'A'.repeat(21_848) } },
    TOO_LONG,
  ],
];

for (const [what, input, status] of TABLE) {
  test(`a client that sends ${what} gets ${status}`, async () => {
    assert.equal(await statusOf(typeof input === 'string' ? input : request(input)), status);
  });
}

test('without a configured host any host will do, and none', async () => {
  for (const host of ['x', undefined]) {
    const [near, far] = linkPair();
    const server = new WsServer({ ...SPEC, host: undefined }, new ManualClock());
    await near.write(Buffer.from(request({ headers: { Host: host } })));
    assert.ok(await server.upgrade(far));
  }
});

test('why a connection failed before its upgrade is reported, refusals are not', async () => {
  const failures: string[] = [];
  const failed = (error: unknown): void => void failures.push(messageOf(error));
  const [near, far] = linkPair();
  const upgraded = new WsServer(SPEC, new ManualClock()).upgrade(far, failed);
  near.destroy(new Error('read ENOMEM'));
  assert.equal(await upgraded, undefined);
  assert.deepEqual(failures, ['read ENOMEM']);
  const [other, refused] = linkPair();
  await other.write(Buffer.from('no request\r\n\r\n'));
  assert.equal(await new WsServer(SPEC, new ManualClock()).upgrade(refused, failed), undefined);
  assert.equal(failures.length, 1);
});

test('a head of the limit is read, a longer one is rejected', async () => {
  const padded = (length: number): string => {
    const bare = request({ headers: { X: '' } });
    return request({ headers: { X: 'x'.repeat(length - bare.length) } });
  };
  assert.equal(await statusOf(padded(HEAD_BYTES)), OPEN);
  assert.equal(await statusOf(padded(HEAD_BYTES + 1)), TOO_LONG);
  assert.equal(await statusOf('\r\n'.repeat(HEAD_BYTES)), TOO_LONG);
});

test('as many header lines as the limit are read, more are rejected', async () => {
  const filled = (count: number): string =>
    request({ headers: { X: Array.from({ length: count - 5 }, () => 'y') } });
  assert.equal(await statusOf(filled(HEAD_FIELDS)), OPEN);
  assert.equal(await statusOf(filled(HEAD_FIELDS + 1)), TOO_LONG);
});

test('a request in single bytes is upgraded with what follows it', async () => {
  const { near, upgraded } = serve();
  const frame = [frameHeader(Opcode.binary, 3, Buffer.alloc(4)), Buffer.from('abc')];
  const bytes = Buffer.concat([Buffer.from(request()), ...frame]);
  for (const byte of bytes) near.write(Buffer.of(byte))?.catch(() => {});
  near.closeWrite().catch(() => undefined);
  const link = (await upgraded) ?? assert.fail('not upgraded');
  assert.equal(
    String(await near.read()).split('\r\n')[3],
    `Sec-WebSocket-Accept: ${acceptKey(KEY)}`,
  );
  const received: Uint8Array[] = [];
  for (let length = 0; length < 3; length += received.at(-1)?.length ?? 3) {
    received.push((await link.read()) ?? assert.fail('the end'));
  }
  assert.equal(String(Buffer.concat(received)), 'abc');
  assert.equal(await link.read(), undefined);
});

for (const [what, Origin] of [
  ['chosen for a browser', 'https://a.test'],
  ['not repeated for others', undefined],
] as const)
  test(`early data is read before the frames, and its protocol is ${what}`, async () => {
    const { near, upgraded } = serve();
    const early = Buffer.from('the first bytes').toString('base64url');
    const frame = [frameHeader(Opcode.binary, 5, Buffer.alloc(4)), Buffer.from(', all')];
    await near.writeOutput([
      Buffer.from(request({ headers: { 'Sec-WebSocket-Protocol': early, Origin } })),
      ...frame,
    ]);
    const link = (await upgraded) ?? assert.fail('not upgraded');
    const chosen = /^Sec-WebSocket-Protocol: (.*)\r$/m.exec(String(await near.read()));
    assert.equal(chosen?.[1], Origin && early);
    assert.equal(String(await link.read()) + String(await link.read()), 'the first bytes, all');
  });

test('a client that sends its head slowly is disconnected at the limit, without a response', async () => {
  const clock = new ManualClock();
  const { near, upgraded } = serve(undefined, clock);
  const head = request();
  await near.write(Buffer.from(head.slice(0, 30)));
  clock.advance(9_999);
  await near.write(Buffer.from(head.slice(30, 60)));
  assert.equal(clock.timers, 1);
  clock.advance(1);
  assert.equal(await upgraded, undefined);
  await assert.rejects(near.read(), { code: 'link_closed' });
  assert.equal(clock.timers, 0);
});

const NOT_FOUND = [
  'HTTP/1.1 404 Not Found',
  'Content-Type: text/plain; charset=utf-8',
  'X-Content-Type-Options: nosniff',
  'Date: Thu, 01 Jan 2026 00:00:00 GMT',
  'Content-Length: 19',
];
const PAGE = '404 page not found\n';

/** What is sent back for requests, after which the client ends its stream. */
async function responses(text: string): Promise<string> {
  const { near, upgraded } = serve();
  near.write(Buffer.from(text))?.catch(() => undefined);
  near.closeWrite().catch(() => undefined);
  const received: Uint8Array[] = [];
  try {
    for (let chunk; (chunk = await near.read()) !== undefined;) received.push(chunk);
  } catch {
    // The server has nothing to end cleanly when the client has left.
  }
  assert.equal(await upgraded, undefined);
  return String(Buffer.concat(received));
}

test('requests for other pages are answered like by a server in Go, and the connection stays', async () => {
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const head = [...NOT_FOUND, '', ''].join('\r\n');
  assert.equal(await responses(get), head + PAGE);
  assert.equal(await responses(get.replace('GET', 'HEAD') + get), head + head + PAGE);
});

for (const [what, lines] of [
  ['asks for it', ['GET / HTTP/1.1', 'Host: a', 'Connection: close']],
  ['sends a body', ['POST / HTTP/1.1', 'Host: a', 'Content-Length: 3']],
] as const) {
  test(`the connection of a client that ${what} is closed after the page`, async () => {
    const second = 'GET / HTTP/1.1\r\n\r\n';
    const text = await responses([...lines, '', second].join('\r\n'));
    assert.equal(text, [...NOT_FOUND, 'Connection: close', '', PAGE].join('\r\n'));
  });
}

test('what is no request is answered like by a server in Go', async () => {
  const expected = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: text/plain; charset=utf-8',
    'Connection: close',
    '',
    '400 Bad Request',
  ];
  assert.equal(await responses('GARBAGE\r\n\r\n'), expected.join('\r\n'));
});

test('an upgrade after requests for other pages is accepted', async () => {
  const { near, upgraded } = serve();
  near.write(Buffer.from(request({ line: 'GET / HTTP/1.1' }) + request()))?.catch(() => undefined);
  assert.match(String(await near.read()), /^HTTP\/1\.1 404 /);
  assert.match(String(await near.read()), /^HTTP\/1\.1 101 /);
  ((await upgraded) ?? assert.fail('not upgraded')).destroy();
  near.destroy();
});

test('a client has a hundred requests, and the connection ends at the limit in any case', async () => {
  const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  assert.equal((await responses(get.repeat(101))).split(PAGE).length - 1, 100);
  const clock = new ManualClock();
  const { near, upgraded } = serve(undefined, clock);
  await near.write(Buffer.from(get));
  assert.match(String(await near.read()), /^HTTP\/1\.1 404 /);
  clock.advance(10_000);
  assert.equal(await upgraded, undefined);
  assert.equal(clock.timers, 0);
});

test('a refused client that does not close is disconnected, whatever else it sends', async () => {
  const clock = new ManualClock();
  const { near, upgraded } = serve(undefined, clock);
  await near.write(Buffer.from(request({ headers: { 'Sec-WebSocket-Key': 'x' } })));
  assert.equal(await upgraded, undefined);
  await near.write(Buffer.alloc(60_000));
  assert.match(String(await readAll(near)), /^HTTP\/1\.1 400 /);
  clock.advance(2_000);
  await near.closed;
});

test('any bytes of a client end in a response, an upgrade or the end of the connection', async () => {
  const parts = request().split(/(?<=\r\n|: | )/);
  const piece = fc.oneof(
    fc.constantFrom(...parts, '\r', '\n', '\0', ':', ' ', 'Content-Length: 1\r\n', 'x'),
    fc.string({ maxLength: 8, unit: CODE_POINT }),
  );
  const edits = fc.array(fc.tuple(fc.nat(parts.length), fc.nat(2), piece), { maxLength: 3 });
  const cuts = fc.array(fc.nat(20), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(edits, cuts, async (changes, lengths) => {
      const edited = [...parts];
      for (const [at, removed, added] of changes) edited.splice(at, removed, added);
      const bytes = Buffer.from(edited.join(''), 'latin1');
      const whole = await statusOf(bytes);
      const [near, far] = linkPair();
      const upgraded = new WsServer(SPEC, new ManualClock()).upgrade(far);
      for (const chunk of chunksOf(bytes, lengths)) near.write(chunk)?.catch(() => {});
      near.closeWrite().catch(() => undefined);
      const response = near.read().catch(() => 'closed');
      const link = await upgraded;
      const text = String(await response);
      assert.equal(text.split('\r\n', 1)[0], whole);
      link?.destroy();
      near.destroy();
    }),
    { numRuns: 300 },
  );
});

test('long heads without an end share a bound of memory, beyond which only short ones have room', async () => {
  const server = new WsServer({ ...SPEC, host: undefined }, new ManualClock());
  const links: ByteLink[] = [];
  const open = async (bytes: string): Promise<ByteLink> => {
    const [near, far] = linkPair();
    links.push(near);
    void server.upgrade(far).then((link) => link?.destroy());
    await near.write(Buffer.from(bytes));
    return near;
  };
  const line = async (link: ByteLink): Promise<string | undefined> =>
    String((await link.read()) ?? '').split('\r\n')[0];
  const long = `GET /ws HTTP/1.1\r\nX: ${'x'.repeat(HEAD_BYTES - 1024)}`;
  for (let held = 0; held + long.length <= MAX_ALL_HEAD_BYTES; held += long.length)
    await open(long);
  assert.equal(await line(await open(long)), 'HTTP/1.1 431 Request Header Fields Too Large');
  assert.equal(await line(await open(request())), OPEN);
  for (const link of links) link.destroy();
});
