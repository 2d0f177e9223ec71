import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalHost } from '../../../../src/net/addresses/address.ts';

test('an IP address has one text, however it was written; other hosts stay as they are', () => {
  const texts: readonly [string, string][] = [
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::0001', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::ffff:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:FFFF:127.0.0.1', '127.0.0.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['proxy.example', 'proxy.example'],
  ];
  for (const [written, text] of texts) assert.equal(canonicalHost(written), text);
});
