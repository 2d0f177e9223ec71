import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MessageError } from '../../../src/http1/message-error.ts';
import { requestFraming, responseFraming } from '../../../src/http1/framing.ts';
import { parseRequestHead, parseResponseHead } from '../../../src/http1/head.ts';

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
