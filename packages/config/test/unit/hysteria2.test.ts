import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inboundProtocol } from '@weir/proxy/protocols';
import {
  type Hysteria2InboundSettings,
  restartReason,
} from '../../../proxy/src/protocols/hysteria2/settings.ts';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import {
  fakeFiles,
  inbound,
  load,
  loadErrorOf,
  outbound,
} from '../../../../test/support/config/support.ts';

const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['hy.example'] });
const files = fakeFiles({ 'cert.pem': cert, 'key.pem': key, 'noise.pem': 'noise' });

const NAMES = ['hysteria2', 'hysteria', 'hy2'] as const;
const SETTINGS = 'settings = { cert_file = "cert.pem", key_file = "key.pem", password = "x" }';
const server = (lines: string, name = 'hysteria2'): string =>
  inbound(`protocol = "${name}"\n${lines}`);
const client = (lines: string, name = 'hysteria2'): string =>
  outbound(`protocol = "${name}"\n${lines}`);
const UPSTREAM = 'server = "hy.example"\nport = 443\n';

describe('a Hysteria 2 inbound', () => {
  for (const name of NAMES) {
    test(`may be called ${name}`, async () => {
      const { spec } = await load(server(`port = 443\n${SETTINGS}`, name), files);
      const [made] = spec.inbounds;
      assert.equal(made?.protocol, 'hysteria2');
      assert.deepEqual(structuredClone(made?.settings), made?.settings);
    });
  }

  for (const [what, lines, message] of [
    ['no port', SETTINGS, 'port is required'],
    [
      'a unix socket',
      `listen = "/run/hy"\n${SETTINGS}`,
      'protocol hysteria2 needs a UDP port, so listen must not be a unix socket',
    ],
    [
      'a stream',
      `port = 1\nstream = { network = "ws" }\n${SETTINGS}`,
      'protocol hysteria2 takes no stream, so network must be tcp',
    ],
    [
      'a stream with TLS',
      `port = 1\nstream = { security = "tls" }\n${SETTINGS}`,
      'protocol hysteria2 takes no stream, so security must be none',
    ],
    [
      'no certificate',
      'port = 1\nsettings = { password = "x" }',
      'inbound in: invalid settings: hysteria2 needs both cert_file and key_file',
    ],
    [
      'a certificate that is not there',
      'port = 1\nsettings = { cert_file = "a.pem", key_file = "key.pem", password = "x" }',
      'inbound in: cannot read cert_file a.pem: no such file or directory',
    ],
    [
      'a certificate that cannot be parsed',
      'port = 1\nsettings = { cert_file = "noise.pem", key_file = "key.pem", password = "x" }',
      'inbound in: invalid settings: cert_file noise.pem: no certificate in the file',
    ],
  ] as const) {
    test(`is refused for ${what}`, async () => {
      assert.equal((await loadErrorOf(server(lines), files)).message.split('\n')[0], message);
    });
  }

  test('names its accounts, for the report of a reload', async () => {
    const side = inboundProtocol('hysteria2');
    const usersOf = async (settings: string): Promise<unknown> => {
      const keys = `cert_file = "cert.pem", key_file = "key.pem"`;
      const { spec } = await load(server(`port = 1\nsettings = { ${keys}, ${settings} }`), files);
      return side.users(spec.inbounds[0]?.settings);
    };
    assert.deepEqual(await usersOf('password = "x"'), [{ password: 'x' }]);
    assert.deepEqual(await usersOf('users = [{ user = "a", pass = "b" }]'), [
      { user: 'a', pass: 'b', label: 'a' },
    ]);
  });
});

test('only the obfuscation of an inbound cannot be swapped under live clients', () => {
  const plain: Hysteria2InboundSettings = {
    tls: { certificates: 'a', key: 'b' },
    credentials: { password: 'x' },
    udp: undefined,
    maxConnections: 1,
    maxCircuits: 1,
    obfuscation: undefined,
    masquerade: { status: 404, body: '', contentType: '' },
  };
  const other: Hysteria2InboundSettings = {
    tls: { certificates: 'c', key: 'd' },
    credentials: { users: [] },
    udp: { idleSeconds: 60 },
    maxConnections: 2,
    maxCircuits: 2,
    obfuscation: undefined,
    masquerade: { status: 200, body: 'x', contentType: 'y' },
  };
  assert.equal(restartReason(plain, other), undefined);
  const obfuscated = { ...plain, obfuscation: 'four' };
  assert.equal(restartReason(plain, obfuscated), 'obfs changed');
  assert.equal(restartReason(obfuscated, plain), 'obfs changed');
  assert.equal(
    restartReason(obfuscated, { ...plain, obfuscation: 'five' }),
    'obfs_password changed',
  );
});

describe('a Hysteria 2 outbound', () => {
  for (const name of NAMES) {
    test(`may be called ${name}, and is no member of a balancer`, async () => {
      const text = client(`${UPSTREAM}settings = { password = "x" }`, name);
      const { spec } = await load(text, files);
      assert.equal(spec.outbounds[0]?.protocol, 'hysteria2');
      const balanced = `${text}[[balancer]]\ntag = "pool"\noutbounds = ["out"]\n`;
      assert.match(
        (await loadErrorOf(balanced, files)).message,
        /^balancer pool: outbound out has no upstream a TCP health probe can reach, so it cannot be balanced/,
      );
    });
  }

  for (const [what, lines, message] of [
    ['no server', 'port = 1\nsettings = { password = "x" }', 'missing server'],
    ['no port', 'server = "a"\nsettings = { password = "x" }', 'missing port'],
    ['no settings', UPSTREAM, 'outbound out: invalid settings: missing field `password`'],
    [
      'a stream',
      `${UPSTREAM}stream = { network = "tls" }\nsettings = { password = "x" }`,
      'protocol hysteria2 takes no stream, so network must be tcp',
    ],
    [
      'a CA file that is not there',
      `${UPSTREAM}settings = { password = "x", ca_file = "a.pem" }`,
      'outbound out: cannot read ca_file a.pem: no such file or directory',
    ],
  ] as const) {
    test(`is refused for ${what}`, async () => {
      assert.equal((await loadErrorOf(client(lines), files)).message.split('\n')[0], message);
    });
  }

  test('has its sub-tables of a stream ignored, and a CA file that is not parsed', async () => {
    const stream = 'stream = { network = "tcp", tls = { ca_file = "absent" } }';
    const settings = 'settings = { password = "x", ca_file = "noise.pem" }';
    const { spec } = await load(client(`${UPSTREAM}${stream}\n${settings}`), files);
    assert.equal(spec.outbounds[0]?.stream, undefined);
  });
});
