import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deserializeError, serializeError } from '../../../src/app/loading/serialized-error.ts';
import { ConfigError, configHints } from '../../../src/config/errors.ts';
import { foreignFormat, foreignFormatHint } from '../../../src/config/sources/foreign-format.ts';
import { parseCertificateChain, parseServerKey } from '../../../src/crypto/server-certificate.ts';
import { WeirError } from '../../../src/errors.ts';
import { TestAuthority } from '../../support/data/test-certificates.ts';
import {
  DIRECT,
  errorOf,
  fakeFiles,
  inbound,
  loadErrorOf,
  outbound,
  rule,
} from '../../support/config/support.ts';

const stream = (network: string): string =>
  outbound(`protocol = "http"\nserver = "a.example"\nport = 1\nstream.network = "${network}"`);

/** What is refused, the text that stays as it is, and what the hints say. */
const ROWS: readonly (readonly [what: string, text: string, message: string, hint: RegExp])[] = [
  [
    'a mistyped protocol',
    inbound('protocol = "sock"'),
    'unknown protocol',
    /^protocol = "sock" is unknown; an inbound has .*vmess; did you mean "socks"\?$/,
  ],
  [
    'a protocol of outbounds',
    inbound('protocol = "freedom"'),
    'unknown protocol',
    /is for an outbound; an inbound has/,
  ],
  [
    'a protocol of inbounds',
    outbound('protocol = "tun"'),
    'unknown protocol',
    /is for an inbound; an outbound has/,
  ],
  [
    'two protocols on one port',
    inbound('protocol = "mixed"'),
    'unknown protocol',
    /two inbounds here/,
  ],
  [
    'a refusal under another name',
    outbound('protocol = "reject"'),
    'unknown protocol',
    /did you mean "blackhole"\?$/,
  ],
  [
    'a short name',
    outbound('protocol = "ss"'),
    'unknown protocol',
    /did you mean "shadowsocks"\?$/,
  ],
  [
    'a group of another program',
    outbound('protocol = "urltest"'),
    'unknown protocol',
    /\[\[balancer\]\]/,
  ],
  [
    'a link in the place of a protocol',
    outbound('protocol = "vless://id@host:1"'),
    'unknown protocol',
    /^protocol is unknown; an outbound has [^@]*$/,
  ],
  [
    'a network under another name',
    stream('websocket'),
    'unknown stream network',
    /^network = "websocket" is unknown; a stream has tcp, tls, ws, grpc; did you mean "ws"\?$/,
  ],
  ['a network in capitals', stream('WS'), 'unknown stream network', /did you mean "ws"\?$/],
  [
    'a network of another program',
    stream('xhttp'),
    'unknown stream network',
    /^network = "xhttp" is not supported, so that the other end needs another one too; a stream has tcp, tls, ws, grpc$/,
  ],
  ...['block', 'reject', 'drop'].map(
    (tag) =>
      [
        `the tag ${tag}`,
        rule('').replace('outbound = "direct"', `outbound = "${tag}"`),
        `route references unknown outbound tag: ${tag}`,
        /refuses flows is "blackhole"$/,
      ] as const,
  ),
  [
    'a mistyped tag',
    rule('').replace('outbound = "direct"', 'outbound = "dirct"'),
    'route references unknown outbound tag: dirct',
    /^did you mean "direct"\?$/,
  ],
  [
    'the place of settings',
    inbound('protocol = "vless"\nport = 1\nsettings.users = 1'),
    'inbound in: invalid settings: invalid type: integer, expected a sequence',
    /^at \/etc\/weir\.toml:8:18 \(inbound in\)$/,
  ],
];

describe('a hint is given for', () => {
  for (const [what, text, message, hint] of ROWS) {
    test(what, () => {
      const error = errorOf(text, '/etc/weir.toml');
      assert.equal(error.message, message);
      const hints = configHints(error);
      assert.equal(hints.length, 1);
      assert.match(hints[0] ?? '', hint);
    });
  }

  test('a plural key', () => {
    const error = errorOf(`[[inbounds]]\n${DIRECT}`);
    assert.match(error.message, /unknown field `inbounds`, expected one of .*`api`$/);
    assert.deepEqual(configHints(error), ['did you mean `inbound`?']);
  });
});

const WIREGUARD_KEY = Buffer.alloc(32, 7).toString('base64');
const wireguard = (over: string): string =>
  outbound(`protocol = "wireguard"
settings.private_key = "${WIREGUARD_KEY}"
settings.peer_public_key = "${WIREGUARD_KEY}"
settings.endpoint = "wg.example:51820"
${over}`);
const shadowsocks = (settings: string): string =>
  inbound(`protocol = "shadowsocks"\nport = 1\n${settings}`);
const dns = (text: string): string => `[dns]\n${text}\n${DIRECT}`;
const KEY_128 = Buffer.alloc(16, 7).toString('base64');

/** Mistakes whose specified text does not say what to do, and the hint that does. */
const MISTAKES: readonly (readonly [what: string, text: string, message: RegExp, hint: RegExp])[] =
  [
    [
      'one bracket in place of two',
      `[inbound]\ntag = "in"\nprotocol = "socks"\nport = 1\n${DIRECT}`,
      /invalid type: map, expected a sequence$/,
      /two brackets: \[\[name\]\] in place of \[name\]$/,
    ],
    [
      'a tunnel address with a prefix length',
      wireguard('settings.address = ["10.9.0.2/32"]'),
      /invalid IP address syntax$/,
      /^write the address without a prefix length: 10\.9\.0\.2$/,
    ],
    [
      'an address with a port, where a relay binds',
      inbound('protocol = "socks"\nport = 1\nsettings.udp_bind = "[2001:db8::1]:5"'),
      /invalid IP address syntax$/,
      /^write the address alone: 2001:db8::1$/,
    ],
    [
      'a resolver without a port',
      dns('backend = "udp"\nserver = "1.1.1.1"'),
      /invalid socket address syntax$/,
      /^the port is missing: 1\.1\.1\.1:53$/,
    ],
    [
      'a resolver over TLS without a port',
      dns('backend = "tls"\nserver = "2606:4700::1111"\nserver_name = "a"'),
      /invalid socket address syntax$/,
      /^write IPv6 in brackets, with a port: \[2606:4700::1111\]:853$/,
    ],
    [
      'the name of a resolver',
      dns('backend = "tls"\nserver = "dns.google:853"\nserver_name = "dns.google"'),
      /invalid socket address syntax$/,
      /^dns\.google is a name, .*such as 192\.0\.2\.53:853$/,
    ],
    [
      'an unknown method of Shadowsocks',
      shadowsocks('settings = { method = "aes-256-cfb", password = "p" }'),
      /unknown shadowsocks method$/,
      /^the methods are aes-128-gcm, .*2022-blake3-chacha20-poly1305$/,
    ],
    [
      'an unknown method of 2022',
      shadowsocks('settings = { method = "2022-blake3-aes", password = "p" }'),
      /unknown shadowsocks-2022 method$/,
      /^the methods are 2022-blake3-aes-128-gcm, [^,]*, [^,]*$/,
    ],
    [
      'a key that is not base64',
      shadowsocks('settings = { method = "2022-blake3-aes-128-gcm", password = "not a key" }'),
      /PSK is not valid base64$/,
      /^password has to be 16 random bytes in base64: openssl rand -base64 16$/,
    ],
    [
      'the key of the second user that is too short',
      shadowsocks(
        `settings = { method = "2022-blake3-aes-128-gcm", password = "${KEY_128}", users = [{ password = "${KEY_128}" }, { password = "AAAA" }] }`,
      ),
      /PSK too short$/,
      /^the password of user 2 has to be 16 random bytes/,
    ],
    [
      'the second key of a chain',
      outbound(
        `protocol = "shadowsocks"\nserver = "a"\nport = 1\nsettings = { method = "2022-blake3-aes-128-gcm", password = "${KEY_128}:x" }`,
      ),
      /PSK is not valid base64$/,
      /^part 2 of password, which ":" divides, has to be 16 random bytes in base64: copy it from the server$/,
    ],
    [
      'sni',
      outbound(
        'protocol = "trojan"\nserver = "a"\nport = 1\nsettings = { password = "p" }\nstream = { network = "tls", tls = { sni = "b" } }',
      ),
      /unknown field `sni`/,
      /^`sni` is called `server_name` here$/,
    ],
    [
      'flow',
      outbound(
        'protocol = "vless"\nserver = "a"\nport = 1\nsettings = { id = "b831381d-6324-4d53-ad4f-8cda48b30811", flow = "xtls-rprx-vision" }',
      ),
      /unknown field `flow`/,
      /^XTLS flows \(Vision\) are not supported: leave `flow` out/,
    ],
    [
      'a balancer in a balancer',
      `${outbound('protocol = "socks"\nserver = "a"\nport = 1')}
[[balancer]]
tag = "inner"
outbounds = ["out"]
[[balancer]]
tag = "outer"
outbounds = ["inner"]
`,
      /^balancer outer references unknown outbound tag: inner$/,
      /^"inner" is a balancer, and the members of a balancer are outbounds/,
    ],
    [
      'a geosite matcher without a file',
      rule('geosite = ["cn"]'),
      /^a geosite matcher is used but no geosite file is configured$/,
      /^\[route\]\.geosite names a geosite\.dat, which comes with Xray/,
    ],
    [
      'a geoip matcher without a file',
      rule('geoip = ["cn"]'),
      /^a geoip matcher is used but no geoip file is configured$/,
      /^\[route\]\.geoip names a geoip\.dat, which comes with Xray .* v2fly\/geoip /,
    ],
  ];

describe('a hint leads on from', () => {
  for (const [what, text, message, hint] of MISTAKES) {
    test(what, () => {
      const error = errorOf(text, '/etc/weir.toml');
      assert.match(error.message, message);
      const hints = configHints(error);
      assert.ok(
        hints.some((each) => hint.test(each)),
        JSON.stringify(hints),
      );
    });
  }

  for (const kind of ['geoip', 'geosite']) {
    test(`a ${kind} file that is not there`, async () => {
      const text = `[route]\n${kind} = "/nowhere/lists.dat"\n${rule(`${kind} = ["cn"]`)}`;
      const error = await loadErrorOf(text, fakeFiles(), '/etc/weir.toml');
      assert.match(error.message, /^cannot read \w+ file .*: no such file or directory$/);
      const names = `[route].${kind} names a ${kind}.dat, which comes with Xray`;
      const hints = configHints(error);
      assert.ok(
        hints.some((each) => each.startsWith(names)),
        JSON.stringify(hints),
      );
    });
  }

  test('a certificate and a key that do not belong together', () => {
    const one = new TestAuthority().issue({ dns: ['a.example'] });
    const other = new TestAuthority().issue({ dns: ['a.example'] });
    assert.throws(
      () => parseServerKey(Buffer.from(one.key), parseCertificateChain(Buffer.from(other.cert))),
      (error: unknown) =>
        error instanceof WeirError &&
        error.message === 'no private key assigned' &&
        /is not that of the first certificate/.test(error.hint ?? ''),
    );
  });
});

test('an error keeps its hints and its place on the way from another thread', () => {
  const text = inbound('protocol = "vless"\nport = 1\nsettings.user = []');
  const error = errorOf(text, '/etc/weir.toml');
  const arrived = deserializeError(structuredClone(serializeError(error)));
  assert.ok(arrived instanceof ConfigError);
  assert.equal(arrived.showsPlace, false);
  assert.deepEqual(configHints(arrived), configHints(error));
  assert.equal(configHints(error).length, 2);
});

describe('a file of another format is recognised:', () => {
  const files: readonly (readonly [what: string, format: string | undefined, text: string])[] = [
    ['JSON', 'json', '{\n  "inbounds": []\n}'],
    ['JSON with comments', 'json', '// mine\n{\n  "log": {}\n}'],
    ['JSON in a comment of its own kind', 'json', '/* mine */\n{}'],
    ['a list of JSON', 'json', '[\n  {"type": "direct"}\n]'],
    ['YAML', 'yaml', 'port: 7890\nproxies:\n  - name: a\n    type: ss\n'],
    ['YAML with a start', 'yaml', '---\nproxies: []\n'],
    ['a link', 'links', 'vless://0b1c@proxy.example:443?type=ws#name\n'],
    ['several links', 'links', '# mine\nss://YWVz@a:1#x\nhysteria2://p@b:2\n'],
    ['links in base64', 'links', Buffer.from('trojan://p@proxy.example:443\n').toString('base64')],
    [
      'WireGuard',
      'wireguard',
      '[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n',
    ],
    ['TOML with a mistake', undefined, '[[inbound]]\ntag = \n'],
    ['TOML with a colon', undefined, 'level: "info"\n[log]\nlevel = "info"\n'],
    ['prose', undefined, 'Dear reader,\n'],
    ['nothing', undefined, ''],
  ];
  for (const [what, format, text] of files) {
    test(what, () => {
      assert.equal(foreignFormat(text), format);
    });
  }

  test('the error of its text has the format', () => {
    assert.equal(errorOf('{}').format, 'json');
    assert.equal(errorOf('[log]\nlevel =').format, undefined);
  });

  test('the hint names `weir import` where that can read it', () => {
    assert.equal(
      foreignFormatHint('json', 'a.json', ['json']),
      'this looks like JSON, which sing-box and Xray are configured in; Weir reads TOML. `weir import a.json` makes a configuration of it',
    );
    assert.doesNotMatch(foreignFormatHint('yaml', 'a.yaml', ['json']), /weir import/);
    assert.doesNotMatch(foreignFormatHint('json', 'a.json', []), /weir import/);
  });
});
