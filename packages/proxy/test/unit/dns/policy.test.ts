import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orderAddresses, wantedTypes } from '../../../src/dns/policy.ts';
import type { FamilyPolicy } from '@weir/io/addresses';

const V4 = ['192.0.2.1', '192.0.2.2'];
const V6 = ['2001:db8::1', '2001:db8::2'];

const TABLE: readonly {
  policy: FamilyPolicy;
  asked: readonly string[];
  ordered: readonly string[];
}[] = [
  {
    policy: 'auto',
    asked: ['AAAA', 'A'],
    ordered: ['2001:db8::1', '192.0.2.1', '2001:db8::2', '192.0.2.2'],
  },
  { policy: 'ipv4_only', asked: ['A'], ordered: V4 },
  { policy: 'ipv6_only', asked: ['AAAA'], ordered: V6 },
  { policy: 'prefer_ipv4', asked: ['A', 'AAAA'], ordered: [...V4, ...V6] },
  { policy: 'prefer_ipv6', asked: ['AAAA', 'A'], ordered: [...V6, ...V4] },
];

for (const { policy, asked, ordered } of TABLE) {
  test(`${policy} asks what it needs and orders what it gets`, () => {
    assert.deepEqual(wantedTypes(policy), asked);
    assert.deepEqual(orderAddresses(policy, V4, V6), ordered);
  });
}

test('a preference takes the other family when its own is missing', () => {
  assert.deepEqual(orderAddresses('prefer_ipv6', V4, []), V4);
  assert.deepEqual(orderAddresses('prefer_ipv4', [], V6), V6);
  assert.deepEqual(orderAddresses('auto', V4, []), V4);
});
