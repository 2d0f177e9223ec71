import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { toEndpoint } from '@weir/base/ip';
import { isLinkLocal, numericEndpoint } from '../../../../src/net/addresses/addresses.ts';

// In a suite: the fast tests share a process, whose other tests have the real interfaces.
describe('a numeric endpoint', () => {
  beforeEach(() => {
    mock.method(os, 'networkInterfaces', () => ({
      lo: [{ address: '127.0.0.1' }, { address: '::1', scopeid: 0 }],
      eth0: [{ address: '192.0.2.2' }, { address: 'fd00::2', scopeid: 0 }, { scopeid: 4 }],
    }));
    syncBuiltinESMExports();
  });

  afterEach(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });

  test('the scope of a link-local address is the index of the interface that its zone names', () => {
    assert.deepEqual(numericEndpoint('fe80::1%eth0', 53), toEndpoint('fe80::1', 53, 4));
    assert.deepEqual(numericEndpoint('fe80::1', 53), toEndpoint('fe80::1', 53, 0));
    assert.deepEqual(numericEndpoint('192.0.2.1', 53), toEndpoint('192.0.2.1', 53, 0));
  });

  test('names, and zones without an interface that has a link-local address, have no endpoint', () => {
    for (const host of ['fe80::1%eth1', 'fe80::1%lo', 'a.example', 'a.example%eth0', '']) {
      assert.equal(numericEndpoint(host, 53), undefined, host);
    }
  });

  test('an address with a scope needs its interface', () => {
    assert.equal(isLinkLocal({ scopeid: 4 }), true);
    assert.equal(isLinkLocal({ scopeid: 0 }), false);
    assert.equal(isLinkLocal({}), false);
  });
});
