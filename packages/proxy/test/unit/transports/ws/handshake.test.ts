import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  acceptKey,
  decodeEarlyData,
  encodeEarlyData,
  hostWithoutPort,
  isKey,
  pathMatches,
  splitWsPath,
} from '../../../../src/transports/ws/handshake.ts';
import { CODE_POINT } from '../../../../../../test/support/data/code-point.ts';

test('the key of RFC 6455 §1.3 is accepted with the value there', () => {
  assert.equal(acceptKey('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  assert.ok(isKey('dGhlIHNhbXBsZSBub25jZQ=='));
  for (const key of [
    undefined,
    '',
    'short==',
    'dGhlIHNhbXBsZSBub25jZQ',
    'xdGhlIHNhbXBsZSBub25jZQ==',
    'dGhlIHNhbXBsZSBub25jZQ==x',
  ]) {
    assert.ok(!isKey(key), String(key));
  }
});

const PATHS: readonly [written: string, path: string, earlyData: number][] = [
  ['', '/', 0],
  ['/', '/', 0],
  ['ray', '/ray', 0],
  ['/ray?ed=2048', '/ray', 2048],
  ['?ed=10', '/', 10],
  ['/ray?ed=16384', '/ray', 16_384],
  ['/ray?ed=16385', '/ray', 16_384],
  ['/ray?ed=99999999999999999999', '/ray', 16_384],
  ['/ray?ed=-1', '/ray', 0],
  ['/ray?ed=x', '/ray', 0],
  ['/ray?ed=5x', '/ray', 0],
  ['/ray?a?b', '/ray?a?b', 0],
  ['/ray?ed', '/ray', 0],
  ['/ray?token=a&ed=5&x=y', '/ray?token=a&x=y', 5],
  ['/ray?red=7', '/ray?red=7', 0],
  ['/a?', '/a', 0],
];
for (const [written, path, earlyData] of PATHS) {
  test(`the path ${JSON.stringify(written)} is ${path} with early data of ${earlyData}`, () => {
    assert.deepEqual(splitWsPath(written), { path, earlyData });
  });
}

const MATCHES: readonly [target: string, path: string, yes: boolean][] = [
  ['/ray', '/ray', true],
  ['/ray?ed=2048', '/ray', true],
  ['/ray?anything', '/ray', true],
  ['/Ray', '/ray', false],
  ['/ray/', '/ray', false],
  ['/', '/ray', false],
  ['/r%61y', '/ray', false],
  ['/r%C3%A4y', '/räy', true],
  ['/räy', '/räy', true],
  ['/%C3%BC', '/ü', true],
  ['/%', '/%', true],
  ['/ray?token=a', '/ray?token=a', true],
  ['/ray?token=a&ed=1', '/ray?token=a', true],
  ['/ray?token=b', '/ray?token=a', false],
  ['/ray', '/ray?token=a', false],
  ['*', '/', false],
  ['/a%7Bb%7D', '/a{b}', true],
  ['/a{b}', '/a{b}', true],
  ['/a%7bb%7d', '/a{b}', false],
  ["/a'b(c)", "/a'b(c)", true],
  ['/a%27b%28c%29', "/a'b(c)", true],
  ['/a%2520b', '/a%20b', true],
  ['/a%20b', '/a%20b', true],
  ['/a%7Cb?x={y}', '/a|b?x={y}', true],
];
for (const [target, path, yes] of MATCHES) {
  test(`${target} is ${yes ? '' : 'not '}a request for ${path}`, () => {
    assert.equal(pathMatches(target, path), yes);
  });
}

const HOSTS: readonly [host: string, bare: string][] = [
  ['Example.COM', 'example.com'],
  ['example.com:8443', 'example.com'],
  ['[::1]:80', '::1'],
  ['[::1]', '::1'],
  ['::1', '::1'],
  ['192.0.2.1:1', '192.0.2.1'],
  [' example.com ', 'example.com'],
  ['a[::1]', 'a[::1]'],
  ['[::1]a', '[::1]a'],
  ['', ''],
];
for (const [host, bare] of HOSTS) {
  test(`the host ${JSON.stringify(host)} is ${JSON.stringify(bare)}`, () => {
    assert.equal(hostWithoutPort(host), bare);
  });
}

test('early data is taken in either alphabet, padded or not', () => {
  const data = Buffer.from([0xfb, 0xff, 0xfe, 0x01]);
  for (const text of ['-__-AQ', '+//+AQ', '-__-AQ==', '+//+AQ==']) {
    assert.deepEqual(decodeEarlyData(text), data);
  }
});

test('a header that is not early data is a list of protocols', () => {
  for (const text of [undefined, '', 'a, b', 'v1.chat', 'a', 'a==', 'abcde', 'ab===', 'ü']) {
    assert.equal(decodeEarlyData(text), undefined);
  }
});

test('early data survives, and is a token of HTTP', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 300, size: 'max' }), (data) => {
      const text = encodeEarlyData(data);
      assert.match(text, /^[-_0-9A-Za-z]+$/);
      assert.deepEqual(decodeEarlyData(text), Buffer.from(data));
    }),
  );
});

test('any header is early data or none', () => {
  fc.assert(
    fc.property(fc.string({ unit: CODE_POINT }), (text) => {
      const data = decodeEarlyData(text);
      assert.ok(data === undefined || data.length <= text.length);
      splitWsPath(text);
      pathMatches(text, '/x');
      hostWithoutPort(text);
    }),
  );
});
