import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceGroup } from '../../../src/protocols/source-group.ts';

test('an IPv4 address is a source of its own, however it is written', () => {
  assert.notEqual(sourceGroup('192.0.2.1'), sourceGroup('192.0.2.2'));
  assert.equal(sourceGroup('::ffff:192.0.2.1'), sourceGroup('192.0.2.1'));
  assert.notEqual(sourceGroup('::ffff:192.0.2.1'), sourceGroup('::ffff:192.0.2.2'));
});

test('the addresses of one IPv6 network of 64 bits are one source', () => {
  assert.equal(sourceGroup('2001:db8:0:1::1'), sourceGroup('2001:db8:0:1:ffff:ffff:ffff:ffff'));
  assert.notEqual(sourceGroup('2001:db8:0:1::1'), sourceGroup('2001:db8:0:2::1'));
});

test('all clients of a unix socket are one source', () => {
  assert.equal(sourceGroup(undefined), sourceGroup(undefined));
  assert.notEqual(sourceGroup(undefined), sourceGroup('192.0.2.1'));
});
