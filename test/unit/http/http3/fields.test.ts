import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HttpField } from '../../../../src/http/fields/field.ts';
import { Http3Error, http3ErrorName } from '../../../../src/http/http3/errors.ts';
import { checkTrailers, parseRequest, parseResponse } from '../../../../src/http/http3/fields.ts';

const list = (fields: Readonly<Record<string, string>>): HttpField[] =>
  Object.entries(fields).map(([name, value]) => ({ name, value }));

const REQUEST = {
  ':method': 'POST',
  ':scheme': 'https',
  ':path': '/auth',
  ':authority': 'hysteria',
};

const reasonOf = (result: unknown): string | undefined => {
  if (!(result instanceof Http3Error)) return undefined;
  assert.deepEqual([result.scope, http3ErrorName(result.code)], ['stream', 'H3_MESSAGE_ERROR']);
  return result.reason;
};

const requestReason = (changes: Readonly<Record<string, string>>): string | undefined =>
  reasonOf(parseRequest(list({ ...REQUEST, ...changes })));

describe('a request over HTTP/3', () => {
  test('over https has a path that begins with a slash, or the asterisk of OPTIONS (RFC 9114 §4.3.1)', () => {
    assert.equal(requestReason({}), undefined);
    for (const path of ['', 'x', '*']) {
      assert.equal(requestReason({ ':path': path }), 'the path is invalid');
      assert.equal(requestReason({ ':path': path, ':scheme': 'HTTP' }), 'the path is invalid');
    }
    assert.equal(requestReason({ ':path': '*', ':method': 'OPTIONS' }), undefined);
  });

  test('of another scheme has a path of any form (RFC 9114 §4.3.1)', () => {
    assert.equal(requestReason({ ':scheme': 'coap+tcp', ':path': 'x' }), undefined);
    for (const scheme of ['', '1a', 'a b']) {
      assert.equal(requestReason({ ':scheme': scheme }), 'the scheme is missing or invalid');
    }
  });

  test('to connect has an authority, and neither scheme nor path (RFC 9114 §4.4)', () => {
    const connect = { ':method': 'CONNECT', ':authority': 'a.example:443' };
    assert.equal(reasonOf(parseRequest(list(connect))), undefined);
    for (const more of [{ ':path': '/' }, { ':scheme': 'https' }]) {
      assert.match(
        reasonOf(parseRequest(list({ ...connect, ...more }))) ?? '',
        /a scheme or a path/,
      );
    }
    assert.match(
      reasonOf(parseRequest(list({ ':method': 'CONNECT' }))) ?? '',
      /without an authority/,
    );
  });

  test('has the host of its host field where there is no authority', () => {
    const { ':authority': _, ...others } = REQUEST;
    const result = parseRequest(list({ ...others, host: 'a.example' }));
    assert.ok(!(result instanceof Http3Error));
    assert.equal(result.head.authority, 'a.example');
  });
});

test('a response over HTTP/3 has a status of three digits, which is not 101', () => {
  const ok = parseResponse(list({ ':status': '233' }));
  assert.equal(ok instanceof Http3Error ? undefined : ok.head.status, 233);
  for (const status of ['', '20', '2000', '101', 'abc']) {
    assert.ok(reasonOf(parseResponse(list({ ':status': status }))));
  }
});

test('trailers over HTTP/3 have no pseudo-header field', () => {
  assert.equal(checkTrailers(list({ x: 'y' })), undefined);
  assert.ok(reasonOf(checkTrailers(list({ ':status': '200' }))));
});
