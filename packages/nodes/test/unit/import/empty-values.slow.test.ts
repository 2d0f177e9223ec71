import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign, type Imported } from '../../../src/import/document.ts';
import { CLASH_KEYS, CLASH_DOCUMENT_KEYS } from '../../../src/import/keys/clash.ts';
import { SING_BOX_KEYS } from '../../../src/import/keys/sing-box.ts';
import { XRAY_KEYS } from '../../../src/import/keys/xray.ts';
import '../../../../../test/support/import/load-forms.ts';

/*
 * What generators, converters and users write for keys that have no value: it is as if the key were not
 * there, and an entry that lacks what it needs costs no other.
 */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const KEY = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

type Fields = Readonly<Record<string, unknown>>;

/** `{ a: { b: value } }` of `a.b`, in a copy of an object. */
function withValue(fields: Fields, path: string, value: unknown): Fields {
  const [key = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...fields, [key]: value };
  const inner = typeof fields[key] === 'object' ? (fields[key] as Fields) : {};
  return { ...fields, [key]: withValue(inner, rest.join('.'), value) };
}

const pathsOf = (table: object): readonly string[] =>
  Object.keys(table).filter((path) => !path.includes('*'));

/** Plain scalars of YAML that are null; JSON writes each of them as itself. */
const EMPTY_IN_YAML = ['null', '~', '', 'Null', '""', '{}', '[]'];

/** An object in the flow style, in which marks stand for values that are not JSON. */
const yamlOf = (fields: Fields, raw: string): string =>
  JSON.stringify(fields).replaceAll('":', '": ').replaceAll(`"${MARK}"`, raw);

const MARK = 'the value';

const entriesIn = (document: string): Imported['entries'] => readForeign(document).entries;

const CLASH_NODES: readonly (readonly [type: string, fields: Fields, optional: string])[] = [
  ['ss', { cipher: 'aes-128-gcm', password: 'x' }, 'plugin plugin-opts udp-over-tcp smux'],
  ['vmess', { uuid: ID }, 'cipher alterId network servername tls ws-opts http-opts h2-opts'],
  ['vless', { uuid: ID, tls: true }, 'flow encryption network servername reality-opts grpc-opts'],
  ['trojan', { password: 'x' }, 'sni alpn network reality-opts ss-opts skip-cert-verify'],
  ['hysteria2', { password: 'x' }, 'ports obfs obfs-password sni ca ca-str up down alpn'],
  ['socks5', {}, 'username password tls skip-cert-verify'],
  ['http', {}, 'username password tls sni headers'],
  [
    'wireguard',
    { 'private-key': KEY, 'public-key': KEY, ip: '10.0.0.2' },
    'ipv6 pre-shared-key reserved mtu persistent-keepalive allowed-ips peers dns amnezia-wg-option',
  ],
];

const CLASH_MORE =
  'ip-version fingerprint certificate client-fingerprint ech-opts ws-opts.path ws-opts.headers ws-opts.headers.Host ws-opts.max-early-data ws-opts.early-data-header-name grpc-opts.grpc-service-name';

describe('a key without a value in a node of Clash', () => {
  for (const [type, fields, optional] of CLASH_NODES) {
    const known = [...optional.split(' '), ...CLASH_MORE.split(' '), ...pathsOf(CLASH_KEYS)];
    const keys = [...new Set(known)].filter((key) => !(key in fields));
    for (const network of type === 'vmess' || type === 'vless' || type === 'trojan'
      ? ['', 'ws', 'grpc']
      : ['']) {
      test(`is absent: ${type} ${network}`, () => {
        const place = { type, server: '192.0.2.1', port: 443, ...fields };
        const base = { name: 'a', ...place, ...(network !== '' && { network, tls: true }) };
        const [control] = entriesIn(`proxies:\n- ${yamlOf(base, '')}\n`);
        assert.equal(control?.skipped, undefined);
        const cases = keys
          .filter((key) => !(network !== '' && (key === 'network' || key === 'tls')))
          .flatMap((key) => EMPTY_IN_YAML.map((raw) => ({ key, raw })));
        const lines = cases.map(({ key, raw }) => `- ${yamlOf(withValue(base, key, MARK), raw)}\n`);
        const entries = entriesIn(`proxies:\n${lines.join('')}`);
        for (const [index, { key, raw }] of cases.entries()) {
          assert.deepEqual(entries[index], control, `${key}: ${raw}`);
        }
      });
    }

    test(`is missed where it is needed, and costs no other node: ${type}`, () => {
      const base = { name: 'a', type, server: '192.0.2.1', port: 443, ...fields };
      const needed = Object.keys(base).filter((key) => key !== 'name' && key !== 'tls');
      for (const raw of ['null', '~', '', '{}', '[]']) {
        for (const key of needed) {
          const [first, second] = entriesIn(
            `proxies:\n- ${yamlOf({ ...base, [key]: MARK }, raw)}\n- ${yamlOf({ ...base, name: 'b' }, '')}\n`,
          );
          if (key !== 'ip') assert.notEqual(first?.skipped, undefined, `${key}: ${raw}`);
          assert.equal(second?.draft?.name, 'b');
        }
      }
    });
  }

  test('is text where it is in quotes, and keeps its zeros', () => {
    for (const password of ['null', '~', '0123', '1e3', '0x1f', 'yes']) {
      const isNull = password === 'null' || password === '~';
      const written = isNull ? `"${password}"` : password;
      const [entry] = entriesIn(
        `proxies:\n- {name: a, type: trojan, server: a.example, port: 443, password: ${written}}\n`,
      );
      assert.equal(entry?.draft?.settings['password'], password);
    }
  });
});

const NODE = 'proxies:\n- {name: a, type: trojan, server: 192.0.2.1, port: 443, password: x}\n';

describe('a key of a Clash document', () => {
  const paths = [
    ...pathsOf(CLASH_DOCUMENT_KEYS),
    ...'dns tun sniffer hosts listeners rules proxy-groups authentication mode log-level allow-lan'.split(
      ' ',
    ),
    ...'port socks-port mixed-port redir-port tproxy-port dns.enable dns.nameserver tun.enable'.split(
      ' ',
    ),
    ...'tun.mtu tun.device tun.route-address sniffer.enable bind-address'.split(' '),
  ];

  test('is absent where it has no value', () => {
    const control = readForeign(NODE);
    for (const path of paths) {
      for (const raw of EMPTY_IN_YAML) {
        const text = `${yamlOf(withValue({}, path, MARK), raw).slice(1, -1)}\n${NODE}`;
        const [section = ''] = path.split('.');
        const block = path.includes('.') ? text.replace(`"${section}": {`, `${section}: {`) : text;
        const found = readForeign(block);
        assert.deepEqual({ ...found, keys: [] }, { ...control, keys: [] }, `${path}: ${raw}`);
        assert.deepEqual(
          found.keys.filter(({ status }) => status !== 'same'),
          [],
          `${path}: ${raw}`,
        );
      }
    }
  });

  test('with a value of another type is reported, and costs nothing else', () => {
    for (const [key, raw, problem] of [
      ['dns', '[1]', 'it is not an object'],
      ['dns', 'off', 'it is not an object'],
      ['tun', 'x', 'it is not an object'],
      ['sniffer', '[x]', 'it is not an object'],
      ['mixed-port', 'x', 'it is not a number'],
      ['port', '{a: 1}', 'it is not a string'],
      ['mode', '[rule]', 'it is not a string'],
      ['log-level', '{a: 1}', 'it is not a string'],
    ] as const) {
      const { entries, keys } = readForeign(`${key}: ${raw}\n${NODE}`);
      assert.equal(entries[0]?.draft?.name, 'a');
      assert.deepEqual(
        keys.filter(({ path }) => path === key),
        [{ path: key, status: 'skipped', reason: problem }],
      );
    }
  });
});

const EMPTY_IN_JSON: readonly unknown[] = [null, '', {}, []];

/** Keys of an outbound that has them all. */
function expectAbsent(
  base: Fields,
  paths: readonly string[],
  documentOf: (outbounds: readonly Fields[]) => object,
): void {
  const read = (outbounds: readonly Fields[]): Imported['entries'] =>
    entriesIn(JSON.stringify(documentOf(outbounds)));
  const [control] = read([base]);
  assert.equal(control?.skipped, undefined);
  for (const path of paths) {
    for (const value of EMPTY_IN_JSON) {
      const [entry] = read([withValue(base, path, value)]);
      assert.deepEqual(entry, control, `${path}: ${JSON.stringify(value)}`);
    }
  }
}

describe('a key without a value in an outbound of sing-box', () => {
  const place = { tag: 'a', server: '192.0.2.1', server_port: 443 };
  for (const [type, fields, optional] of [
    ['vless', { uuid: ID }, 'flow tls transport packet_encoding multiplex'],
    ['vmess', { uuid: ID }, 'security alter_id tls transport'],
    ['trojan', { password: 'x' }, 'tls transport'],
    ['shadowsocks', { method: 'aes-128-gcm', password: 'x' }, 'plugin plugin_opts'],
    ['hysteria2', { password: 'x', tls: { enabled: true } }, 'obfs obfs.type obfs.password'],
    ['socks', {}, 'username password version'],
    ['http', {}, 'username password path headers tls'],
  ] as const) {
    test(`is absent: ${type}`, () => {
      const more = 'server_ports domain_strategy domain_resolver detour bind_interface'.split(' ');
      const keys = [...optional.split(' '), ...more, ...pathsOf(SING_BOX_KEYS)];
      expectAbsent({ type, ...place, ...fields }, keys, (outbounds) => ({ outbounds }));
    });
  }

  test('is absent: in TLS and transports', () => {
    const tls = 'server_name certificate certificate_path insecure reality ech utls alpn'.split(
      ' ',
    );
    const ws = 'path headers headers.Host max_early_data early_data_header_name'.split(' ');
    expectAbsent(
      { type: 'vless', ...place, uuid: ID, tls: { enabled: true }, transport: { type: 'ws' } },
      [...tls.map((key) => `tls.${key}`), ...ws.map((key) => `transport.${key}`)],
      (outbounds) => ({ outbounds }),
    );
  });

  test('is absent: in a document', () => {
    const outbounds = [{ type: 'trojan', ...place, password: 'x' }];
    const control = readForeign(JSON.stringify({ outbounds }));
    for (const key of 'log dns ntp inbounds endpoints route experimental services'.split(' ')) {
      for (const value of EMPTY_IN_JSON) {
        const found = readForeign(JSON.stringify({ outbounds, [key]: value }));
        assert.deepEqual({ ...found, keys: [] }, { ...control, keys: [] }, key);
      }
    }
  });
});

describe('a key without a value in an outbound of Xray', () => {
  const vnext = [{ address: '192.0.2.1', port: 443, users: [{ id: ID }] }];
  const server = { address: '192.0.2.1', port: 443 };
  for (const [protocol, settings] of [
    ['vless', { vnext }],
    ['vmess', { vnext }],
    ['vless', { ...server, id: ID }],
    ['trojan', { servers: [{ ...server, password: 'x' }] }],
    ['shadowsocks', { servers: [{ ...server, method: 'aes-128-gcm', password: 'x' }] }],
    ['socks', { servers: [server] }],
    ['http', { servers: [server] }],
  ] as const) {
    test(`is absent: ${protocol} ${Object.keys(settings).join(' ')}`, () => {
      const keys = pathsOf(XRAY_KEYS).filter(
        (path) => !/^settings\.(?:vnext|servers)\./.test(path),
      );
      const more =
        'targetStrategy settings.flow settings.users settings.vnext settings.servers streamSettings streamSettings.network streamSettings.security streamSettings.sockopt streamSettings.tcpSettings streamSettings.tcpSettings.header streamSettings.wsSettings streamSettings.grpcSettings';
      const absent = [...keys, ...more.split(' ')].filter(
        (path) => !Object.hasOwn(settings, path.replace('settings.', '')),
      );
      expectAbsent({ tag: 'a', protocol, settings }, absent, (outbounds) => ({ outbounds }));
    });
  }

  test('is absent: in TLS and WebSocket', () => {
    const tls = 'serverName allowInsecure certificates pinnedPeerCertSha256 alpn'.split(' ');
    const ws = 'path host headers headers.Host'.split(' ');
    expectAbsent(
      {
        tag: 'a',
        protocol: 'vless',
        settings: { vnext },
        streamSettings: { network: 'ws', security: 'tls' },
      },
      [
        ...tls.map((key) => `streamSettings.tlsSettings.${key}`),
        ...ws.map((key) => `streamSettings.wsSettings.${key}`),
      ],
      (outbounds) => ({ outbounds }),
    );
  });
});
