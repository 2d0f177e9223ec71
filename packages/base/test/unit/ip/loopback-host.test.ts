import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopbackHost } from '../../../src/ip/ip-text.ts';

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
