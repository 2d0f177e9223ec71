import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, test } from 'node:test';
import { MessageError, combinedOf, field } from '../../../src/http1/message.ts';
import { HeadScanner, startsRequest } from '../../../src/http1/read-head.ts';
import {
  headBytes,
  parseRequestHead,
  parseResponseHead,
  parseStrictResponseHead,
  requestFraming,
  responseFraming,
} from '../../../src/http1/head.ts';
import { FIELD_LINE_LIMIT, HEAD_LIMIT, RESPONSE_FIELD_LINE_LIMIT } from '../../../src/limits.ts';
import { chunksOf, outcomeOf } from '../../../../../test/support/http/http1/fuzz.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const request = (text: string) => parseRequestHead(bytes(text));
const response = (text: string) => parseResponseHead(bytes(text));
const pairs = (fields: readonly { name: string; value: string }[]): string[] =>
  fields.map(({ name, value }) => `${name}=${value}`);

const refused = (status: number) => (error: unknown) =>
  error instanceof MessageError && error.status === status;

describe('a request head', () => {
  test('is its method, target, version and fields, in order and as they were written', () => {
    const head = request('GET http://a/b HTTP/1.1\r\nHost: a\r\nX-Y:  two words\t\r\nx-y:\r\n\r\n');
    assert.equal(head.method, 'GET');
    assert.equal(head.target, 'http://a/b');
    assert.equal(head.version, '1.1');
    assert.deepEqual(pairs(head.fields), ['Host=a', 'X-Y=two words', 'x-y=']);
  });

  test('keeps bytes beyond ASCII as they are', () => {
    const head = request('GET /\xe9 HTTP/1.0\r\nX: \xc3\xa9\r\n\r\n');
    assert.equal(head.target, '/\xe9');
    assert.deepEqual(pairs(head.fields), ['X=\xc3\xa9']);
  });

  test('of a later 1.x is read as 1.1', () => {
    assert.equal(request('GET / HTTP/1.7\r\n\r\n').version, '1.1');
  });

  const table: readonly (readonly [string, string, number])[] = [
    ['HTTP/0.9', 'GET /\r\n\r\n', 400],
    ['two spaces in the request line', 'GET  / HTTP/1.1\r\n\r\n', 400],
    ['a space at its end', 'GET / HTTP/1.1 \r\n\r\n', 400],
    ['a space in the target', 'GET /a b HTTP/1.1\r\n\r\n', 400],
    ['a tab in the target', 'GET /a\tb HTTP/1.1\r\n\r\n', 400],
    ['a NUL in the target', 'GET /\0 HTTP/1.1\r\n\r\n', 400],
    ['a method that is no token', 'G(T / HTTP/1.1\r\n\r\n', 400],
    ['no version', 'GET / HTTP/1\r\n\r\n', 400],
    ['text before its version', 'GET / xHTTP/1.1\r\n\r\n', 400],
    ['text after its version', 'GET / HTTP/1.1x\r\n\r\n', 400],
    ['a version in lower case', 'GET / http/1.1\r\n\r\n', 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\n', 505],
    ['another major version', 'GET / HTTP/3.0\r\n\r\n', 505],
    ['a space before a colon', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n', 400],
    ['a tab before a colon', 'GET / HTTP/1.1\r\nHost\t: a\r\n\r\n', 400],
    ['a space before the first field', 'GET / HTTP/1.1\r\n Host: a\r\n\r\n', 400],
    ['a folded line', 'GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n', 400],
    ['a line without a colon', 'GET / HTTP/1.1\r\nHost\r\n\r\n', 400],
    ['an empty name', 'GET / HTTP/1.1\r\n: a\r\n\r\n', 400],
    ['a name that is no token', 'GET / HTTP/1.1\r\nX@Y: a\r\n\r\n', 400],
    ['a NUL in a value', 'GET / HTTP/1.1\r\nX: a\0b\r\n\r\n', 400],
    ['a bare CR in a value', 'GET / HTTP/1.1\r\nX: a\rY: b\r\n\r\n', 400],
    ['a bare LF between fields', 'GET / HTTP/1.1\r\nX: a\nY: b\r\n\r\n', 400],
    ['a bare LF at the end', 'GET / HTTP/1.1\r\nX: a\n\r\n', 400],
    ['bare LFs throughout', 'GET / HTTP/1.1\nX: a\n\n', 400],
    ['an escape in a value', 'GET / HTTP/1.1\r\nX: \x1b[2J\r\n\r\n', 400],
    [
      'more lines than anybody needs',
      `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(FIELD_LINE_LIMIT + 1)}\r\n`,
      431,
    ],
  ];
  for (const [what, text, status] of table) {
    test(`with ${what} is rejected with ${status}`, () => {
      assert.throws(() => request(text), refused(status));
    });
  }
});

describe('a response head', () => {
  test('is its status, reason and fields', () => {
    const head = response('HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\n');
    assert.deepEqual([head.version, head.status, head.reason], ['1.0', 404, 'Not Found']);
    assert.deepEqual(pairs(head.fields), ['Server=x']);
  });

  test('is read with what origins are known for', () => {
    assert.equal(response('HTTP/1.1 200\r\n\r\n').reason, '');
    assert.equal(response('HTTP/1.1 200 \r\n\r\n').reason, '');
    const head = response('HTTP/1.1 200 OK\nX: a\n  b\nY : c\n\n');
    assert.deepEqual(pairs(head.fields), ['X=a b', 'Y=c']);
    const more = response('HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\nName \t: c\r\nY: d : e\r\n\r\n');
    assert.deepEqual(pairs(more.fields), ['X=a b', 'Name=c', 'Y=d : e']);
    assert.deepEqual(response('HTTP/1.1  200 \x1b[1m\tOK\r\n\r\n'), {
      version: '1.1',
      status: 200,
      reason: ' [1m\tOK',
      fields: [],
    });
    assert.equal(response('HTTP/2.0 200 OK\r\n\r\n').version, '1.1');
  });

  test('is read without fields whose names nothing understands', () => {
    const names = ['X Y', 'X/Y', 'X(Y)', 'X@Y', 'X\xe9', 'Content Length', '"A"'];
    const head = response(
      `HTTP/1.1 200 OK\r\nA: 1\r\n${names.map((name) => `${name}: 9\r\n`).join('')}B: 2\r\n\r\n`,
    );
    assert.deepEqual(pairs(head.fields), ['A=1', 'B=2']);
  });

  test('may have thousands of fields, up to a limit', () => {
    const lines = (count: number): string =>
      `HTTP/1.1 200 OK\r\n${'Set-Cookie: a=b\r\n'.repeat(count)}\r\n`;
    assert.equal(
      response(lines(RESPONSE_FIELD_LINE_LIMIT)).fields.length,
      RESPONSE_FIELD_LINE_LIMIT,
    );
    assert.throws(() => response(lines(RESPONSE_FIELD_LINE_LIMIT + 1)), refused(431));
    const folded = ' c\r\n'.repeat(RESPONSE_FIELD_LINE_LIMIT);
    assert.throws(() => response(`HTTP/1.1 200 OK\r\nX: a\r\n${folded}\r\n`), refused(431));
  });

  const table: readonly (readonly [string, string])[] = [
    ['no HTTP', 'ICY 200 OK\r\n\r\n'],
    ['text before its version', 'xHTTP/1.1 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 Low\r\n\r\n'],
    ['HTTP/0.9', 'HTTP/0.9 200 OK\r\n\r\n'],
    ['a version of two digits', 'HTTP/1.10 200 OK\r\n\r\n'],
    ['no space after its version', 'HTTP/1.1200 OK\r\n\r\n'],
    ['a bare CR in a value', 'HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\n\r\n'],
    ['a NUL in a value', 'HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n'],
    ['a line without a colon', 'HTTP/1.1 200 OK\r\ngarbage\r\n\r\n'],
    ['an empty name', 'HTTP/1.1 200 OK\r\n: a\r\n\r\n'],
    ['a control character in a name', 'HTTP/1.1 200 OK\r\nA\x01B: a\r\n\r\n'],
    ['a folded line before any field', 'HTTP/1.1 200 OK\r\n X: a\r\n\r\n'],
  ];
  for (const [what, text] of table) {
    test(`with ${what} is rejected`, () => {
      assert.throws(() => response(text), MessageError);
    });
  }
});

test('a head that is written is read with the same fields, in their order', () => {
  const fields = [field('Host', 'a'), field('X-Y', '\xe9'), field('x-y', '')];
  const head = headBytes('GET / HTTP/1.1', fields);
  assert.equal(head.toString('latin1'), 'GET / HTTP/1.1\r\nHost: a\r\nX-Y: \xe9\r\nx-y: \r\n\r\n');
  assert.deepEqual(parseRequestHead(head).fields, fields);
});

test('the values of all lines of a field are one list (RFC 9110 §5.3)', () => {
  const fields = [field('Via', 'a'), field('Host', 'h'), field('vIA', 'b, c')];
  assert.equal(combinedOf(fields, 'via'), 'a, b, c');
  assert.equal(combinedOf(fields, 'host'), 'h');
  assert.equal(combinedOf(fields, 'te'), undefined);
});

describe('a response head that is read strictly', () => {
  const strictly = (text: string) => parseStrictResponseHead(bytes(text), 2);

  test('is its status, reason and fields', () => {
    const head = strictly('HTTP/1.1 101 Switching Protocols\r\nA: b\r\na: c \r\n\r\n');
    assert.deepEqual([head.version, head.status], ['1.1', 101]);
    assert.deepEqual(pairs(head.fields), ['A=b', 'a=c']);
    assert.equal(strictly('HTTP/1.1 200\r\n\r\n').reason, '');
  });

  const table: readonly (readonly [string, string])[] = [
    ['a bare LF after the status line', 'HTTP/1.1 200 OK\nA: b\r\n\r\n'],
    ['a bare LF after a field', 'HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n'],
    ['a bare LF at the end', 'HTTP/1.1 200 OK\r\nA: b\r\n\n'],
    ['a bare CR in a value', 'HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n'],
    ['a space before a colon', 'HTTP/1.1 200 OK\r\nA : b\r\n\r\n'],
    ['a NUL in a value', 'HTTP/1.1 200 OK\r\nA: \0\r\n\r\n'],
    ['no status', 'HTTP/1.1\r\n\r\n'],
    ['two spaces before its status', 'HTTP/1.1  200 OK\r\n\r\n'],
    ['a control character in the reason', 'HTTP/1.1 200 O\x07K\r\n\r\n'],
    ['another major version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['an odd name', 'HTTP/1.1 200 OK\r\nX Y: a\r\n\r\n'],
    ['more lines than the limit', 'HTTP/1.1 200 OK\r\nA: b\r\nA: b\r\nA: b\r\n\r\n'],
  ];
  for (const [what, text] of table) {
    test(`with ${what} is rejected`, () => {
      assert.throws(() => strictly(text), MessageError);
    });
  }
});

describe('the head scanner', () => {
  /** Feeds chunks as a reader would; returns the head and how many bytes it used. */
  const scan = (chunks: readonly Uint8Array[], limit = HEAD_LIMIT) => {
    const scanner = new HeadScanner(limit, startsRequest);
    let before = 0;
    for (const chunk of chunks) {
      const used = scanner.push(chunk);
      if (used !== undefined) return { head: scanner.head.toString('latin1'), end: before + used };
      before += chunk.length;
    }
    return undefined;
  };

  test('skips empty lines before a head and leaves what follows it', () => {
    const text = '\r\n\n\r\nGET / HTTP/1.1\r\n\r\nnext';
    assert.deepEqual(scan([bytes(text)]), {
      head: 'GET / HTTP/1.1\r\n\r\n',
      end: text.length - 4,
    });
  });

  test('ends a head at its first empty line, however its lines end', () => {
    for (const head of [
      'GET / HTTP/1.1\nA: b\n\n',
      'GET / HTTP/1.1\nA: b\n\r\n',
      'GET / HTTP/1.1\r\nA: b\r\n\n',
      // A bare CR does not end a line.
      'GET / HTTP/1.1\r\n\rA: b\r\n\r\n',
    ]) {
      const expected = { head, end: head.length };
      assert.deepEqual(scan([bytes(`${head}next\n\n`)]), expected);
      assert.deepEqual(scan(chunksOf(bytes(`${head}next\n\n`), [1])), expected);
    }
  });

  test('does not copy what follows a head, and keeps no chunk of an incomplete one', () => {
    const pipelined = bytes('GET / HTTP/1.1\r\n\r\n'.repeat(3000));
    const whole = new HeadScanner(HEAD_LIMIT, startsRequest);
    whole.push(pipelined);
    assert.equal(whole.head.buffer, pipelined.buffer);
    const split = new HeadScanner(HEAD_LIMIT, startsRequest);
    const chunk = bytes('GET / HTTP/1.1\r\n');
    split.push(chunk);
    chunk.fill(0);
    split.push(bytes('\r\n'));
    assert.equal(split.head.toString(), 'GET / HTTP/1.1\r\n\r\n');
  });

  test('rejects at the first byte what cannot be HTTP', () => {
    for (const first of ['\x16\x03\x01', '\x05\x01\x00', '\x04', ' GET', '\rGET', '\0']) {
      assert.throws(() => scan([bytes(first)]), refused(400), JSON.stringify(first));
    }
  });

  test('accepts a head of the limit and rejects one byte more, wherever it is split', () => {
    const head = `GET / HTTP/1.1\r\nX: ${'y'.repeat(77)}\r\n\r\n`;
    for (const cut of [1, 7, head.length]) {
      assert.equal(scan(chunksOf(bytes(head), [cut]), head.length)?.end, head.length);
      assert.throws(() => scan(chunksOf(bytes(head), [cut]), head.length - 1), refused(431));
    }
    assert.throws(() => scan([bytes('\r\n'.repeat(100))], 100), refused(431));
  });

  test('finds the same end, or the same error, for any bytes, wherever they are split', () => {
    const piece = fc.constantFrom('\r\n', '\n', '\r', 'GET / HTTP/1.1', 'A: b', ' ', '\0', 'x');
    const text = fc.array(piece, { maxLength: 30, size: 'max' }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.nat(9), { minLength: 1 }), (input, cuts) => {
        const whole = outcomeOf(() => scan([bytes(input)], 40));
        assert.deepEqual(
          outcomeOf(() => scan(chunksOf(bytes(input), cuts), 40)),
          whole,
        );
      }),
      { numRuns: 2000 },
    );
  });
});

const requestOf = (lines: string, version = '1.1') =>
  requestFraming(parseRequestHead(Buffer.from(`POST / HTTP/${version}\r\n${lines}\r\n`, 'latin1')));

const responseOf = (lines: string, { status = 200, method = 'GET', version = '1.1' } = {}) =>
  responseFraming(
    parseResponseHead(Buffer.from(`HTTP/${version} ${status} X\r\n${lines}\r\n`, 'latin1')),
    method,
  );

describe('the framing of a request', () => {
  test('is empty without a length, and has the stated length, once or repeated', () => {
    assert.deepEqual(requestOf(''), { kind: 'none' });
    assert.deepEqual(requestOf('Content-Length: 0\r\n'), { kind: 'none' });
    assert.deepEqual(requestOf('Content-Length: 12\r\n'), { kind: 'length', length: 12 });
    const twice = 'Content-Length: 5, 5\r\ncontent-length: 05\r\n';
    assert.deepEqual(requestOf(twice), { kind: 'length', length: 5 });
    assert.deepEqual(requestOf('Transfer-Encoding: Chunked\r\n'), { kind: 'chunked' });
    // Empty members of a list are none (RFC 9110 §5.6.1.2).
    assert.deepEqual(requestOf('Transfer-Encoding: , chunked,\r\n'), { kind: 'chunked' });
  });

  const smuggled: readonly (readonly [string, string, string?])[] = [
    ['both lengths', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ['both lengths in the other order', 'Transfer-Encoding: chunked\r\nContent-Length: 0\r\n'],
    ['lengths that differ', 'Content-Length: 4\r\nContent-Length: 5\r\n'],
    ['lengths that differ in one line', 'Content-Length: 4, 5\r\n'],
    ['an empty length', 'Content-Length:\r\n'],
    ['a length with a sign', 'Content-Length: +4\r\n'],
    ['a negative length', 'Content-Length: -1\r\n'],
    ['a hexadecimal length', 'Content-Length: 0x4\r\n'],
    ['two numbers as length', 'Content-Length: 4 4\r\n'],
    ['a no-break space in a length', 'Content-Length: \xa04\r\n'],
    ['a length beyond 2^53', 'Content-Length: 9007199254740993\r\n'],
    ['a length that overflows', `Content-Length: ${'9'.repeat(400)}\r\n`],
    ['an empty coding', 'Transfer-Encoding:\r\n'],
    ['an unknown coding', 'Transfer-Encoding: xchunked\r\n'],
    ['identity', 'Transfer-Encoding: identity\r\n'],
    ['chunked that is not last', 'Transfer-Encoding: chunked, gzip\r\n'],
    ['a coding below chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'],
    ['a quoted coding', 'Transfer-Encoding: "chunked"\r\n'],
    ['a vertical tab before a coding', 'Transfer-Encoding: \x0bchunked\r\n'],
    ['a coding in HTTP/1.0', 'Transfer-Encoding: chunked\r\n', '1.0'],
  ];
  for (const [what, lines, version] of smuggled) {
    test(`with ${what} is rejected`, () => {
      assert.throws(
        () => requestOf(lines, version),
        (error) => error instanceof MessageError && error.status === 400,
      );
    });
  }
});

describe('the framing of a response', () => {
  test('follows the request and the status before the header', () => {
    const said = 'Content-Length: 9\r\n';
    const none = { body: { kind: 'none' }, certain: true };
    assert.deepEqual(responseOf(said, { method: 'HEAD' }), none);
    assert.deepEqual(responseOf(said, { status: 304 }), none);
    assert.deepEqual(responseOf(said, { status: 204 }), none);
    assert.deepEqual(responseOf(said, { status: 199 }), none);
    assert.deepEqual(responseOf('Transfer-Encoding: chunked\r\n', { method: 'HEAD' }), none);
    assert.deepEqual(responseOf(said), { body: { kind: 'length', length: 9 }, certain: true });
    assert.deepEqual(responseOf('Content-Length: 0\r\n'), none);
  });

  test('extends to the end of the stream without a length', () => {
    const open = { body: { kind: 'until-close' }, certain: false };
    assert.deepEqual(responseOf(''), open);
    assert.deepEqual(responseOf('Transfer-Encoding: identity\r\n'), open);
  });

  test('by chunks is certain only where nothing contradicts it', () => {
    const chunked = 'Transfer-Encoding: chunked\r\n';
    assert.deepEqual(responseOf(chunked), { body: { kind: 'chunked' }, certain: true });
    assert.equal(responseOf(`${chunked}Content-Length: 4\r\n`).certain, false);
    assert.equal(responseOf(chunked, { version: '1.0' }).certain, false);
  });

  test('that is ambiguous is rejected', () => {
    for (const lines of [
      'Content-Length: 1\r\nContent-Length: 2\r\n',
      'Content-Length: x\r\n',
      'Transfer-Encoding: gzip\r\n',
      'Transfer-Encoding: gzip, chunked\r\n',
      'Transfer-Encoding: chunked, chunked\r\n',
    ]) {
      assert.throws(() => responseOf(lines), MessageError, lines);
    }
  });
});
