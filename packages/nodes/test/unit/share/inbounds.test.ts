import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ShareOptions, SharedInbound } from '../../../src/share/inbound-servers.ts';
import { shareLink } from '../../../src/share/forms.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';
import {
  TestAuthority,
  type TestCertificate,
} from '../../../../../test/support/data/test-certificates.ts';
import { selfSigned } from '@weir/crypto/self-signed';
import { SystemRandomSource } from '@weir/base/random';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ID } from '../../../../../test/support/share/servers.ts';
import { sharedOf } from '../../../../../test/support/share/shared-inbound.ts';
import '../../../../../test/support/import/load-forms.ts';

const linksOf = ({ servers }: SharedInbound): readonly string[] =>
  servers.map(({ server }) => shareLink(server));

const VLESS = `protocol = "vless"\nlisten = "::"\nport = 443\nsettings = { users = [{ id = "${ID}" }] }`;
const TRUE_NAME = '#proxy.example.com%20in%20';

describe('the users of an inbound', () => {
  for (const [what, lines, links] of [
    [
      'of VLESS are named by the start of their id',
      VLESS,
      [
        `vless://${ID}@proxy.example.com:443?encryption=none&security=none&type=tcp${TRUE_NAME}b831381d`,
      ],
    ],
    [
      'of Trojan by their label, or their number',
      'protocol = "trojan"\nlisten = "::"\nport = 1\nsettings = { users = [{ password = "p", email = "ann" }, { password = "q" }] }',
      [
        `trojan://p@proxy.example.com:1?security=none&type=tcp${TRUE_NAME}ann`,
        `trojan://q@proxy.example.com:1?security=none&type=tcp${TRUE_NAME}%232`,
      ],
    ],
    [
      'of Shadowsocks with a password have the one of the file, not the key that is derived from it',
      'protocol = "shadowsocks"\nlisten = "::"\nport = 1\nsettings = { method = "AEAD_AES_128_GCM", password = "p" }',
      ['ss://YWVzLTEyOC1nY206cA@proxy.example.com:1#proxy.example.com%20in'],
    ],
    [
      'of Shadowsocks with several, also as clients',
      'protocol = "shadowsocks"\nlisten = "::"\nport = 1\nsettings = { method = "aes-128-gcm", password = "-", clients = [{ password = "p", email = "ann" }, { password = "q" }] }',
      [
        `ss://YWVzLTEyOC1nY206cA@proxy.example.com:1${TRUE_NAME}ann`,
        `ss://YWVzLTEyOC1nY206cQ@proxy.example.com:1${TRUE_NAME}%232`,
      ],
    ],
    [
      'of Shadowsocks 2022 have the identity key first',
      'protocol = "shadowsocks"\nlisten = "::"\nport = 1\nsettings = { method = "2022-blake3-aes-128-gcm", password = "AAECAwQFBgcICQoLDA0ODw==", users = [{ password = "EBESExQVFhcYGRobHB0eHw==" }] }',
      [
        `ss://2022-blake3-aes-128-gcm:AAECAwQFBgcICQoLDA0ODw%3D%3D%3AEBESExQVFhcYGRobHB0eHw%3D%3D@proxy.example.com:1${TRUE_NAME}%231`,
      ],
    ],
    [
      'of HTTP are the last of each name',
      'protocol = "http"\nlisten = "::"\nport = 1\nsettings = { accounts = [{ user = "u", pass = "old" }, { user = "u", pass = "new" }] }',
      [`http://u:new@proxy.example.com:1${TRUE_NAME}u`],
    ],
    [
      'of SOCKS without a password have no name',
      'protocol = "socks"\nlisten = "::"\nport = 1\nsettings = { accounts = [{ user = "u", pass = "ignored" }] }',
      ['socks://proxy.example.com:1#proxy.example.com%20in'],
    ],
  ] as const) {
    test(what, async () => assert.deepEqual(linksOf(await sharedOf(lines)), links));
  }
});

describe('an inbound that clients cannot reach is refused:', () => {
  for (const [what, lines, message] of [
    [
      'on loopback',
      VLESS.replace('"::"', '"127.0.0.2"'),
      /listens on 127\.0\.0\.2 alone.*--port.*--tls/,
    ],
    [
      'on a unix socket',
      VLESS.replace('"::"\nport = 443', '"/run/weir.sock"'),
      /unix socket \/run\/weir\.sock: .*--port/,
    ],
    ['on a port that the kernel chooses', VLESS.replace('443', '0'), /its port is 0.*--port/],
    ['without users', 'protocol = "vless"\nlisten = "::"\nport = 1', /it has no users/],
    [
      'with a list of accounts that is empty',
      'protocol = "socks"\nlisten = "::"\nport = 1\nsettings = { auth = "password" }',
      /it has no users/,
    ],
    ['a device', 'protocol = "tun"', /has no clients/],
  ] as const) {
    test(what, () => assert.rejects(sharedOf(lines), { code: 'share', message }));
  }
});

describe('an inbound behind a reverse proxy', () => {
  const ws = `${VLESS.replace('"::"', '"127.0.0.1"')}\nstream = { network = "ws", ws = { path = "/w" } }`;

  test('is shared as the proxy, which ends TLS', async () => {
    const shared = await sharedOf(ws, { port: 8443, frontTls: true });
    assert.match(
      linksOf(shared)[0] ?? '',
      /@proxy\.example\.com:8443\?.*security=tls&sni=proxy\.example\.com&type=ws&path=%2Fw#/,
    );
    assert.equal(shared.refused, undefined);
  });

  test('is on loopback for clients of this machine', async () => {
    const shared = await sharedOf(ws, { host: '127.0.0.1' });
    assert.match(linksOf(shared)[0] ?? '', /@127\.0\.0\.1:443\?encryption=none&security=none/);
  });

  test('has no TLS in front of Shadowsocks', async () => {
    const shadowsocks =
      'protocol = "shadowsocks"\nport = 1\nsettings = { method = "aes-128-gcm", password = "p" }';
    await assert.rejects(
      sharedOf(shadowsocks, { port: 1, frontTls: true }),
      /--tls is not for shadowsocks/,
    );
  });
});

test('the Host header that a WebSocket inbound demands is in the link, and brackets where an address needs them', async () => {
  const ws = (more: string): string =>
    `${VLESS}\nstream = { network = "ws", ws = { path = "/"${more} } }`;
  const hostOf = async (lines: string, host: string): Promise<string | null> =>
    new URL(linksOf(await sharedOf(lines, { host }))[0] ?? '').searchParams.get('host');
  assert.equal(await hostOf(ws(', host = "cdn.example"'), 'proxy.example.com'), 'cdn.example');
  assert.equal(await hostOf(ws(''), 'proxy.example.com'), null);
  assert.equal(await hostOf(ws(''), '2001:db8::1'), '[2001:db8::1]');
});

describe('the certificate of an inbound', () => {
  const authority = new TestAuthority();
  const issued = (dns: readonly string[], ip: readonly string[] = []): TestCertificate =>
    authority.issue({ dns, ip });
  const own = (): TestCertificate => {
    const random = new SystemRandomSource();
    const { certificate: cert, key } = selfSigned(['proxy.example.com'], 30, {
      random,
      now: Date.now(),
    });
    return { cert, key };
  };

  /** The parameters about TLS, and why clients refuse the certificate. */
  async function tlsOf(
    { cert, key }: TestCertificate,
    options: Partial<ShareOptions> = {},
  ): Promise<readonly unknown[]> {
    await using folder = await scratch();
    const [certFile, keyFile] = ['cert.pem', 'key.pem'].map((name) => join(folder.path, name));
    writeFileSync(certFile ?? '', cert);
    writeFileSync(keyFile ?? '', key);
    const tls = `cert_file = ${JSON.stringify(certFile)}, key_file = ${JSON.stringify(keyFile)}`;
    const shared = await sharedOf(`${VLESS}\nstream = { network = "tls", tls = { ${tls} } }`, {
      roots: () => [authority.cert],
      ...options,
    });
    const { searchParams } = new URL(linksOf(shared)[0] ?? '');
    const access = shared.servers[0]?.server.access;
    const isPinned = access?.protocol === 'vless' && access.stream?.tls?.certificate !== undefined;
    return [
      searchParams.get('sni'),
      searchParams.get('allowInsecure'),
      isPinned,
      shared.refused?.reason,
      shared.refused?.canBePinned,
    ];
  }

  for (const [what, certificate, options, expected] of [
    [
      'that names the host',
      () => issued(['proxy.example.com']),
      {},
      ['proxy.example.com', null, false, undefined, undefined],
    ],
    [
      'that names it by a wildcard',
      () => issued(['*.example.com']),
      {},
      ['proxy.example.com', null, false, undefined, undefined],
    ],
    [
      'that names another host, which is sent',
      () => issued(['*.cdn.example', 'a.example']),
      {},
      ['a.example', null, false, undefined, undefined],
    ],
    [
      'that names the address',
      () => issued([], ['192.0.2.1']),
      { host: '192.0.2.1' },
      [null, null, false, undefined, undefined],
    ],
    [
      'that names nothing to send',
      () => issued(['*.cdn.example']),
      {},
      ['proxy.example.com', null, false, 'the certificate does not name proxy.example.com', false],
    ],
    [
      'that has an empty subjectAltName',
      () => issued([]),
      {},
      ['proxy.example.com', null, false, 'the certificate does not name proxy.example.com', false],
    ],
    [
      'that --sni chooses a name of',
      () => issued(['a.example', 'b.example']),
      { serverName: 'b.example' },
      ['b.example', null, false, undefined, undefined],
    ],
    [
      'that has expired, where clients may accept any',
      () => authority.issue({ dns: ['proxy.example.com'], expired: true }),
      { insecure: true },
      ['proxy.example.com', '1', false, 'the certificate has expired', false],
    ],
    [
      'that needs no --insecure',
      () => issued(['proxy.example.com']),
      { insecure: true },
      ['proxy.example.com', null, false, undefined, undefined],
    ],
    [
      'that is self-signed',
      own,
      {},
      ['proxy.example.com', null, true, 'the certificate is self-signed', true],
    ],
    [
      'that is self-signed, with --insecure',
      own,
      { insecure: true },
      ['proxy.example.com', '1', true, 'the certificate is self-signed', true],
    ],
    [
      'of an authority that nobody knows',
      () => issued(['proxy.example.com']),
      { roots: () => [new TestAuthority().cert, 'not a certificate'] },
      [
        'proxy.example.com',
        null,
        true,
        'the certificate leads to no authority that this machine trusts',
        true,
      ],
    ],
  ] as const) {
    test(what, async () => assert.deepEqual(await tlsOf(certificate(), options), expected));
  }
});
