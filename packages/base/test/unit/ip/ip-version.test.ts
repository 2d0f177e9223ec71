import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ipVersion } from '../../../src/ip/ip-version.ts';

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
