import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { blankEndpoint, toEndpoint } from '@weir/base/ip';
import { canonicalHost } from '../../../../src/net/addresses/addresses.ts';
import { SystemError } from '../../../../src/platform/sockets/errno.ts';
import { AF_INET, AF_INET6 } from '../../../../src/platform/sockets/linux.ts';
import {
  getEndpoint,
  getIpAddress,
  putEndpoint,
  putIpAddress,
} from '../../../../src/platform/sockets/sockaddr.ts';

const noZones = (): number => 0;
const eth0 = (zone: string): number => (zone === 'eth0' ? 7 : 0);

/** What comes back of an address that was written for a socket of a family. */
function roundTrip(host: string, family: number, port = 443): string | undefined {
  const bytes = Buffer.alloc(40, 0xee);
  const length = putIpAddress(bytes, 4, { host, port }, family, eth0);
  assert.equal(length, family === AF_INET ? 16 : 28);
  const read = getIpAddress(bytes, 4, (index) => `if${index}`);
  assert.equal(read?.port, port);
  return read.host;
}

test('an IPv4 address is written in network order', () => {
  const bytes = Buffer.alloc(16, 0xee);
  putIpAddress(bytes, 0, { host: '192.0.2.255', port: 0x1234 }, AF_INET, noZones);
  assert.equal(bytes.toString('hex'), '02001234c00002ff0000000000000000');
});

test('an IPv6 address is written with its scope', () => {
  const bytes = Buffer.alloc(28, 0xee);
  putIpAddress(bytes, 0, { host: 'fe80::1:2%eth0', port: 0x1234 }, AF_INET6, eth0);
  const expected = '0a00123400000000fe80000000000000000000000001000207000000';
  assert.equal(bytes.toString('hex'), expected);
  assert.equal(getIpAddress(bytes, 0, (index) => `if${index}`)?.host, 'fe80::1:2%if7');
});

test('an IPv6 socket reaches IPv4 addresses in mapped form, which is undone on the way back', () => {
  assert.equal(roundTrip('198.51.100.7', AF_INET6), '198.51.100.7');
  assert.equal(roundTrip('::ffff:198.51.100.7', AF_INET6), '198.51.100.7');
});

for (const [host, expected] of [
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ['0:0:0:0:0:0:13.1.68.3', '::d01:4403'],
  ['FE80::ABCD', 'fe80::abcd'],
] as const) {
  test(`${host} is ${expected} in the form of RFC 5952`, () => {
    assert.equal(roundTrip(host, AF_INET6), expected);
  });
}

test('every IP address survives, in the one text that the rest of the code uses', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(0xffff), (host, port) => {
      const family = host.includes(':') ? AF_INET6 : AF_INET;
      assert.equal(roundTrip(host, family, port), canonicalHost(host));
    }),
  );
});

for (const [title, host, port, family, code] of [
  ['a name', 'localhost', 80, AF_INET, 'EINVAL'],
  ['a port out of range', '127.0.0.1', 65_536, AF_INET, 'EINVAL'],
  ['a port that is not whole', '127.0.0.1', 1.5, AF_INET, 'EINVAL'],
  ['an interface that does not exist', 'fe80::1%none', 80, AF_INET6, 'EINVAL'],
  ['an IPv6 address on an IPv4 socket', '::1', 80, AF_INET, 'EAFNOSUPPORT'],
] as const) {
  test(`${title} is refused`, () => {
    assert.throws(
      () => putIpAddress(Buffer.alloc(28), 0, { host, port }, family, eth0),
      (error) => error instanceof SystemError && error.code === code,
    );
  });
}

test('an unknown family is not an IP address', () => {
  assert.equal(getIpAddress(Buffer.alloc(28), 0, String), undefined);
});

test('an address in numbers is the same structure as the one in text', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.ipV4(), fc.ipV6()),
      fc.nat(0xffff),
      fc.constantFrom(AF_INET, AF_INET6),
      (host, port, family) => {
        fc.pre(family === AF_INET6 || !host.includes(':'));
        const text = Buffer.alloc(28);
        const length = putIpAddress(text, 0, { host, port }, family, noZones);
        const words = new Uint32Array(10).fill(0xeeee_eeee);
        const endpoint = toEndpoint(host, port) ?? assert.fail();
        assert.equal(putEndpoint(words, 2, endpoint, family), length);
        const written = Buffer.from(words.buffer, 8, length);
        assert.deepEqual(written, text.subarray(0, length));
        const read = blankEndpoint();
        assert.ok(getEndpoint(words, 2, read));
        assert.deepEqual(read, endpoint);
      },
    ),
  );
});

test('an unknown family is not an endpoint', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff_ffff), { minLength: 7, maxLength: 7 }), (values) => {
      const words = Uint32Array.from(values);
      const family = (values[0] ?? 0) & 0xffff;
      const isKnown = family === AF_INET || family === AF_INET6;
      assert.equal(getEndpoint(words, 0, blankEndpoint()), isKnown);
    }),
  );
});
