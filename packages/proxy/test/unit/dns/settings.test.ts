import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CaBundleError } from '@weir/crypto/certificates';
import {
  lowerDns,
  parseDohUrl,
  parseServerAddress,
  type DnsSettings,
} from '../../../src/dns/settings.ts';
import { TestAuthority } from '../../../../../test/support/data/test-certificates.ts';

const { cert } = new TestAuthority();
const bundle = { file: 'ca.pem', content: Buffer.from(`# ours\n${cert}`) };
const BAD_SERVER = 'dns: invalid server address: invalid socket address syntax';

const SERVERS: Readonly<Record<string, { host: string; port: number }>> = {
  '192.0.2.53:53': { host: '192.0.2.53', port: 53 },
  '[2001:db8::53]:853': { host: '2001:db8::53', port: 853 },
  '[::ffff:192.0.2.53]:53': { host: '::ffff:192.0.2.53', port: 53 },
  '[fe80::1%2]:53': { host: 'fe80::1%2', port: 53 },
  '192.0.2.53:0': { host: '192.0.2.53', port: 0 },
  '192.0.2.53:65535': { host: '192.0.2.53', port: 65_535 },
  '192.0.2.53:00053': { host: '192.0.2.53', port: 53 },
};

for (const [text, server] of Object.entries(SERVERS)) {
  test(`${text} is a server address`, () => assert.deepEqual(parseServerAddress(text), server));
}

const BAD_SERVERS = [
  '',
  'dns.example:53',
  'localhost:53',
  '192.0.2.53',
  '192.0.2.53:',
  '192.0.2.53:65536',
  '192.0.2.53:+53',
  '192.0.2.53:dns',
  '192.0.2.53 :53',
  ' 192.0.2.53:53',
  '192.0.2.053:53',
  '192.0.2:53',
  '[192.0.2.53]:53',
  '2001:db8::53',
  '2001:db8::53:53',
  '[2001:db8::53]',
  '[2001:db8::53',
  '[fe80::1%eth0]:53',
  ':53',
];

for (const text of BAD_SERVERS) {
  test(`${JSON.stringify(text)} is no server address`, () => {
    assert.throws(() => parseServerAddress(text), {
      code: 'dns_settings',
      key: 'server',
      message: BAD_SERVER,
    });
  });
}

const URLS: Readonly<Record<string, { host: string; path: string }>> = {
  'https://dns.example/dns-query': { host: 'dns.example', path: '/dns-query' },
  'https://dns.example': { host: 'dns.example', path: '/dns-query' },
  'https://dns.example/': { host: 'dns.example', path: '/' },
  'https://dns.example:8443/ask?x=1#y': { host: 'dns.example', path: '/ask?x=1#y' },
  'https://192.0.2.53/dns-query': { host: '192.0.2.53', path: '/dns-query' },
  'https://[2001:db8::53]/dns-query': { host: '[2001', path: '/dns-query' },
  'https://dns.example/a@b:c': { host: 'dns.example', path: '/a@b:c' },
  'https://dns.example/ä b\r\nx: y': { host: 'dns.example', path: '/%C3%A4%20b%0D%0Ax:%20y' },
};

for (const [url, parts] of Object.entries(URLS)) {
  test(`${JSON.stringify(url)} is taken apart as the rules say`, () => {
    assert.deepEqual(parseDohUrl(url), parts);
  });
}

const BAD_URLS: Readonly<Record<string, string>> = {
  '': 'dns: url must start with https://',
  'http://dns.example/': 'dns: url must start with https://',
  'HTTPS://dns.example/': 'dns: url must start with https://',
  'dns.example': 'dns: url must start with https://',
  'https://me@dns.example/': 'dns: url must not contain userinfo',
  'https://me:secret@dns.example/': 'dns: url must not contain userinfo',
  'https://': 'dns: url has an empty host',
  'https:///dns-query': 'dns: url has an empty host',
  'https://:443/dns-query': 'dns: url has an empty host',
};

for (const [url, message] of Object.entries(BAD_URLS)) {
  test(`${JSON.stringify(url)} is refused`, () => {
    assert.throws(() => parseDohUrl(url), { code: 'dns_settings', key: 'url', message });
  });
}

test('nothing set means the resolver of the host', () => {
  assert.deepEqual(lowerDns({}), { backend: 'system' });
});

test('each backend takes what it needs and ignores the rest', () => {
  const all: DnsSettings = {
    server: '192.0.2.53:853',
    server_name: 'dns.example',
    url: 'https://doh.example/q',
    ca_file: bundle,
  };
  const server = { host: '192.0.2.53', port: 853 };
  const ca = { file: 'ca.pem', certificates: [cert.trim()] };
  assert.deepEqual(lowerDns({ ...all, backend: 'system' }), { backend: 'system' });
  assert.deepEqual(lowerDns({ ...all, backend: 'udp' }), { backend: 'udp', server });
  assert.deepEqual(lowerDns({ ...all, backend: 'tls' }), {
    backend: 'tls',
    server,
    serverName: 'dns.example',
    ca,
  });
  assert.deepEqual(lowerDns({ ...all, backend: 'https' }), {
    backend: 'https',
    server,
    host: 'doh.example',
    path: '/q',
    ca,
  });
});

test('backends that do not use a key do not look at it', () => {
  const broken: DnsSettings = {
    server: 'nowhere',
    url: 'ftp://x',
    ca_file: { file: 'empty.pem', content: Buffer.alloc(0) },
  };
  assert.deepEqual(lowerDns({ ...broken, backend: 'system' }), { backend: 'system' });
  assert.equal(lowerDns({ ...broken, backend: 'udp', server: '192.0.2.53:53' }).backend, 'udp');
});

const REFUSED: readonly (readonly [what: string, DnsSettings, key: string, message: string])[] = [
  [
    'a backend that is not known',
    { backend: 'quic' },
    'backend',
    'dns: unknown backend quic (expected system, udp, tls or https)',
  ],
  [
    'a backend in capitals',
    { backend: 'UDP' },
    'backend',
    'dns: unknown backend UDP (expected system, udp, tls or https)',
  ],
  [
    'udp without a server',
    { backend: 'udp' },
    'server',
    'dns: the udp backend needs a server address',
  ],
  ['udp with a host name', { backend: 'udp', server: 'dns.example:53' }, 'server', BAD_SERVER],
  [
    'tls without a server name',
    { backend: 'tls', server: '192.0.2.53:853' },
    'server_name',
    'dns: the tls backend needs a server name to verify against',
  ],
  [
    'https without a url',
    { backend: 'https', server: '192.0.2.53:443', server_name: 'dns.example' },
    'url',
    'dns: the https backend needs a url',
  ],
  [
    'a bundle without certificates',
    {
      backend: 'tls',
      server: '192.0.2.53:853',
      server_name: 'dns.example',
      ca_file: { file: 'empty.pem', content: Buffer.from('nothing here') },
    },
    'ca_file',
    'no certificate in CA PEM bundle',
  ],
];

for (const [what, settings, key, message] of REFUSED) {
  test(`${what} is refused`, () => {
    assert.throws(() => lowerDns(settings), { code: 'dns_settings', key, message });
  });
}

test('a certificate that cannot be read is refused with its reason', () => {
  const content = Buffer.from(cert.replace('\nMI', '\nAA'));
  const settings = { backend: 'tls', server: '192.0.2.53:853', server_name: 'dns.example' };
  assert.throws(
    () => lowerDns({ ...settings, ca_file: { file: 'ca.pem', content } }),
    (error: Error) => {
      assert.match(error.message, /^invalid certificate in CA PEM bundle: /);
      assert.ok(error.cause instanceof CaBundleError);
      return true;
    },
  );
});

test('what is lowered survives a structured clone', () => {
  const spec = lowerDns({
    backend: 'https',
    server: '192.0.2.53:443',
    url: 'https://dns.example',
    ca_file: bundle,
  });
  assert.deepEqual(structuredClone(spec), spec);
});
