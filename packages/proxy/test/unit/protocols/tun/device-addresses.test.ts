import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressText } from '@weir/base/ip';
import { broadcastAddresses } from '../../../../src/protocols/tun/local-resolver.ts';

const of = (address: string, prefix: number): string[] =>
  broadcastAddresses([{ address, prefix }]).map(addressText);

test('the last address of an IPv4 network is that of all its hosts', () => {
  assert.deepEqual(of('172.19.0.1', 30), ['172.19.0.3']);
  assert.deepEqual(of('10.1.2.3', 8), ['10.255.255.255']);
  assert.deepEqual(of('192.0.2.200', 25), ['192.0.2.255']);
  assert.deepEqual(of('192.0.2.1', 0), ['255.255.255.255']);
});

test('networks of one or two hosts, and those of IPv6, have none', () => {
  assert.deepEqual(of('192.0.2.1', 31), []);
  assert.deepEqual(of('192.0.2.1', 32), []);
  assert.deepEqual(of('2001:db8::1', 64), []);
});
