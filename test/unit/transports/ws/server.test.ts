import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { frameHeader, Opcode } from '../../../../src/transports/ws/frames.ts';
import { acceptKey } from '../../../../src/transports/ws/handshake.ts';
import { WsServer } from '../../../../src/transports/ws/server.ts';
import { HEAD_BYTES, HEAD_FIELDS } from '../../../../src/transports/ws/upgrade.ts';
import { readAll } from '../../../conformance/byte-link.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { chunksOf } from '../../../support/http/http1/fuzz.ts';

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
  const link = await upgraded;
  if (link) {
    const head = String(await near.read());
    link.destroy();
    return head.split('\r\n', 1)[0] ?? '';
  }
  const text = String(await readAll(near).catch(() => ''));
  if (text === '') return 'closed';
  const [line = '', rest] = [text.split('\r\n', 1)[0], text.slice(text.indexOf('\r\n') + 2)];
  assert.equal(rest, 'Connection: close\r\nContent-Length: 0\r\n\r\n');
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
  ['HTTP/1.0', { line: 'GET /ws HTTP/1.0' }, UNKNOWN],
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
  await assert.rejects(link.read(), /without a Close frame/);
});

test('early data is read before the frames, and its protocol is chosen', async () => {
  const { near, upgraded } = serve();
  const early = Buffer.from('the first bytes').toString('base64url');
  const frame = [frameHeader(Opcode.binary, 5, Buffer.alloc(4)), Buffer.from(', all')];
  await near.writeOutput([
    Buffer.from(request({ headers: { 'Sec-WebSocket-Protocol': early } })),
    ...frame,
  ]);
  const link = (await upgraded) ?? assert.fail('not upgraded');
  assert.ok(String(await near.read()).endsWith(`\r\nSec-WebSocket-Protocol: ${early}\r\n\r\n`));
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

test('a refused client that does not close is disconnected, whatever else it sends', async () => {
  const clock = new ManualClock();
  const { near, upgraded } = serve(undefined, clock);
  await near.write(Buffer.from(request({ line: 'POST /ws HTTP/1.1' })));
  assert.equal(await upgraded, undefined);
  await near.write(Buffer.alloc(60_000));
  assert.match(String(await readAll(near)), /^HTTP\/1\.1 404 /);
  clock.advance(2_000);
  await near.closed;
});

test('any bytes of a client end in a response, an upgrade or the end of the connection', async () => {
  const parts = request().split(/(?<=\r\n|: | )/);
  const piece = fc.oneof(
    fc.constantFrom(...parts, '\r', '\n', '\0', ':', ' ', 'Content-Length: 1\r\n', 'x'),
    fc.string({ maxLength: 8, unit: 'binary' }),
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
      const link = await upgraded;
      const text = String(await near.read().catch(() => 'closed'));
      assert.equal(text.split('\r\n', 1)[0], whole);
      link?.destroy();
      near.destroy();
    }),
    { numRuns: 300 },
  );
});
