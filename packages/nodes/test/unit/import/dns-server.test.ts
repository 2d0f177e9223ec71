import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dnsDraft, dnsUrlOf } from '../../../src/import/values/dns-server.ts';

const settings = (server: Omit<Parameters<typeof dnsDraft>[0], 'source'>): unknown => {
  const draft = dnsDraft({ source: 'the source', ...server });
  assert.equal(draft.source, 'the source');
  return draft.settings;
};

describe('a DNS server of another program', () => {
  test('is an address with the port of its protocol, unless it has one', () => {
    for (const [host, port, server] of [
      ['192.0.2.1', undefined, '192.0.2.1:53'],
      ['192.0.2.1', 5353, '192.0.2.1:5353'],
      ['2001:DB8:0::1', undefined, '[2001:db8::1]:53'],
      ['[2001:db8::1]', 5353, '[2001:db8::1]:5353'],
    ] as const) {
      assert.deepEqual(settings({ backend: 'udp', host, port }), { backend: 'udp', server });
    }
  });

  test('of DNS over TLS has a name, which is that of its certificate', () => {
    const named = { backend: 'tls', host: '192.0.2.1', serverName: 'dns.example' } as const;
    const tls = { backend: 'tls', server: '192.0.2.1:853', ca_file: undefined };
    assert.deepEqual(settings(named), { ...tls, server_name: 'dns.example' });
    assert.deepEqual(settings({ ...named, serverName: undefined }), {
      ...tls,
      server_name: '192.0.2.1',
    });
    assert.deepEqual(settings({ ...named, serverName: '', caFile: 'ca.pem' }), {
      ...tls,
      server_name: '192.0.2.1',
      ca_file: 'ca.pem',
    });
  });

  test('of DNS over HTTPS has a URL with its name and path', () => {
    const base = { backend: 'https', host: '192.0.2.1' } as const;
    for (const [more, url] of [
      [{}, 'https://192.0.2.1/dns-query'],
      [{ path: '' }, 'https://192.0.2.1/dns-query'],
      [{ path: '/q', serverName: 'dns.example' }, 'https://dns.example/q'],
      [{ path: 'q', serverName: '' }, 'https://192.0.2.1/q'],
    ] as const) {
      assert.deepEqual(settings({ ...base, ...more, caFile: 'ca.pem' }), {
        backend: 'https',
        server: '192.0.2.1:443',
        url,
        ca_file: 'ca.pem',
      });
    }
    assert.throws(() => settings({ backend: 'https', host: '2001:db8::1' }), {
      name: 'ImportError',
      message: /needs the name of the server/,
    });
    assert.deepEqual(settings({ backend: 'https', host: '2001:db8::1', serverName: 'a' }), {
      backend: 'https',
      server: '[2001:db8::1]:443',
      url: 'https://a/dns-query',
      ca_file: undefined,
    });
  });

  test('that is named by a domain is refused: it would have to be resolved first', () => {
    assert.throws(() => settings({ backend: 'udp', host: 'dns.example' }), {
      name: 'ImportError',
      message: '"dns.example" is not an IP address',
    });
  });
});

describe('the URL of a DNS server', () => {
  test('is a scheme, a host, a port and a path, or an address alone', () => {
    for (const [text, scheme, host, port, path] of [
      ['192.0.2.1', '', '192.0.2.1', undefined, ''],
      ['192.0.2.1:53', '', '192.0.2.1', 53, ''],
      ['2001:db8::1', '', '2001:db8::1', undefined, ''],
      ['[2001:db8::1]', '', '2001:db8::1', undefined, ''],
      ['[2001:db8::1]:53', '', '2001:db8::1', 53, ''],
      ['dns.example', '', 'dns.example', undefined, ''],
      // Without a scheme there is no path.
      ['rcode/x', '', 'rcode/x', undefined, ''],
      ['TLS://dns.example', 'tls', 'dns.example', undefined, ''],
      ['tls://2001:db8::1', 'tls', '2001:db8::1', undefined, ''],
      ['https://dns.example/q', 'https', 'dns.example', undefined, '/q'],
      ['https://192.0.2.1:8443/q/r:s', 'https', '192.0.2.1', 8443, '/q/r:s'],
      ['https://[2001:db8::1]:8443/', 'https', '2001:db8::1', 8443, '/'],
      ['https://[2001:db8::1]/q', 'https', '2001:db8::1', undefined, '/q'],
      ['udp://', 'udp', '', undefined, ''],
      ['https:///q', 'https', '', undefined, '/q'],
      ['://a/q', '', 'a', undefined, '/q'],
      [':53', '', '', 53, ''],
    ] as const) {
      assert.deepEqual(dnsUrlOf(text), { scheme, host, port, path }, text);
    }
  });

  test('has a port that is a number', () => {
    for (const text of ['192.0.2.1:', '192.0.2.1:0', '192.0.2.1:x', 'udp://a:65536']) {
      assert.throws(() => dnsUrlOf(text), { name: 'ImportError' }, text);
    }
  });
});
