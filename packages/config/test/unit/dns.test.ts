import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DnsSpec } from '@weir/proxy/spec';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import {
  DIRECT,
  fakeFiles,
  load,
  loadErrorOf,
  placeOf,
  refuses,
  type Row,
} from '../../../../test/support/config/support.ts';

const dns = (lines: string): string => `${DIRECT}[dns]\n${lines}\n`;
const TLS = 'backend = "tls"\nserver = "192.0.2.53:853"\n';
const HTTPS = 'backend = "https"\nserver = "192.0.2.53:443"\n';
const BAD_SERVER = 'dns: invalid server address: invalid socket address syntax';

const DNS: readonly Row[] = [
  [
    'an unknown backend',
    dns('server = "x"\nbackend = "dot"'),
    'dns: unknown backend dot (expected system, udp, tls or https)',
    '6:11 (dns)',
  ],
  [
    'a backend in upper case',
    dns('backend = "UDP"'),
    'dns: unknown backend UDP (expected system, udp, tls or https)',
    '5:11 (dns)',
  ],
  [
    'an empty backend',
    dns('backend = ""'),
    'dns: unknown backend  (expected system, udp, tls or https)',
    '5:11 (dns)',
  ],
  ...['udp', 'tls', 'https'].map((backend): Row => [
    `${backend} without a server`,
    dns(`backend = "${backend}"`),
    `dns: the ${backend} backend needs a server address`,
    '4:1 (dns)',
  ]),
  [
    'a server without a port',
    dns('backend = "udp"\nserver = "192.0.2.53"'),
    BAD_SERVER,
    '6:10 (dns)',
  ],
  ['a server by name', dns('backend = "udp"\nserver = "dns.example:53"'), BAD_SERVER, '6:10 (dns)'],
  [
    'a server in IPv6 without brackets',
    dns('backend = "tls"\nserver = "2001:db8::53:853"'),
    BAD_SERVER,
    '6:10 (dns)',
  ],
  [
    'tls without a name',
    dns(TLS),
    'dns: the tls backend needs a server name to verify against',
    '4:1 (dns)',
  ],
  [
    'tls with an empty name',
    dns(`${TLS}server_name = ""`),
    'dns: the tls backend needs a server name to verify against',
    '7:15 (dns)',
  ],
  ['https without a url', dns(HTTPS), 'dns: the https backend needs a url', '4:1 (dns)'],
  [
    'a url of another scheme',
    dns(`${HTTPS}url = "http://dns.example/"`),
    'dns: url must start with https://',
    '7:7 (dns)',
  ],
  [
    'a url with userinfo',
    dns(`${HTTPS}url = "https://me:secret@dns.example/"`),
    'dns: url must not contain userinfo',
    '7:7 (dns)',
  ],
  [
    'a url without a host',
    dns(`${HTTPS}url = "https:///dns-query"`),
    'dns: url has an empty host',
    '7:7 (dns)',
  ],
];

describe('[dns] is refused for', () => refuses(DNS));

const { cert } = new TestAuthority();
const FILES = fakeFiles({ 'ca.pem': `# ours\n${cert}`, 'empty.pem': '', 'host.toml': 'x = 1' });

describe('a file of certificates', () => {
  const MISSING = 'dns: cannot read ca_file missing.pem: no such file or directory';
  for (const backend of ['system', 'udp', 'tls', 'https']) {
    test(`has to be there with the backend ${backend}`, async () => {
      const lines = `server = "192.0.2.53:53"\nserver_name = "a"\nurl = "https://a"\n`;
      const text = dns(`backend = "${backend}"\n${lines}ca_file = "missing.pem"`);
      const error = await loadErrorOf(text, FILES);
      assert.equal(error.message, MISSING);
      assert.equal(error.kind, 'io');
      assert.equal(placeOf(error), '9:11 (dns)');
    });
  }

  test('has to be there without a backend', async () => {
    const error = await loadErrorOf(dns('ca_file = "missing.pem"'), FILES);
    assert.equal(error.message, MISSING);
  });

  for (const [what, file] of [
    ['is empty', 'empty.pem'],
    ['holds something else', 'host.toml'],
  ]) {
    test(`is refused by tls and https when it ${what}`, async () => {
      const ca = `\nca_file = "${file}"`;
      for (const more of [`${TLS}server_name = "a"`, `${HTTPS}url = "https://a"`]) {
        const error = await loadErrorOf(dns(more + ca), FILES);
        assert.equal(error.message, 'no certificate in CA PEM bundle');
        assert.equal(error.kind, 'invalid');
        assert.equal(placeOf(error), '8:11 (dns)');
      }
    });

    test(`is no matter to system and udp when it ${what}`, async () => {
      const ca = `\nca_file = "${file}"`;
      assert.deepEqual(await dnsOf(`backend = "system"${ca}`), { backend: 'system' });
      await dnsOf(`backend = "udp"\nserver = "192.0.2.53:53"${ca}`);
    });
  }

  test('is missed where it stands, before and after what else is wrong', async () => {
    const before = await loadErrorOf(dns('ca_file = "missing.pem"\nbackend = "x"'), FILES);
    assert.equal(before.message, MISSING);
    const after = await loadErrorOf(dns('backend = "x"\nca_file = "missing.pem"'), FILES);
    assert.match(after.message, /unknown backend/);
  });
});

const dnsOf = async (lines: string): Promise<DnsSpec> => (await load(dns(lines), FILES)).spec.dns;

describe('[dns]', () => {
  test('is the system resolver when it is absent or empty', async () => {
    assert.deepEqual((await load(DIRECT)).spec.dns, { backend: 'system' });
    assert.deepEqual(await dnsOf(''), { backend: 'system' });
    assert.deepEqual(await dnsOf('server = "nonsense"\nurl = "ftp://"'), { backend: 'system' });
  });

  test('has what each backend needs', async () => {
    const ca = { file: 'ca.pem', certificates: [cert.trim()] };
    assert.deepEqual(await dnsOf('backend = "udp"\nserver = "[2001:db8::53]:53"'), {
      backend: 'udp',
      server: { host: '2001:db8::53', port: 53 },
    });
    assert.deepEqual(await dnsOf(`${TLS}server_name = "dns.example"\nca_file = "ca.pem"`), {
      backend: 'tls',
      server: { host: '192.0.2.53', port: 853 },
      serverName: 'dns.example',
      ca,
    });
    assert.deepEqual(await dnsOf(`${HTTPS}url = "https://dns.example:8443"`), {
      backend: 'https',
      server: { host: '192.0.2.53', port: 443 },
      host: 'dns.example',
      path: '/dns-query',
      ca: undefined,
    });
  });

  test('has names that are not ASCII in the form that TLS and HTTP carry', async () => {
    const tls = await dnsOf(`${TLS}server_name = "bücher.example"`);
    assert.equal('serverName' in tls && tls.serverName, 'xn--bcher-kva.example');
    const https = await dnsOf(`${HTTPS}url = "https://bücher.example/q"`);
    assert.equal('host' in https && https.host, 'xn--bcher-kva.example');
  });
});
