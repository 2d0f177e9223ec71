import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toDialError } from '../../../src/net/errors.ts';

const TARGET = { host: '127.0.0.1', port: 80 };

test('a dial that fails on this host has a readable reason', () => {
  for (const [code, words] of [
    ['EMFILE', 'this process has too many open files'],
    ['ENFILE', 'this host has too many open files'],
    ['EPERM', 'this host does not permit it'],
    ['ECONNRESET', 'the connection was reset'],
  ] as const) {
    const text = `connect ${code} 127.0.0.1:80 - Local (undefined:undefined)`;
    const failure = toDialError(Object.assign(new Error(text), { code }), TARGET);
    assert.equal(failure.message, `127.0.0.1:80: ${words}`);
    assert.equal(failure.code, 'failed');
  }
});
