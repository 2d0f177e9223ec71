import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Http2Error } from '../../../../src/http/http2/errors.ts';
import { checkRequest, checkResponse, checkTrailers } from '../../../../src/http/http2/fields.ts';
import type { HttpField } from '../../../../src/http/fields/field.ts';

const list = (fields: Readonly<Record<string, string>>): HttpField[] =>
  Object.entries(fields).map(([name, value]) => ({ name, value }));

const REQUEST = { ':method': 'POST', ':scheme': 'http', ':path': '/', ':authority': 'a.example' };

const reasonOf = (result: unknown): string | undefined => {
  if (!(result instanceof Http2Error)) return undefined;
  assert.deepEqual([result.scope, result.name], ['stream', 'PROTOCOL_ERROR']);
  return result.reason;
};

describe('a request over HTTP/2', () => {
  test('has a method, a scheme and a path, which are not empty (RFC 9113 §8.3.1)', () => {
    assert.equal(checkRequest(list(REQUEST)), undefined);
    for (const name of [':method', ':scheme', ':path'] as const) {
      const { [name]: _, ...others } = REQUEST;
      const expected = `the ${name.slice(1)} is missing`;
      assert.equal(reasonOf(checkRequest(list(others))), expected);
      assert.equal(reasonOf(checkRequest(list({ ...REQUEST, [name]: '' }))), expected);
    }
  });

  test('to connect has an authority, and neither scheme nor path (RFC 9113 §8.5)', () => {
    const connect = { ':method': 'CONNECT', ':authority': 'a.example:443' };
    assert.equal(checkRequest(list(connect)), undefined);
    for (const wrong of [
      { ...connect, ':scheme': 'https' },
      { ...connect, ':path': '/' },
      { ':method': 'CONNECT' },
      { ':method': 'CONNECT', ':authority': '' },
    ]) {
      assert.match(reasonOf(checkRequest(list(wrong))) ?? '', /^CONNECT with/);
    }
  });

  test('is malformed for a pseudo-header field that is unknown, late or repeated (RFC 9113 §8.3)', () => {
    const fields = list(REQUEST);
    const protocol = { name: ':protocol', value: 'websocket' };
    const regular = { name: 'x', value: 'y' };
    assert.match(reasonOf(checkRequest([...fields, protocol])) ?? '', /unknown/);
    assert.match(reasonOf(checkRequest([regular, ...fields])) ?? '', /follows another/);
    assert.match(reasonOf(checkRequest([...fields, ...fields.slice(0, 1)])) ?? '', /repeated/);
  });

  test('is malformed for names and values that HTTP/1 would read otherwise (RFC 9113 §8.2.1)', () => {
    for (const [name, value] of [
      ['X', 'y'],
      ['x y', 'z'],
      ['', 'y'],
      ['x', ' y'],
      ['x', 'y\t'],
      ['x', 'a\nb'],
      ['x', 'a\0b'],
      ['connection', 'close'],
      ['transfer-encoding', 'chunked'],
      ['te', 'gzip'],
    ] as const) {
      const result = checkRequest([...list(REQUEST), { name, value }]);
      assert.ok(reasonOf(result), JSON.stringify([name, value]));
    }
    assert.equal(checkRequest(list({ ...REQUEST, te: 'Trailers', x: '' })), undefined);
  });
});

describe('a response over HTTP/2', () => {
  test('has a status of three digits, which is not 101 (RFC 9113 §8.3.2, §8.6)', () => {
    assert.equal(checkResponse(list({ ':status': '200', x: 'y' })), 200);
    assert.equal(checkResponse(list({ ':status': '103' })), 103);
    for (const status of ['', '20', '2000', '020', '2x0', '101']) {
      assert.match(reasonOf(checkResponse(list({ ':status': status }))) ?? '', /the status/);
    }
    assert.match(reasonOf(checkResponse([])) ?? '', /the status/);
  });

  test('is malformed with a field of a request, or an invalid one', () => {
    assert.match(
      reasonOf(checkResponse(list({ ':status': '200', ':path': '/' }))) ?? '',
      /unknown/,
    );
    assert.match(reasonOf(checkResponse(list({ ':status': '200', X: 'y' }))) ?? '', /invalid name/);
  });
});

test('trailers over HTTP/2 have no pseudo-header field (RFC 9113 §8.1)', () => {
  assert.equal(checkTrailers(list({ 'grpc-status': '0' })), undefined);
  assert.match(reasonOf(checkTrailers(list({ ':status': '200' }))) ?? '', /unknown/);
});
