import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  addressBytes,
  addressText,
  assignEndpoint,
  blankEndpoint,
  copyEndpoint,
  isIPv4Endpoint,
  isSameAddress,
  isSameEndpoint,
  isWildcard,
  toEndpoint,
} from '../../../src/ip/ip-endpoint.ts';
import { formatIP, parseIP, unmapIPv4 } from '../../../src/ip/addresses.ts';

const endpoint = (host: string, port = 1, scope = 0) =>
  toEndpoint(host, port, scope) ?? assert.fail(host);

test('every address has one text, one form in bytes and one in numbers', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(0xffff), (host, port) => {
      const bytes = parseIP(host) ?? assert.fail();
      assert.deepEqual(parseIP(formatIP(bytes)), bytes);
      const numbers = endpoint(host, port);
      assert.equal(addressText(numbers), unmapIPv4(formatIP(bytes)));
      assert.ok(isSameEndpoint(endpoint(addressText(numbers), port), numbers));
      assert.equal(addressBytes(numbers).length, isIPv4Endpoint(numbers) ? 4 : 16);
      const words = [numbers.a, numbers.b, numbers.c, numbers.d];
      assert.deepEqual(words, Array.from(Int32Array.from(words)));
    }),
  );
});

test('any text is an address in numbers or none', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f:.%]{0,45}$/)), (text) => {
      const bytes = parseIP(text);
      const numbers = toEndpoint(text, 1);
      assert.equal(numbers === undefined, bytes === undefined);
      if (bytes && numbers) assert.equal(addressText(numbers), unmapIPv4(formatIP(bytes)));
    }),
  );
});

test('endpoints are the same when all of their fields are', () => {
  const one = endpoint('2001:db8:1:2:3:4:5:6', 443, 0);
  const other = blankEndpoint();
  assignEndpoint(other, one);
  assert.ok(isSameEndpoint(one, other));
  for (const field of ['a', 'b', 'c', 'd', 'port', 'scope'] as const) {
    const changed = copyEndpoint(one);
    changed[field]++;
    assert.equal(isSameEndpoint(one, changed), false);
    assert.equal(isSameAddress(one, changed), field === 'port');
  }
});

test('the wildcards of both families are known', () => {
  for (const [host, expected] of [
    ['::', true],
    ['0.0.0.0', true],
    ['::1', false],
    ['0.0.0.1', false],
    ['1::', false],
    ['0:0:1::', false],
    ['::1:0:0:0', false],
    ['1::ffff:0:0', false],
  ] as const) {
    assert.equal(isWildcard(endpoint(host)), expected, host);
  }
  assert.deepEqual(blankEndpoint(), endpoint('::', 0));
});

test('only an address in mapped form is one of IPv4', () => {
  for (const [host, expected] of [
    ['192.0.2.1', true],
    ['::ffff:192.0.2.1', true],
    ['::192.0.2.1', false],
    ['1::ffff:c000:201', false],
    ['0:0:0:1:0:ffff:c000:201', false],
  ] as const) {
    assert.equal(isIPv4Endpoint(endpoint(host)), expected, host);
  }
});
