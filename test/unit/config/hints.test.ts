import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { attachError, detachError } from '../../../src/app/detached-error.ts';
import { ConfigError, configHints } from '../../../src/config/errors.ts';
import { foreignFormat, foreignFormatHint } from '../../../src/config/foreign-format.ts';
import { DIRECT, errorOf, inbound, outbound, rule } from './support.ts';

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
    /a stream has tcp, tls, ws, grpc$/,
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
    inbound('protocol = "vless"\nport = 1\nsettings.users = [{ id = "mia" }]'),
    'inbound in: invalid settings: invalid uuid',
    /^at \/etc\/weir\.toml:8:26 \(inbound in\)$/,
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

test('an error keeps its hints and its place on the way from another thread', () => {
  const text = inbound('protocol = "vless"\nport = 1\nsettings.user = []');
  const error = errorOf(text, '/etc/weir.toml');
  const arrived = attachError(structuredClone(detachError(error)));
  assert.ok(arrived instanceof ConfigError);
  assert.equal(arrived.tellsPlace, false);
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
