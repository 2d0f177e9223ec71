import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SettingsFiles } from '../../../../src/protocols/protocol.ts';
import { inboundSettings, outboundSettings } from '../../../../src/protocols/hysteria2/settings.ts';
import { DecodeError } from '../../../../src/schema/errors.ts';
import { TestAuthority } from '../../../../../../test/support/data/test-certificates.ts';
import { tableNode } from '../../../../../../test/support/schema/nodes.ts';

const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['hy.example'] });
const other = authority.issue({ dns: ['other.example'] });

const FILES: Readonly<Record<string, string>> = {
  'cert.pem': cert,
  'key.pem': key,
  'both.pem': cert + key,
  'other.pem': other.key,
  'ca.pem': authority.cert,
  'noise.pem': 'noise',
};

const files: SettingsFiles = {
  content: ({ value }, failure) => {
    const content = FILES[value];
    if (content === undefined) throw new Error(`${failure} ${value}: no such file or directory`);
    return Buffer.from(content);
  },
};

type Table = Parameters<typeof tableNode>[0];

const TLS = { cert_file: 'cert.pem', key_file: 'key.pem' };
const LEAST: Table = { ...TLS, password: 'sesame' };
const there = (): string | undefined => undefined;

const read = (table: Table) => inboundSettings(tableNode(table), { files }, there);
const readOut = (table: Table, server = 'hy.example') =>
  outboundSettings(tableNode(table), { files, server }, there);

const refuses = (rows: readonly (readonly [what: string, table: Table, message: string])[]) => {
  for (const [what, table, message] of rows) {
    test(what, () => assert.throws(() => read(table), { code: 'decode', message }));
  }
};

describe('the settings of a Hysteria 2 inbound', () => {
  test('have their defaults', () => {
    assert.deepEqual(read(LEAST), {
      tls: { certificates: cert, key },
      credentials: { password: 'sesame' },
      udp: undefined,
      maxConnections: 4096,
      maxCircuits: 65_536,
      obfuscation: undefined,
      masquerade: {
        status: 404,
        body: '404 page not found\n',
        contentType: 'text/plain; charset=utf-8',
      },
    });
  });

  test('take certificate and key of one file', () => {
    const { tls } = read({ ...LEAST, cert_file: 'both.pem', key_file: 'both.pem' });
    assert.deepEqual(tls, { certificates: cert, key });
  });

  test('take users, whose label is their email or else their name', () => {
    const users = [
      { user: 'Ann', pass: 'a:b', email: 'ann@example' },
      { user: 'bob', pass: ' c ' },
    ];
    assert.deepEqual(read({ ...TLS, users }).credentials, {
      users: [
        { user: 'Ann', pass: 'a:b', label: 'ann@example' },
        { user: 'bob', pass: ' c ', label: 'bob' },
      ],
    });
  });

  test('take a password beside an empty list of users', () => {
    assert.deepEqual(read({ ...LEAST, users: [] }).credentials, { password: 'sesame' });
  });

  test('take UDP with an idle time of 2 to 600 seconds', () => {
    assert.deepEqual(read({ ...LEAST, udp: true }).udp, { idleSeconds: 60 });
    for (const seconds of [2n, 600n]) {
      const { udp } = read({ ...LEAST, udp: true, udp_idle_timeout: seconds });
      assert.deepEqual(udp, { idleSeconds: Number(seconds) });
    }
  });

  test('take obfuscation with a password of 4 bytes, whatever they are', () => {
    const table = { ...LEAST, obfs: 'salamander', obfs_password: 'öö' };
    assert.equal(read(table).obfuscation, 'öö');
  });

  test('take a masquerade in part or as a whole', () => {
    const { masquerade } = read({ ...LEAST, masquerade: { status: 999n } });
    assert.deepEqual(masquerade, {
      status: 999,
      body: '404 page not found\n',
      contentType: 'text/plain; charset=utf-8',
    });
    const whole = { status: 100n, body: '', content_type: 'text/html' };
    assert.deepEqual(read({ ...LEAST, masquerade: whole }).masquerade, {
      status: 100,
      body: '',
      contentType: 'text/html',
    });
  });

  test('survive structuredClone', () => {
    const settings = read({ ...LEAST, udp: true });
    assert.deepStrictEqual(structuredClone(settings), settings);
  });

  test('are refused where Node cannot do QUIC', () => {
    assert.throws(() => inboundSettings(tableNode(LEAST), { files }, () => 'no callbacks'), {
      message: 'this Node.js cannot do QUIC, which hysteria2 needs: no callbacks',
    });
  });
});

describe('the settings of a Hysteria 2 inbound are refused for', () => {
  const both = 'hysteria2 needs both cert_file and key_file';
  const status = (code: bigint): Table => ({ ...LEAST, masquerade: { status: code } });
  const user = (part: Table): Table => ({ ...TLS, users: [{ user: 'ann', pass: 'x', ...part }] });
  refuses([
    ['nothing at all', {}, both],
    ['no certificate', { password: 'x', key_file: 'key.pem' }, both],
    ['no key', { password: 'x', cert_file: 'cert.pem' }, both],
    ['no certificate and no credentials', { key_file: 'missing.pem' }, both],
    ['an empty path', { ...LEAST, key_file: '' }, both],
    [
      'a file without a certificate',
      { ...LEAST, cert_file: 'noise.pem' },
      'cert_file noise.pem: no certificate in the file',
    ],
    [
      'a file without a key',
      { ...LEAST, key_file: 'noise.pem' },
      'key_file noise.pem: no private key in the file',
    ],
    [
      'the key of another certificate',
      { ...LEAST, key_file: 'other.pem' },
      'key_file other.pem: no private key assigned',
    ],
    ['no credentials', TLS, 'hysteria2 needs password or users'],
    ['users that are none', { ...TLS, users: [] }, 'hysteria2 needs password or users'],
    [
      'both kinds of credentials',
      { ...user({}), password: 'x' },
      'hysteria2 needs password or users, not both',
    ],
    ['an empty password', { ...LEAST, password: '' }, 'password must not be empty'],
    [
      'a password with an umlaut',
      { ...LEAST, password: 'sösame' },
      'password must be printable ASCII',
    ],
    ['a password with a tab', { ...LEAST, password: 'a\tb' }, 'password must be printable ASCII'],
    ['an empty user', user({ user: '' }), 'user must not be empty'],
    ['a user with a colon', user({ user: 'a:b' }), 'user must not contain a colon'],
    ['a user with a line end', user({ user: 'a\nb' }), 'user must be printable ASCII'],
    ['an empty pass', user({ pass: '' }), 'pass must not be empty'],
    ['a pass with a delete', user({ pass: 'a\x7f' }), 'pass must be printable ASCII'],
    [
      'names that differ by case',
      {
        ...TLS,
        users: [
          { user: 'Ann', pass: 'x' },
          { user: 'aNN', pass: 'y' },
        ],
      },
      'two users have the same name; its case does not count',
    ],
    [
      'an idle time without UDP',
      { ...LEAST, udp_idle_timeout: 60n },
      'udp_idle_timeout has no meaning while udp is false',
    ],
    ...[0n, 1n, 601n, 2n ** 63n].map((seconds): readonly [string, Table, string] => [
      `an idle time of ${seconds} s`,
      { ...LEAST, udp: true, udp_idle_timeout: seconds },
      'udp_idle_timeout must be 2 to 600 seconds',
    ]),
    ['no connections', { ...LEAST, max_connections: 0n }, 'max_connections must be at least 1'],
    ['no circuits', { ...LEAST, max_circuits: 0n }, 'max_circuits must be at least 1'],
    [
      'negative circuits',
      { ...LEAST, max_circuits: -1n },
      'invalid value: integer `-1`, expected u64',
    ],
    ['another obfs', { ...LEAST, obfs: 'gecko', obfs_password: 'four' }, 'unknown obfs'],
    ['obfs in capitals', { ...LEAST, obfs: 'Salamander', obfs_password: 'four' }, 'unknown obfs'],
    ['an empty obfs', { ...LEAST, obfs: '' }, 'unknown obfs'],
    ['obfs without its password', { ...LEAST, obfs: 'salamander' }, 'obfs needs obfs_password'],
    [
      'a short obfs_password',
      { ...LEAST, obfs: 'salamander', obfs_password: 'abc' },
      'obfs_password must have at least 4 bytes',
    ],
    [
      'obfs_password without obfs',
      { ...LEAST, obfs_password: 'four' },
      'obfs_password has no meaning without obfs',
    ],
    ['status 99', status(99n), 'masquerade status 99 is not an HTTP status code'],
    ['status 1000', status(1000n), 'masquerade status 1000 is not an HTTP status code'],
    ['status 65536', status(65_536n), 'invalid value: integer `65536`, expected u16'],
    ['status 233', status(233n), 'masquerade status 233 is that of a successful authentication'],
    [
      'a content_type of two lines',
      { ...LEAST, masquerade: { content_type: 'a\r\nb: c' } },
      'masquerade content_type must not have control characters',
    ],
    [
      'an unknown key of the masquerade',
      { ...LEAST, masquerade: { file: 'x' } },
      'unknown field `file`, expected one of `status`, `body`, `content_type`',
    ],
    ['no pass', { ...TLS, users: [{ user: 'ann' }] }, 'missing field `pass`'],
  ]);

  test('an unknown key', () => {
    assert.throws(() => read({ ...LEAST, up_mbps: 1n }), /^DecodeError: unknown field `up_mbps`/);
  });

  test('a file that cannot be read', () => {
    const message = 'cannot read cert_file missing.pem: no such file or directory';
    assert.throws(() => read({ ...LEAST, cert_file: 'missing.pem' }), { message });
  });
});

describe('the settings of a Hysteria 2 outbound', () => {
  test('have their defaults', () => {
    assert.deepEqual(readOut({ password: 'ann:x' }), {
      password: 'ann:x',
      serverName: 'hy.example',
      allowInsecure: false,
      ca: undefined,
      obfuscation: undefined,
      maxConcurrentStreams: 102_400,
    });
  });

  test('take every key', () => {
    const settings = readOut({
      password: 'p',
      server_name: 'sni.example',
      ca_file: 'ca.pem',
      obfs: 'salamander',
      obfs_password: 'four',
      max_concurrent_streams: 2n ** 64n - 1n,
    });
    assert.deepEqual(settings, {
      password: 'p',
      serverName: 'sni.example',
      allowInsecure: false,
      ca: { file: 'ca.pem', content: authority.cert },
      obfuscation: 'four',
      maxConcurrentStreams: 2 ** 64,
    });
    assert.deepStrictEqual(structuredClone(settings), settings);
  });

  test('have the name in the form that TLS carries', () => {
    assert.equal(readOut({ password: 'p' }, 'fe80::1%eth0').serverName, 'fe80::1');
    const name = 'xn--bcher-kva.example';
    assert.equal(readOut({ password: 'p' }, 'Bücher.example').serverName, name);
    assert.equal(readOut({ password: 'p', server_name: 'bücher.example' }).serverName, name);
  });

  test('read a CA file without parsing it', () => {
    assert.equal(readOut({ password: 'p', ca_file: 'noise.pem' }).ca?.content, 'noise');
  });

  test('accept any certificate, and a CA file when they do not', () => {
    assert.equal(readOut({ password: 'p', allow_insecure: true }).allowInsecure, true);
    assert.ok(readOut({ password: 'p', allow_insecure: false, ca_file: 'ca.pem' }).ca);
  });

  for (const [what, table, message] of [
    ['no password', {}, 'missing field `password`'],
    ['an empty password', { password: '' }, 'password must not be empty'],
    [
      'a password with a line end',
      { password: 'a\nb' },
      'password must not have control characters',
    ],
    [
      'a CA file that is not used',
      { password: 'p', allow_insecure: true, ca_file: 'ca.pem' },
      'allow_insecure and ca_file cannot both be set',
    ],
    ['another obfs', { password: 'p', obfs: 'x' }, 'unknown obfs'],
    [
      'obfs without its password',
      { password: 'p', obfs: 'salamander' },
      'obfs needs obfs_password',
    ],
    [
      'obfs_password without obfs',
      { password: 'p', obfs_password: 'four' },
      'obfs_password has no meaning without obfs',
    ],
    [
      'no streams',
      { password: 'p', max_concurrent_streams: 0n },
      'max_concurrent_streams must be at least 1',
    ],
  ] as const) {
    test(`are refused for ${what}`, () => {
      assert.throws(() => readOut(table), { code: 'decode', message });
    });
  }

  test('are refused where Node cannot do QUIC', () => {
    const table = tableNode({ password: 'p' });
    assert.throws(() => outboundSettings(table, { files, server: 'a' }, () => 'no callbacks'), {
      message: 'this Node.js cannot do QUIC, which hysteria2 needs: no callbacks',
    });
  });
});

test('no error of the settings shows a secret', () => {
  const secret = 'SESÄME';
  const tables: Table[] = [
    { ...LEAST, password: secret },
    { ...LEAST, password: 7n },
    { ...TLS, users: [{ user: 'ann', pass: secret }] },
    { ...TLS, users: [{ user: 'ann', pass: ['SES'] }] },
    { ...LEAST, obfs_password: secret },
  ];
  for (const table of tables) {
    assert.throws(
      () => read(table),
      (error) => error instanceof DecodeError && !/SES/.test(error.message),
    );
  }
});
