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
    assert.equal(requestReason({ ':path': 'x', ':method': 'OPTIONS' }), 'the path is invalid');
  });

  test('of another scheme has a path of any form (RFC 9114 §4.3.1)', () => {
    for (const scheme of ['coap+tcp', 'xhttps', 'https-x']) {
      assert.equal(requestReason({ ':scheme': scheme, ':path': 'x' }), undefined);
    }
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

  test('has the parts that it names, and empty ones for the others', () => {
    const headOf = (fields: Readonly<Record<string, string>>) => {
      const result = parseRequest(list(fields));
      assert.ok(!(result instanceof Http3Error));
      return result.head;
    };
    assert.deepEqual(headOf({ ...REQUEST, x: 'y' }), {
      method: 'POST',
      scheme: 'https',
      authority: 'hysteria',
      path: '/auth',
      fields: [{ name: 'x', value: 'y' }],
    });
    assert.deepEqual(headOf({ ':method': 'CONNECT', ':authority': 'a.example:443' }), {
      method: 'CONNECT',
      scheme: '',
      authority: 'a.example:443',
      path: '',
      fields: [],
    });
    // Only http and https need an authority (RFC 9114 §4.3.1).
    const { authority } = headOf({ ':method': 'GET', ':scheme': 'urn', ':path': 'x' });
    assert.equal(authority, '');
  });

  const section = list(REQUEST);
  const regular = { name: 'x', value: 'y' };
  const host = { name: 'host', value: 'hysteria' };
  const length = (value: string): HttpField => ({ name: 'content-length', value });
  const without = (name: string): HttpField[] => section.filter((field) => field.name !== name);
  /** Malformed sections, and the reason (RFC 9114 §4.1.2, §4.2, §4.3). */
  const MALFORMED: readonly (readonly [reason: string, ...sections: (readonly HttpField[])[]])[] = [
    ['a field value has a control character', [...section, { name: 'x', value: 'a\0' }]],
    ['a pseudo-header field follows a field', [regular, ...section]],
    ['a pseudo-header field is not defined here', [...section, { name: ':status', value: '200' }]],
    ['a pseudo-header field is repeated', [...section, ...section.slice(0, 1)]],
    ['a field name is no token in lower case', [...section, { name: 'X', value: '' }]],
    ['a field is specific to a connection', [...section, { name: 'upgrade', value: 'h2c' }]],
    ['the te field is not trailers', [...section, { name: 'te', value: 'gzip' }]],
    ['the content-length is invalid', [...section, length('-1')], [...section, length('')]],
    ['content-length is contradictory', [...section, length('1'), length('2')]],
    ['the method is missing or invalid', without(':method')],
    ['the path is missing', without(':path')],
    [':protocol without CONNECT', [...section, { name: ':protocol', value: 'websocket' }]],
    ['the host field is repeated', [...section, host, host]],
    ['the authority is missing', without(':authority')],
    ['the authority and the host field differ', [...section, { name: 'host', value: 'other' }]],
    [
      'the authority has user information',
      [...without(':authority'), { name: ':authority', value: 'a@hysteria' }],
    ],
  ];

  for (const [reason, ...sections] of MALFORMED) {
    test(`is malformed because ${reason}`, () => {
      for (const fields of sections) assert.equal(reasonOf(parseRequest(fields)), reason);
    });
  }

  test('may be an extended CONNECT, which has all parts (RFC 9220 §3)', () => {
    const extended = { ':method': 'CONNECT', ':protocol': 'websocket' };
    assert.equal(requestReason(extended), undefined);
    const { ':scheme': _, ...others } = { ...REQUEST, ...extended };
    assert.equal(reasonOf(parseRequest(list(others))), 'the scheme is missing or invalid');
  });

  test('may accept trailers (RFC 9114 §4.2)', () => {
    assert.equal(requestReason({ te: 'trailers' }), undefined);
  });

  test('may repeat its content-length, and its authority as a host', () => {
    const result = parseRequest([...section, length('12'), host, length('12')]);
    assert.ok(!(result instanceof Http3Error));
    assert.equal(result.contentLength, 12);
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
  assert.equal(reasonOf(parseResponse([])), 'the status is missing or invalid');
  assert.equal(
    reasonOf(parseResponse(list({ ':status': '200', upgrade: 'h2c' }))),
    'a field is specific to a connection',
  );
});

test('trailers over HTTP/3 have no pseudo-header field', () => {
  assert.equal(checkTrailers(list({ x: 'y' })), undefined);
  assert.ok(reasonOf(checkTrailers(list({ ':status': '200' }))));
});
