import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addressInNetwork,
  formatCidr,
  parseCidr,
  parseInterfaceAddress,
} from '../../../src/ip/cidr.ts';

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
