import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findProtocol,
  inboundProtocol,
  outboundProtocol,
} from '../../../src/protocols/registry.ts';

test('a protocol is found by its name and its aliases, exactly', () => {
  assert.equal(findProtocol('freedom')?.name, 'freedom');
  assert.equal(findProtocol('direct')?.name, 'freedom');
  assert.equal(findProtocol('block')?.name, 'blackhole');
  for (const name of ['', 'SOCKS', ' socks', 'constructor', '__proto__']) {
    assert.equal(findProtocol(name), undefined);
  }
});

test('each protocol has the sides that it supports', () => {
  const sides = ['socks', 'http', 'trojan', 'vless', 'freedom', 'blackhole'].map((name) => {
    const protocol = findProtocol(name);
    return [name, protocol?.inbound !== undefined, protocol?.outbound !== undefined];
  });
  assert.deepEqual(sides, [
    ['socks', true, true],
    ['http', true, true],
    ['trojan', true, true],
    ['vless', true, true],
    ['freedom', false, true],
    ['blackhole', false, true],
  ]);
});

test('a Spec cannot name a protocol that there is not', () => {
  assert.throws(() => inboundProtocol('freedom'), RangeError);
  assert.throws(() => outboundProtocol('nothing'), RangeError);
});
