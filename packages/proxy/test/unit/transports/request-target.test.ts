import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  toDecodedTarget,
  toPathSegment,
  toRequestTarget,
} from '../../../src/transports/request-target.ts';
import { pathMatches } from '../../../src/transports/ws/handshake.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

/*
 * Expected values are the output of Go 1.26.8, for each printable character of ASCII but letters and digits: the path
 * `/a?b` with the character in place of `?`, through `url.Parse("ws://h" + path)` and `RequestURI`, through
 * `url.URL{Path: path}` and `EscapedPath`, and through `url.PathEscape`.
 */
const TABLE: readonly (readonly [
  character: string,
  parsed: string,
  decoded: string,
  segment: string,
])[] = [
  [' ', '/a%20b', '/a%20b', 'a%20b'],
  ['!', '/a!b', '/a%21b', 'a%21b'],
  ['"', '/a%22b', '/a%22b', 'a%22b'],
  ['$', '/a$b', '/a$b', 'a$b'],
  ['&', '/a&b', '/a&b', 'a&b'],
  ["'", "/a'b", '/a%27b', 'a%27b'],
  ['(', '/a(b', '/a%28b', 'a%28b'],
  [')', '/a)b', '/a%29b', 'a%29b'],
  ['*', '/a*b', '/a%2Ab', 'a%2Ab'],
  ['+', '/a+b', '/a+b', 'a+b'],
  [',', '/a,b', '/a,b', 'a%2Cb'],
  ['-', '/a-b', '/a-b', 'a-b'],
  ['.', '/a.b', '/a.b', 'a.b'],
  ['/', '/a/b', '/a/b', 'a%2Fb'],
  [':', '/a:b', '/a:b', 'a:b'],
  [';', '/a;b', '/a;b', 'a%3Bb'],
  ['<', '/a%3Cb', '/a%3Cb', 'a%3Cb'],
  ['=', '/a=b', '/a=b', 'a=b'],
  ['>', '/a%3Eb', '/a%3Eb', 'a%3Eb'],
  ['@', '/a@b', '/a@b', 'a@b'],
  ['[', '/a[b', '/a%5Bb', 'a%5Bb'],
  ['\\', '/a%5Cb', '/a%5Cb', 'a%5Cb'],
  [']', '/a]b', '/a%5Db', 'a%5Db'],
  ['^', '/a%5Eb', '/a%5Eb', 'a%5Eb'],
  ['_', '/a_b', '/a_b', 'a_b'],
  ['`', '/a%60b', '/a%60b', 'a%60b'],
  ['{', '/a%7Bb', '/a%7Bb', 'a%7Bb'],
  ['|', '/a%7Cb', '/a%7Cb', 'a%7Cb'],
  ['}', '/a%7Db', '/a%7Db', 'a%7Db'],
  ['~', '/a~b', '/a~b', 'a~b'],
];

describe('a path in a request is what Go makes of it', () => {
  for (const [character, parsed, decoded, segment] of TABLE) {
    test(`with ${JSON.stringify(character)}`, () => {
      const path = `/a${character}b`;
      assert.equal(toRequestTarget(path), parsed);
      assert.equal(toDecodedTarget(path), decoded);
      assert.equal(toPathSegment(`a${character}b`), segment);
      for (const target of [path, parsed, decoded]) assert.ok(pathMatches(target, path), target);
    });
  }

  test('with letters and digits', () => {
    const all = '/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
    assert.equal(toRequestTarget(all), all);
    assert.equal(toDecodedTarget(all), all);
  });

  // The same, of other paths.
  for (const [path, parsed, decoded] of [
    ['/\u00fc\u9999', '/%C3%BC%E9%A6%99', '/%C3%BC%E9%A6%99'],
    ['/\u{1f600}', '/%F0%9F%98%80', '/%F0%9F%98%80'],
    ['/a%20b', '/a%20b', '/a%2520b'],
    ['/a%2fb', '/a%2fb', '/a%252fb'],
    ['/%7B{', '/%7B%7B', '/%257B%7B'],
    ["/a{b'c(d)*!", '/a%7Bb%27c%28d%29%2A%21', '/a%7Bb%27c%28d%29%2A%21'],
    ['//x', '//x', '//x'],
  ] as const) {
    test(path, () => {
      assert.equal(toRequestTarget(path), parsed);
      assert.equal(toDecodedTarget(path), decoded);
    });
  }

  test('where Go refuses it, as a fragment or a percent sign without digits, it is still a target', () => {
    assert.equal(toRequestTarget('/a#b'), '/a%23b');
    assert.equal(toRequestTarget('/a%b'), '/a%b');
    assert.equal(toRequestTarget('/a%{b'), '/a%%7Bb');
    assert.equal(toRequestTarget('/a?x=%2F#f y'), '/a?x=%2F%23f%20y');
    assert.equal(toRequestTarget('/\r\nx'), '/%0D%0Ax');
  });

  test('any path is a target without control characters and spaces, and matches it', () => {
    fc.assert(
      fc.property(fc.string({ unit: CODE_POINT, maxLength: 60, size: 'max' }), (text) => {
        const path = `/${text}`;
        assert.match(toRequestTarget(path), /^[\x21-\x7e]+$/);
        assert.match(toPathSegment(text), /^[\x21-\x7e]*$/);
        if (!text.includes('?')) assert.ok(pathMatches(toRequestTarget(path), path));
      }),
    );
  });
});
