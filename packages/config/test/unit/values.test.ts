import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  parseGeoipRef,
  parseGeositeRef,
  parsePortRange,
  suffixesOf,
  parseFamilyPolicy,
  hostProblem,
} from '../../src/values.ts';
import { parseCidr } from '@weir/base/ip';
import { formatIP } from '@weir/io/addresses';

describe('a network', () => {
  const GOOD: readonly [string, string, number][] = [
    ['0.0.0.0/0', '0.0.0.0', 0],
    ['10.0.0.0/8', '10.0.0.0', 8],
    ['10.128.0.0/9', '10.128.0.0', 9],
    ['192.0.2.1', '192.0.2.1', 32],
    ['192.0.2.1/32', '192.0.2.1', 32],
    ['192.0.2.254/31', '192.0.2.254', 31],
    ['::/0', '::', 0],
    ['2001:DB8::/32', '2001:db8::', 32],
    ['::1', '::1', 128],
    ['::ffff:192.0.2.0/120', '::ffff:192.0.2.0', 120],
  ];
  for (const [text, address, prefix] of GOOD) {
    test(`is ${text}`, () => assert.deepEqual(parseCidr(text), { address, prefix }));
  }

  // The texts of the cidr crate for the same inputs; only leading zeros and a plus sign in front of
  // the prefix length, which it takes, are refused here.
  const address = "couldn't parse address in network: invalid IP address syntax";
  const length = (reason: string): string => `couldn't parse length in network: ${reason}`;
  const digit = length('invalid digit found in string');
  const BAD: readonly [string, string][] = [
    ['', address],
    ['x', address],
    ['/8', address],
    ['10/8', address],
    ['1.2.3', address],
    ['01.2.3.4', address],
    ['010.0.0.0/8', address],
    ['256.0.0.0/8', address],
    [' 10.0.0.0/8', address],
    ['10.0.0.0/8/8', address],
    ['[::1]', address],
    ['fe80::1%eth0', address],
    ['fe80::%eth0/64', address],
    ['10.0.0.0/', length('cannot parse integer from empty string')],
    ['10.0.0.0/x', digit],
    ['10.0.0.0/-1', digit],
    ['10.0.0.0/+8', digit],
    ['10.0.0.0/08', digit],
    ['10.0.0.0/8 ', digit],
    ['10.0.0.0/0x8', digit],
    ['10.0.0.0/256', length('number too large to fit in target type')],
    [`10.0.0.0/${'9'.repeat(400)}`, length('number too large to fit in target type')],
    [
      '10.0.0.0/33',
      'invalid length for network: Network length 33 is too long for Ipv4 (maximum: 32)',
    ],
    [
      '::/129',
      'invalid length for network: Network length 129 is too long for Ipv6 (maximum: 128)',
    ],
    ['10.0.0.1/8', 'host part of address was not zero'],
    ['10.128.0.0/8', 'host part of address was not zero'],
    ['::1/127', 'host part of address was not zero'],
    ['0.0.0.1/0', 'host part of address was not zero'],
  ];
  for (const [text, problem] of BAD) {
    test(`is not ${JSON.stringify(text.slice(0, 20))}`, () =>
      assert.deepEqual(parseCidr(text), { problem }));
  }

  test('is any address with its last bits taken off', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    );
    fc.assert(
      fc.property(bytes, fc.nat(128), (raw, wanted) => {
        const prefix = Math.min(wanted, raw.length * 8);
        const masked = raw.map((byte, index) => {
          const kept = Math.min(8, Math.max(0, prefix - index * 8));
          return byte & ~(0xff >> kept);
        });
        const network = formatIP(masked);
        assert.deepEqual(parseCidr(`${network}/${prefix}`), { address: network, prefix });
        const other = formatIP(raw);
        if (other !== network) {
          const problem = 'host part of address was not zero';
          assert.deepEqual(parseCidr(`${other}/${prefix}`), { problem });
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('ports', () => {
  const GOOD: readonly [string, number, number][] = [
    ['0', 0, 0],
    ['443', 443, 443],
    ['65535', 65_535, 65_535],
    [' 443 ', 443, 443],
    ['0-65535', 0, 65_535],
    ['80-80', 80, 80],
    ['  80  -  90  ', 80, 90],
  ];
  for (const [text, low, high] of GOOD) {
    test(`are ${JSON.stringify(text)}`, () =>
      assert.deepEqual(parsePortRange(text), { low, high }));
  }

  for (const text of [
    '',
    ' ',
    '-',
    '80-',
    '-80',
    '1-2-3',
    '+80',
    '8 0',
    '0x50',
    '80,90',
    '٣',
    '8e1',
  ]) {
    test(`are not ${JSON.stringify(text)}`, () => {
      const problem = `${text}: expected <port> or <low>-<high>`;
      assert.deepEqual(parsePortRange(text), { problem });
    });
  }

  test('are no range that begins above its end', () => {
    const problem = '90-80 has a lower bound above its upper bound';
    assert.deepEqual(parsePortRange('90-80'), { problem });
  });

  test('have 16 bits', () => {
    for (const text of ['65536', '65536-1', '1-65536', '99999999999999999999']) {
      assert.deepEqual(parsePortRange(text), { problem: `${text}: a port is at most 65535` });
    }
  });
});

test('a host that stands alone is an IP address or looks like a name', () => {
  for (const host of [
    '127.0.0.1',
    '::',
    'fe80::1%eth0',
    'localhost',
    'a_b.example',
    'bücher.example',
    'a.example.',
  ]) {
    assert.equal(hostProblem(host), undefined, host);
  }
  for (const host of ['a b', 'a/b', 'http://a', 'user@a', 'a\u0000', '1::2::3', 'a?b', ':80']) {
    assert.notEqual(hostProblem(host), undefined, host);
  }
});

test('what is wrong with a host is said', () => {
  for (const [host, problem] of [
    ['', 'is empty'],
    ['[::1]', 'has brackets; write the IPv6 address without them'],
    ['[a]', 'has brackets; write the IPv6 address without them'],
    ['a.example:80', 'has a port, which belongs in port'],
    ['192.0.2.1:80', 'has a port, which belongs in port'],
    ['a.example:80x', 'is neither an IP address nor a host name'],
    ['a.example:x', 'is neither an IP address nor a host name'],
    ['a:1:2', 'is neither an IP address nor a host name'],
    ['x[::1]', 'is neither an IP address nor a host name'],
    ['[::1]x', 'is neither an IP address nor a host name'],
  ] as const) {
    assert.equal(hostProblem(host), problem, host);
  }
});

test('a list of geosite has an attribute behind an @, one of geoip is negated by !', () => {
  assert.deepEqual(parseGeositeRef('cn'), { code: 'cn', attribute: undefined });
  assert.deepEqual(parseGeositeRef('google@ads'), { code: 'google', attribute: 'ads' });
  assert.deepEqual(parseGeositeRef('a@b@c'), { code: 'a', attribute: 'b@c' });
  assert.deepEqual(parseGeositeRef('@ads'), { code: '', attribute: 'ads' });
  assert.deepEqual(parseGeoipRef('cn'), { code: 'cn', negate: false });
  assert.deepEqual(parseGeoipRef('!cn'), { code: 'cn', negate: true });
  assert.deepEqual(parseGeoipRef('cn!'), { code: 'cn!', negate: false });
});

test('a name has itself and its parent domains as suffixes, up to 128', () => {
  assert.deepEqual([...suffixesOf('a.b.c')], ['a.b.c', 'b.c', 'c']);
  assert.deepEqual([...suffixesOf('c')], ['c']);
  assert.deepEqual([...suffixesOf('.c')], ['.c', 'c']);
  assert.equal([...suffixesOf('a.'.repeat(200))].length, 128);
});

test('a family policy is found in any case, with either dash, or not at all', () => {
  assert.equal(parseFamilyPolicy('\tPrefer-IPv6\n'), 'prefer_ipv6');
  assert.equal(parseFamilyPolicy('V4-First'), 'prefer_ipv4');
  assert.equal(parseFamilyPolicy('any'), 'auto');
  for (const text of ['', 'ipv5', 'prefer ipv4', 'ipv4__only', 'constructor']) {
    assert.equal(parseFamilyPolicy(text), undefined, text);
  }
});
