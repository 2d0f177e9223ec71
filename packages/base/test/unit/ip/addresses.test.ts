import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { isIP } from 'node:net';
import { test } from 'node:test';
import {
  addressHint,
  addressInNetwork,
  formatCidr,
  formatIP,
  ipVersion,
  isLoopbackHost,
  isMappedIPv4,
  parseCidr,
  parseInterfaceAddress,
  parseIP,
  putIPv6,
  putMappedIPv4,
  socketAddressHint,
  splitZone,
  unmapIPv4,
} from '../../../src/ip/addresses.ts';

test('versions of addresses are those of node:net', () => {
  const group = fc.constantFrom('', '0', '1', 'ff', 'ABCD', '00000', 'g', '1.2.3.4', '255.0.256.1');
  const grouped = fc
    .tuple(fc.array(group, { maxLength: 10 }), fc.constantFrom('', '%', '%eth0', '%a_b', '%a%b'))
    .map(([groups, zone]) => groups.join(':') + zone);
  const number = fc.constantFrom('', '0', '00', '1', '19', '99', '249', '255', '256', '1a', '+1');
  const dotted = fc.array(number, { maxLength: 6 }).map((numbers) => numbers.join('.'));
  const letters = fc.string({ unit: fc.constantFrom(':', '.', '1', 'f', '0', '%', ' ') });
  const addresses = fc.oneof(fc.ipV4(), fc.ipV6(), grouped, dotted, letters, fc.string());
  fc.assert(
    fc.property(addresses, (text) => assert.equal(ipVersion(text), isIP(text), text)),
    { numRuns: 5_000 },
  );
});

test('every place of the gap, with every number of groups', () => {
  for (let before = 0; before < 9; before++) {
    for (let after = 0; after < 9; after++) {
      for (const tail of ['', '1.2.3.4', ':1.2.3.4', ':', '%', '%x']) {
        const side = (count: number): string => Array(count).fill('a').join(':');
        for (const gap of ['::', ':', ':::', '']) {
          const text = side(before) + gap + side(after) + tail;
          assert.equal(ipVersion(text), isIP(text), text);
        }
      }
    }
  }
});

test('the longest and the shortest text of an address is one', () => {
  const longest = '1111:2222:3333:4444:5555:6666:255.255.255.255';
  assert.equal(longest.length, 45);
  assert.equal(ipVersion(longest), 6);
  assert.equal(ipVersion(`${longest}%eth0`), 6);
  assert.equal(ipVersion('255.255.255.255'), 4);
  assert.equal(ipVersion('1.1.1.1'), 4);
});

test('a dotted quad has four numbers', () => {
  for (const text of ['11.22.33.', '.11.22.33', '11..22.33', '11.22.33', '1.2.3.4.', '1.2.3.4.5']) {
    assert.equal(ipVersion(text), 0, text);
  }
});

const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('hex');

test('an address of 16 bytes has the text of RFC 5952', () => {
  for (const [groups, text] of [
    // §4.2.2: one group of zeros is not shortened, not even the last or the first one.
    ['00010002000300040005000600070000', '1:2:3:4:5:6:7:0'],
    ['00000002000300040005000600070008', '0:2:3:4:5:6:7:8'],
    // §4.2.3: the longest run is, and the first of two that are equally long.
    ['00010000000000010000000000000001', '1:0:0:1::1'],
    ['00010000000000010001000100000000', '1::1:1:1:0:0'],
    ['00000000000000000000000000000000', '::'],
    ['20010db8000000000000000000000000', '2001:db8::'],
    ['0000000000000000000000000000000a', '::a'],
    // §5: a mapped address is shown with dots, and no other one is.
    ['00000000000000000000ffffc0000201', '::ffff:192.0.2.1'],
    ['00000000000000000001ffffc0000201', '::1:ffff:c000:201'],
    ['00000000000000000000ff00c0000201', '::ff00:c000:201'],
    ['0000000000000000000000ffc0000201', '::ff:c000:201'],
  ] as const) {
    assert.equal(formatIP(Buffer.from(groups, 'hex')), text);
  }
});

test('only the 12 bytes of RFC 4291 §2.5.5.2 precede a mapped address', () => {
  const mapped = Buffer.from('ee00000000000000000000ffffc0000201', 'hex');
  assert.equal(isMappedIPv4(mapped, 1), true);
  for (let at = 0; at < 12; at++) {
    const changed = Buffer.from(mapped);
    changed[1 + at] = 1;
    assert.equal(isMappedIPv4(changed, 1), false, `byte ${at}`);
  }
});

test('an address with dots is read wherever they end it', () => {
  for (const [text, bytes] of [
    ['::192.0.2.1', '000000000000000000000000c0000201'],
    ['::1:192.0.2.1', '000000000000000000000001c0000201'],
    ['::1:2:192.0.2.1', '000000000000000000010002c0000201'],
    ['1:2:3:4:5:6:192.0.2.1', '000100020003000400050006c0000201'],
    ['1::192.0.2.1', '000100000000000000000000c0000201'],
  ] as const) {
    assert.equal(hex(parseIP(text)), bytes, text);
  }
});

test('an address is written over what was there, and nothing beside it', () => {
  for (const [text, bytes] of [
    ['::', '00000000000000000000000000000000'],
    ['1::', '00010000000000000000000000000000'],
    ['::2', '00000000000000000000000000000002'],
    ['1::2', '00010000000000000000000000000002'],
  ] as const) {
    const out = Buffer.alloc(24, 0xee);
    putIPv6(text, out, 3);
    assert.equal(out.toString('hex'), `eeeeee${bytes}eeeeeeeeee`, text);
  }
  const out = Buffer.alloc(18, 0xee);
  putMappedIPv4('192.0.2.1', out, 1);
  assert.equal(out.toString('hex'), 'ee00000000000000000000ffffc0000201ee');
});

test('only a mapped address with dots becomes the IPv4 address in it', () => {
  assert.equal(unmapIPv4('::ffff:192.0.2.1'), '192.0.2.1');
  for (const text of [
    '192.0.2.1',
    '::ffff:c000:201',
    '::ffff:a.example',
    '::fffe:192.0.2.1',
    // As long as the prefix of a mapped address, but none.
    'example192.0.2.1',
  ]) {
    assert.equal(unmapIPv4(text), text);
  }
});

test('the zone of an address follows its percent sign', () => {
  assert.deepEqual(splitZone('fe80::1%eth0'), { address: 'fe80::1', zone: 'eth0' });
  assert.deepEqual(splitZone('fe80::1%a%b'), { address: 'fe80::1', zone: 'a%b' });
  assert.deepEqual(splitZone('%eth0'), { address: '', zone: 'eth0' });
  assert.deepEqual(splitZone('fe80::1'), { address: 'fe80::1', zone: '' });
});

test('localhost, 127.0.0.0/8 and ::1 reach this host alone, in any spelling of a URL', () => {
  for (const host of [
    'localhost',
    'LocalHost',
    '::1',
    '[::1]',
    '127.0.0.1',
    '127.0.0.0',
    '127.255.255.255',
  ]) {
    assert.equal(isLoopbackHost(host), true, host);
  }
});

test('names that begin or end like a loopback address reach what they are resolved to', () => {
  for (const host of [
    '',
    '127.0.0.1.example',
    '127.example',
    '127.',
    'a.127.',
    'localhost.example',
    'notlocalhost',
    '128.0.0.1',
    '12.7.0.1',
    '0.0.0.0',
    '::',
    '::2',
    '[::2]',
    '::ffff:127.0.0.1',
  ]) {
    assert.equal(isLoopbackHost(host), false, host);
  }
});

const network = (text: string) => {
  const parsed = parseInterfaceAddress(text);
  return 'problem' in parsed ? assert.fail(parsed.problem) : parsed;
};

const problemOf = (text: string): string | undefined => {
  const parsed = parseCidr(text);
  return 'problem' in parsed ? parsed.problem : undefined;
};

test('a network has the addresses whose first bits are its own, to the last one and no further', () => {
  for (const [text, inside, outside] of [
    ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0', '::a00:0']],
    ['172.16.0.0/12', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
    ['192.0.2.8/31', ['192.0.2.8', '192.0.2.9'], ['192.0.2.7', '192.0.2.10']],
    ['192.0.2.8', ['192.0.2.8'], ['192.0.2.9', '192.0.3.8', '193.0.2.8']],
    ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::', '::ffff:1.2.3.4']],
    // Host bits of a network are left out of the comparison.
    ['192.0.2.8/24', ['192.0.2.0', '192.0.2.255'], ['192.0.1.8', '192.0.3.8']],
    ['2001:db8::/33', ['2001:db8:7fff::'], ['2001:db8:8000::', '32.1.13.184']],
    ['fe80::/10', ['fe80::1', 'febf::1'], ['fec0::1', 'fe7f::1']],
    ['::1/128', ['::1', '0:0:0:0:0:0:0:1'], ['::', '::2', '1::1']],
    ['::/0', ['ffff::'], ['192.0.2.1']],
  ] as const) {
    for (const host of inside) assert.ok(addressInNetwork(host, network(text)), `${host} ${text}`);
    for (const host of ['a.example', '', ...outside]) {
      assert.equal(addressInNetwork(host, network(text)), false, `${host} ${text}`);
    }
  }
  assert.equal(addressInNetwork('192.0.2.1', { address: 'a.example', prefix: 0 }), false);
});

test('a network is one without host bits, an address of an interface may have some', () => {
  for (const text of ['10.1.0.0/8', '10.0.0.1/31', '2001:db8::1/127', '192.0.2.1/0']) {
    assert.equal(problemOf(text), 'host part of address was not zero', text);
    assert.ok(formatCidr(network(text)).endsWith(text), text);
  }
  for (const text of ['10.0.0.0/8', '10.0.0.1/32', '10.0.0.2/31', '2001:db8::/32', '::/0']) {
    assert.equal(problemOf(text), undefined, text);
    assert.equal(formatCidr(network(text)), text);
  }
  assert.equal(formatCidr(network('2001:DB8:0:0::1')), '2001:db8::1/128');
});

test('what is wrong with a prefix length is said', () => {
  const length = "couldn't parse length in network:";
  for (const [text, problem] of [
    ['10.0.0.0/', `${length} cannot parse integer from empty string`],
    ['10.0.0.0/x', `${length} invalid digit found in string`],
    ['10.0.0.0/8x', `${length} invalid digit found in string`],
    ['10.0.0.0/x8', `${length} invalid digit found in string`],
    ['10.0.0.0/08', `${length} invalid digit found in string`],
    ['10.0.0.0/256', `${length} number too large to fit in target type`],
    [
      '10.0.0.0/255',
      'invalid length for network: Network length 255 is too long for Ipv4 (maximum: 32)',
    ],
    [
      '10.0.0.0/33',
      'invalid length for network: Network length 33 is too long for Ipv4 (maximum: 32)',
    ],
    [
      '::/129',
      'invalid length for network: Network length 129 is too long for Ipv6 (maximum: 128)',
    ],
    ['/8', "couldn't parse address in network: invalid IP address syntax"],
    ['10.0.0.0/8/8', "couldn't parse address in network: invalid IP address syntax"],
    ['a.example', "couldn't parse address in network: invalid IP address syntax"],
  ] as const) {
    assert.equal(problemOf(text), problem, text);
  }
});

test('text that should be an address alone is hinted at when it has more than one', () => {
  const noPrefix = 'write the address without a prefix length:';
  const alone = 'write the address alone:';
  for (const [text, hint] of [
    ['10.0.0.2/32', `${noPrefix} 10.0.0.2`],
    [' 10.0.0.2/32', `${noPrefix} 10.0.0.2`],
    ['fd00::2/64', `${noPrefix} fd00::2`],
    ['10.0.0.2:53', `${alone} 10.0.0.2`],
    [' 10.0.0.2 ', `${alone} 10.0.0.2`],
    ['[fd00::2]:53', `${alone} fd00::2`],
    ['[fd00::2]', `${alone} fd00::2`],
    ['10.0.0.256/32', undefined],
    ['a.example/24', undefined],
    ['a.example', undefined],
    ['fd00::2]', undefined],
    ['[fd00::2', undefined],
    ['a[fd00::2]', undefined],
    [':10.0.0.2', undefined],
    ['10.0.0.2:53:53', undefined],
    [']', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(addressHint(text), hint, text);
  }
});

test('text that should be an address with a port is hinted at by what it has instead', () => {
  const resolved = (name: string): string =>
    `${name} is a name, which would have to be resolved first: write an IP address and a port, such as 192.0.2.53:853`;
  for (const [text, hint] of [
    ['192.0.2.1', 'the port is missing: 192.0.2.1:853'],
    [' 192.0.2.1 ', 'the port is missing: 192.0.2.1:853'],
    ['fd00::2', 'write IPv6 in brackets, with a port: [fd00::2]:853'],
    ['[fd00::2]', 'write IPv6 in brackets, with a port: [fd00::2]:853'],
    ['dns.example', resolved('dns.example')],
    ['DNS-1.example:53', resolved('DNS-1.example')],
    ['192.0.2.1:53x', undefined],
    ['a b.example', undefined],
    ['dns.example/', undefined],
    ['[dns.example', undefined],
    ['1[::2]', undefined],
    ['[::2]1', undefined],
    ['dns.example:53:53', undefined],
    [':53', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(socketAddressHint(text, 853), hint, text);
  }
});
