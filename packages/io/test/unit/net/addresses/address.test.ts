import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalHost, mayRespondFor } from '../../../../src/net/addresses/addresses.ts';

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

test('a datagram is a response of a peer when its source may be that peer', () => {
  const from = (host: string, port = 53) => ({ host, port });
  const named = from('dns.example');
  assert.equal(mayRespondFor(named, named), true);
  for (const [peer, source, may] of [
    [from('192.0.2.1'), from('192.0.2.1'), true],
    [from('192.0.2.1'), from('192.0.2.1', 54), false],
    [from('192.0.2.1'), from('192.0.2.2'), false],
    // The address of a name is not known here, and no response comes from a name.
    [named, from('192.0.2.1'), true],
    [named, from('2001:db8::1'), true],
    [named, from('192.0.2.1', 54), false],
    [named, from('dns.example'), true],
    [named, from('other.example'), false],
    [from('192.0.2.1'), from('dns.example'), false],
  ] as const) {
    assert.equal(mayRespondFor(peer, source), may, `${peer.host} ${source.host}:${source.port}`);
  }
});
