import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressHint, socketAddressHint } from '../../../src/ip/address-hints.ts';

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
