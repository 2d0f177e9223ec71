import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  field,
  type FieldLine,
  type Framing,
  type RequestHead,
  type ResponseHead,
} from '@weir/http/http1';
import {
  clientHead,
  expectsContinue,
  hasPassed,
  mayTrail,
  originHead,
  persists,
  upgradeOf,
} from '../../../../../src/protocols/http/forwarding/forwarded-heads.ts';

const NONE: Framing = { kind: 'none' };
const CHUNKED: Framing = { kind: 'chunked' };

/** `Name: value` of each line. */
const fieldsOf = (...lines: readonly string[]): FieldLine[] =>
  lines.map((line) => {
    const [name = '', value = ''] = line.split(': ');
    return field(name, value);
  });

const request = (lines: readonly string[], version: '1.0' | '1.1' = '1.1'): RequestHead => ({
  method: 'GET',
  target: 'http://b.example/',
  version,
  fields: fieldsOf(...lines),
});

/** The lines that reach an origin behind the request line and `Host`. */
function sentOn(
  lines: readonly string[],
  more: Partial<Parameters<typeof originHead>[0]> = {},
): string[] {
  const [start, host, ...rest] = originHead({
    head: request(lines),
    authority: 'a.example:81',
    path: '/x?y',
    framing: NONE,
    upgrade: undefined,
    keep: true,
    pseudonym: 'proxy',
    ...more,
  })
    .toString('latin1')
    .split('\r\n');
  assert.equal(start, 'GET /x?y HTTP/1.1');
  assert.equal(host, 'Host: a.example:81');
  assert.deepEqual(rest.splice(-2), ['', '']);
  return rest;
}

/** The lines that reach a client behind the status line. */
function returned(
  status: number,
  lines: readonly string[],
  more: Partial<Parameters<typeof clientHead>[0]> = {},
): string[] {
  const head: ResponseHead = { status, reason: 'Fine', version: '1.1', fields: fieldsOf(...lines) };
  const [start, ...rest] = clientHead({ head, framing: NONE, keep: true, ...more })
    .toString('latin1')
    .split('\r\n');
  assert.equal(start, `HTTP/1.1 ${status} Fine`);
  assert.deepEqual(rest.splice(-2), ['', '']);
  return rest;
}

/** Every field of a connection, and the framing (RFC 9110 §7.6.1). */
const OF_THE_CONNECTION = [
  'Connection: x-named, KEEP-ALIVE',
  'Keep-Alive: timeout=5',
  'Proxy-Authenticate: Basic',
  'Proxy-Authentication-Info: x',
  'Proxy-Authorization: Basic x',
  'Proxy-Connection: keep-alive',
  'TE: gzip',
  'Transfer-Encoding: chunked',
  'Upgrade: h2c',
  'X-Named: 1',
];

describe('the head that an origin gets', () => {
  test('has the fields of the client in their order, then those of this proxy', () => {
    assert.deepEqual(sentOn(['Host: b.example', 'ACCEPT: */*', 'X-Odd: \xe9', 'accept: b']), [
      'ACCEPT: */*',
      'X-Odd: \xe9',
      'accept: b',
      'Via: 1.1 proxy',
    ]);
    assert.deepEqual(sentOn([], { head: request(['A: b'], '1.0') }), ['A: b', 'Via: 1.0 proxy']);
  });

  test('has nothing of the connection of the client', () => {
    assert.deepEqual(sentOn([...OF_THE_CONNECTION, 'Authorization: x']), [
      'Authorization: x',
      'Via: 1.1 proxy',
    ]);
  });

  test('has the framing of what is sent, and a length of 0 where the client named one', () => {
    assert.deepEqual(sentOn(['Content-Length: 5'], { framing: { kind: 'length', length: 5 } }), [
      'Via: 1.1 proxy',
      'Content-Length: 5',
    ]);
    assert.deepEqual(sentOn(['Content-Length: 0']), ['Content-Length: 0', 'Via: 1.1 proxy']);
    assert.deepEqual(sentOn(['Trailer: A'], { framing: CHUNKED }), [
      'Trailer: A',
      'Via: 1.1 proxy',
      'Transfer-Encoding: chunked',
    ]);
    assert.deepEqual(sentOn(['Trailer: A']), ['Via: 1.1 proxy']);
  });

  test('expects 100 Continue only for a client that can receive it', () => {
    const lines = ['Expect: 100-continue'];
    assert.deepEqual(sentOn(lines), [...lines, 'Via: 1.1 proxy']);
    assert.deepEqual(sentOn([], { head: request(lines, '1.0') }), ['Via: 1.0 proxy']);
    assert.equal(expectsContinue(request(lines)), true);
    assert.equal(expectsContinue(request(lines, '1.0')), false);
    assert.equal(expectsContinue(request(['Expect: 200-ok'])), false);
    assert.equal(expectsContinue(request([])), false);
  });

  test('says what the connection is for', () => {
    assert.deepEqual(sentOn([], { keep: false }), ['Via: 1.1 proxy', 'Connection: close']);
    assert.deepEqual(sentOn([], { upgrade: 'websocket' }), [
      'Via: 1.1 proxy',
      'Upgrade: websocket',
      'Connection: Upgrade',
    ]);
    // A connection that may become a tunnel is not asked to close.
    assert.deepEqual(sentOn(['TE: gzip, Trailers'], { upgrade: 'x', keep: false }), [
      'Via: 1.1 proxy',
      'TE: trailers',
      'Upgrade: x',
      'Connection: TE, Upgrade',
    ]);
    assert.deepEqual(sentOn([], { head: request(['TE: trailers'], '1.0') }), ['Via: 1.0 proxy']);
  });
});

describe('the head that a client gets', () => {
  test('has the fields of the origin without those of its connection', () => {
    assert.deepEqual(returned(200, [...OF_THE_CONNECTION, 'ETag: 1', 'Server: \xe9']), [
      'ETag: 1',
      'Server: \xe9',
    ]);
  });

  test('has the framing of what is sent', () => {
    assert.deepEqual(returned(200, ['Trailer: A'], { framing: CHUNKED }), [
      'Trailer: A',
      'Transfer-Encoding: chunked',
    ]);
    assert.deepEqual(
      returned(200, ['Trailer: A', 'Content-Length: 7'], {
        framing: { kind: 'length', length: 5 },
      }),
      ['Content-Length: 5'],
    );
    assert.deepEqual(
      returned(200, ['Content-Length: 7'], { framing: { kind: 'until-close' }, keep: false }),
      ['Connection: close'],
    );
  });

  test('has the length of a body that is left out, but of none that cannot be', () => {
    assert.deepEqual(returned(200, ['Content-Length: 77']), ['Content-Length: 77']);
    assert.deepEqual(returned(304, ['Content-Length: 7, 7']), ['Content-Length: 7']);
    assert.deepEqual(returned(200, ['Content-Length: x7']), []);
    assert.deepEqual(returned(204, ['Content-Length: 7']), []);
    assert.deepEqual(returned(199, ['Content-Length: 7']), []);
    assert.deepEqual(returned(200, []), []);
  });

  test('names the protocols of a switch, or those that are required', () => {
    for (const status of [101, 426]) {
      assert.deepEqual(returned(status, ['Upgrade: a', 'Upgrade: b', 'Connection: Upgrade']), [
        'Upgrade: a',
        'Upgrade: b',
        'Connection: Upgrade',
      ]);
    }
    assert.deepEqual(returned(200, ['Upgrade: a']), []);
    assert.deepEqual(returned(426, ['Upgrade: a'], { keep: false }), [
      'Upgrade: a',
      'Connection: Upgrade, close',
    ]);
  });

  test('closes with a final response alone', () => {
    assert.deepEqual(returned(200, [], { keep: false }), ['Connection: close']);
    assert.deepEqual(returned(103, [], { keep: false }), []);
  });
});

describe('a connection', () => {
  test('persists unless it is of HTTP/1.0, or one side closes it', () => {
    const does = (version: '1.0' | '1.1', ...lines: readonly string[]): boolean =>
      persists({ version, fields: fieldsOf(...lines) });
    assert.equal(does('1.1'), true);
    assert.equal(does('1.1', 'Connection: keep-alive, x'), true);
    assert.equal(does('1.0', 'Connection: keep-alive'), false);
    assert.equal(does('1.1', 'Connection: x, Close'), false);
    assert.equal(does('1.1', 'Proxy-Connection: close'), false);
    assert.equal(does('1.1', 'X: close'), true);
  });

  test('may switch to what the client offers, but never to h2c', () => {
    const offered = (version: '1.0' | '1.1', ...lines: readonly string[]): string | undefined =>
      upgradeOf(request(lines, version));
    assert.equal(offered('1.1', 'Connection: Upgrade', 'Upgrade: websocket'), 'websocket');
    assert.equal(
      offered('1.1', 'Connection: x, upgrade', 'Upgrade: a/1 , H2C,', 'Upgrade: ,b'),
      'a/1, b',
    );
    assert.equal(offered('1.1', 'Connection: Upgrade', 'Upgrade: h2c'), undefined);
    assert.equal(offered('1.1', 'Connection: Upgrade'), undefined);
    assert.equal(offered('1.1', 'Upgrade: websocket'), undefined);
    assert.equal(offered('1.0', 'Connection: Upgrade', 'Upgrade: websocket'), undefined);
  });

  test('goes in a circle when this proxy is in Via', () => {
    const passed = (...lines: readonly string[]): boolean => hasPassed(fieldsOf(...lines), 'proxy');
    assert.equal(passed('Via: 1.1 other', 'VIA: 1.0 a, 1.1 proxy (x)'), true);
    assert.equal(passed('Via: 1.1 other'), false);
    assert.equal(passed('X: proxy'), false);
    assert.equal(passed(), false);
  });
});

test('a field of the framing, the routing or the credentials is no trailer', () => {
  for (const name of ['Content-Length', 'HOST', 'Set-Cookie', 'Authorization', 'Connection']) {
    assert.equal(mayTrail(field(name, 'x')), false, name);
  }
  assert.equal(mayTrail(field('X-Checksum', 'x')), true);
});
