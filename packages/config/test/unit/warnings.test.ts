import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { DEFAULT_CONFIG } from '../../src/sources/documents.ts';
import { renderWarning, type Warning } from '../../src/warnings/warning.ts';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import {
  DIRECT,
  exampleFiles,
  fakeFiles,
  load,
  makeGeoFiles,
} from '../../../../test/support/config/support.ts';

const SOCKS = '[[inbound]]\ntag = "socks"\nprotocol = "socks"\nport = 1080\n';
const BLOCK = '[[outbound]]\ntag = "block"\nprotocol = "blackhole"\n';

const warningsOf = async (text: string, files = {}): Promise<readonly Warning[]> =>
  (await load(text, fakeFiles(files), '/etc/weir.toml')).warnings;

const shown = ({ id, location }: Warning): string =>
  location ? `${id} ${location.line}:${location.column}` : id;

/** What the file is, the warnings that it gets with their places, the file. */
type Row = readonly [what: string, expected: readonly string[], text: string, subscribe?: string];

const rules = (...matchers: readonly string[]): string =>
  SOCKS +
  DIRECT +
  matchers.map((lines) => `[[route.rule]]\noutbound = "direct"\n${lines}\n`).join('');

const socks = (listen: string, settings = ''): string =>
  `[[inbound]]\ntag = "a"\nprotocol = "socks"\nport = 1080\nlisten = "${listen}"\n${settings}\n${DIRECT}`;

const pair = (first: string, second: string): string =>
  `${DIRECT}[[inbound]]\ntag = "a"\n${first}\n[[inbound]]\ntag = "b"\n${second}\n`;

const proxy = (protocol: string, more: string): string =>
  `[[outbound]]\ntag = "up"\nprotocol = "${protocol}"\nserver = "192.0.2.1"\nport = 443\n${more}\n`;

const UUID = '0b1c6d5e-4f3a-4b2c-9d8e-7f6a5b4c3d2e';
const KEY = 'YCr0lvLRY8mp2nLjMn5ciQl4xEJkYbM8Vp9sTXXwFU0=';
const wireguard = (endpoint: string, address: string): string =>
  `[[outbound]]\ntag = "wg"\nprotocol = "wireguard"\n[outbound.settings]\nprivate_key = "${KEY}"\npeer_public_key = "${KEY}"\nendpoint = "${endpoint}"\naddress = [${address}]\n`;

const GROUPS = `[[proxy_server]]\nname = "node"\nprotocol = "freedom"\n
[[route_group]]\nname = "media"\n[[route_group.rule]]\ndomain_suffix = ["media.example"]\n`;
const subscribing = (routes: string): string =>
  `${SOCKS}${DIRECT}[subscribe]\npath = "/s.toml"\n[subscribe.routes]\n${routes}\n`;

const ROWS: readonly Row[] = [
  [
    'the lines that npm start writes before a redirected output',
    ['npm-header 2:1'],
    `\n> weir-proxy@2.1.1 start\n> exec node packages/weir/src/main.js import x\n\n${DIRECT}`,
  ],
  // [log]
  ['level = "warning"', ['log-level 2:9'], `[log]\nlevel = "warning"\n${DIRECT}`],
  ['an empty level', ['log-level 2:9'], `[log]\nlevel = ""\n${DIRECT}`],
  ['a level that is no directive', ['log-level 2:9'], `[log]\nlevel = "a=b=c"\n${DIRECT}`],
  ['a level by number beyond 5', ['log-level 2:9'], `[log]\nlevel = "6"\n${DIRECT}`],
  ['every level', [], `[log]\nlevel = "WARN,svc_app=debug,svc_app::instance,other=1"\n${DIRECT}`],
  // [dns]
  [
    'a DNS server without a backend',
    ['dns-ignored 2:10'],
    `[dns]\nserver = "192.0.2.1:53"\n${DIRECT}`,
  ],
  ['keys of another backend', [], `[dns]\nbackend = "system"\nserver = "192.0.2.1:53"\n${DIRECT}`],
  [
    'a DNS URL with an IPv6 address',
    ['setting-unusable 4:7'],
    `[dns]\nbackend = "https"\nserver = "[2001:db8::1]:443"\nurl = "https://[2001:db8::1]/dns-query"\n${DIRECT}`,
  ],
  // [api]
  ...['é', 'a\\nb', ' a', 'a\\t'].map((secret): Row => [
    `the secret ${JSON.stringify(secret)} of the API`,
    ['setting-unusable 2:10'],
    `[api]\nsecret = "${secret}"\n${DIRECT}`,
  ]),
  [
    'an API on a URL',
    ['setting-unusable 2:10'],
    `[api]\nlisten = "http://127.0.0.1:9090"\n${DIRECT}`,
  ],
  ['a secret of the API with a space', [], `[api]\nsecret = "a \\t~"\n${DIRECT}`],
  // Listeners
  ['an open proxy on every address', ['open-proxy 5:10'], socks('0.0.0.0')],
  ['an open proxy on every IPv6 address', ['open-proxy 5:10'], socks('::')],
  ['an open proxy on a public address', ['open-proxy 5:10'], socks('198.51.100.7')],
  ['an open proxy on a private address', [], socks('192.168.1.1')],
  ['an open proxy on a mapped loopback address', [], socks('::ffff:127.0.0.1')],
  ['an open proxy on a link-local address with a zone', [], socks('fe80::1%eth0')],
  ['an open HTTP proxy', ['open-proxy 5:10'], socks('0.0.0.0').replace('"socks"', '"http"')],
  [
    'a proxy with accounts on every address',
    [],
    socks(
      '0.0.0.0',
      '[inbound.settings]\nauth = "password"\naccounts = [{ user = "a", pass = "b" }]',
    ),
  ],
  [
    'two inbounds on one port',
    ['same-address 11:8'],
    pair('protocol = "socks"\nport = 1', 'protocol = "http"\nport = 1'),
  ],
  [
    'an inbound on an address and one on all',
    ['same-address 11:10', 'open-proxy 11:10'],
    pair('protocol = "socks"\nport = 1', 'protocol = "http"\nlisten = "0.0.0.0"\nport = 1'),
  ],
  [
    'an inbound on all addresses of both families and one on one',
    ['open-proxy 7:10', 'same-address 12:8'],
    pair('protocol = "socks"\nlisten = "::"\nport = 1', 'protocol = "http"\nport = 1'),
  ],
  [
    'two inbounds on ports that the kernel chooses',
    [],
    pair('protocol = "socks"\nport = 0', 'protocol = "http"\nport = 0'),
  ],
  [
    'one port on two addresses',
    [],
    pair('protocol = "socks"\nport = 1', 'protocol = "http"\nlisten = "127.0.0.2"\nport = 1'),
  ],
  [
    'two inbounds on one unix socket',
    ['same-address 11:10'],
    pair('protocol = "http"\nlisten = "/s"', 'protocol = "http"\nlisten = "/s"'),
  ],
  [
    'an inbound on the port of the API',
    ['same-address 4:8'],
    `[[inbound]]\ntag = "a"\nprotocol = "socks"\nport = 9090\n${DIRECT}[api]\n`,
  ],
  // Settings
  [
    'accounts without auth = "password"',
    ['accounts-ignored 7:12'],
    socks('127.0.0.1', '[inbound.settings]\naccounts = [{ user = "a", pass = "b" }]'),
  ],
  [
    'a user twice',
    ['repeated-user 8:41'],
    socks(
      '127.0.0.1',
      '[inbound.settings]\nauth = "password"\naccounts = [{ user = "a", pass = "b" }, { user = "a", pass = "c" }]',
    ),
  ],
  [
    'auth = "password" without accounts',
    ['no-users 2:7'],
    socks('127.0.0.1', '[inbound.settings]\nauth = "password"'),
  ],
  [
    'an HTTP user twice',
    ['repeated-user 7:41'],
    socks(
      '127.0.0.1',
      '[inbound.settings]\naccounts = [{ user = "a", pass = "b" }, { user = "a", pass = "c" }]',
    ).replace('"socks"', '"http"'),
  ],
  ...['trojan', 'vless', 'vmess'].map((protocol): Row => [
    `a ${protocol} inbound without users`,
    ['no-users 5:7'],
    `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "${protocol}"\nport = 1\n`,
  ]),
  [
    'a Trojan password twice',
    ['repeated-user 9:40'],
    `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "trojan"\nport = 1\n[inbound.settings]\nusers = [{ password = "secret-word" }, { password = "secret-word" }]`,
  ],
  ...['vless', 'vmess'].map((protocol): Row => [
    `a ${protocol} id twice, in two forms`,
    ['repeated-user 9:61'],
    `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "${protocol}"\nport = 1\n[inbound.settings]\nusers = [{ id = "${UUID}" },   { id = "${UUID.replaceAll('-', '')}" }]`,
  ]),
  [
    'a password without a user',
    ['settings-ignored 7:8'],
    proxy('socks', '[outbound.settings]\npass = "b"'),
  ],
  [
    'an HTTP password without a user',
    ['settings-ignored 7:8'],
    proxy('http', '[outbound.settings]\npass = "b"'),
  ],
  ['a tunnel without addresses', ['setting-unusable 8:11'], wireguard('vpn.example:1', '')],
  [
    'an endpoint in brackets',
    ['setting-unusable 7:12'],
    wireguard('[2001:db8::1]:1', '"10.0.0.2"'),
  ],
  ['a tunnel', [], wireguard('vpn.example:1', '"10.0.0.2"')],
  [
    'a device that passes nothing on',
    ['setting-unusable 8:13', 'setting-unusable 9:20'],
    `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "tun"\n[inbound.settings]\nmax_flows = 0\nudp_idle_timeout = 0`,
  ],
  [
    'times that make a balancer useless',
    ['balancer-timing 7:7', 'balancer-timing 7:7'],
    `${proxy('socks', '[[balancer]]\ntag = "any"\noutbounds = ["up"]\nprobe_interval = 0\nprobe_timeout = 0')}[route]\ndefault = "any"`,
  ],
  // Streams
  [
    'TLS that is not chosen',
    ['stream-ignored 6:1'],
    proxy('http', '[outbound.stream.tls]\nserver_name = "a.example"'),
  ],
  [
    'a WebSocket that is not chosen',
    ['stream-ignored 6:1'],
    proxy('http', '[outbound.stream.ws]\npath = "/"'),
  ],
  [
    'gRPC that is not chosen',
    ['stream-ignored 8:1'],
    proxy('http', '[outbound.stream]\nnetwork = "tls"\n[outbound.stream.grpc]\nservice_name = "a"'),
  ],
  [
    'a name for a WebSocket without TLS',
    [],
    proxy(
      'http',
      '[outbound.stream]\nnetwork = "ws"\n[outbound.stream.tls]\nserver_name = "a.example"',
    ),
  ],
  [
    'TLS settings for a WebSocket without TLS',
    ['stream-ignored 8:1'],
    proxy(
      'http',
      '[outbound.stream]\nnetwork = "ws"\n[outbound.stream.tls]\nallow_insecure = true',
    ),
  ],
  [
    'a WebSocket with TLS',
    [],
    proxy(
      'http',
      '[outbound.stream]\nnetwork = "ws"\nsecurity = "tls"\n[outbound.stream.tls]\nallow_insecure = true\n[outbound.stream.ws]\npath = "/"',
    ),
  ],
  // Unused outbounds and balancers
  ['an outbound that nothing leads to', ['unused-outbound 5:7'], DIRECT + BLOCK],
  [
    'a first outbound that is not the default',
    ['unused-outbound 2:7'],
    `${DIRECT}${BLOCK}[route]\ndefault = "block"`,
  ],
  [
    'an outbound of a rule',
    [],
    `${DIRECT}${BLOCK}[[route.rule]]\noutbound = "block"\nport = ["25"]`,
  ],
  ['an outbound that the API can pick', [], `${DIRECT}${BLOCK}[api]\n`],
  [
    'a balancer that nothing leads to',
    ['unused-balancer 7:7'],
    proxy('socks', '[[balancer]]\ntag = "any"\noutbounds = ["up"]'),
  ],
  // Entries of rules
  ['a mistyped inbound', ['unknown-inbound 10:16'], rules('inbound_tag = ["sokcs"]')],
  ['an inbound in another case', ['unknown-inbound 10:16'], rules('inbound_tag = ["Socks"]')],
  [
    'a suffix with a leading dot',
    ['unmatched-entry 10:31'],
    rules('domain_suffix = ["a.example", ".b.example"]'),
  ],
  ['an empty suffix', ['unmatched-entry 10:18'], rules('domain_suffix = [""]')],
  ['a suffix with a wildcard', ['unmatched-entry 10:18'], rules('domain_suffix = ["*.a.example"]')],
  [
    'a suffix that is an address',
    ['unmatched-entry 10:18'],
    rules('domain_suffix = ["192.0.2.1"]'),
  ],
  [
    'a name that is a URL',
    ['unmatched-entry 10:16'],
    rules('domain_full = ["https://a.example/"]'),
  ],
  ['an empty keyword', ['unmatched-entry 10:19'], rules('domain_keyword = [""]')],
  [
    'a pattern with capital letters',
    ['unmatched-entry 10:17'],
    rules(`domain_regex = ['^Ads\\.']`),
  ],
  [
    'a pattern with classes and flags',
    [],
    rules(`domain_regex = ['^\\D[^A-Z]\\S\\p{Lu}$', '(?i)ADS', '(?P<Name>a)']`),
  ],
  ['an empty list', ['empty-list 11:8'], rules('network = "udp"\nport = []')],
  ['an empty list alone', ['empty-list 10:8'], rules('port = []')],
  [
    'full names outside of the suffixes beside them',
    ['rule-never-matches 11:15'],
    rules('domain_suffix = ["a.example"]\ndomain_full = ["b.example"]'),
  ],
  [
    'full names under a suffix',
    [],
    rules('domain_suffix = ["a.example"]\ndomain_full = ["b.a.example", "c.example"]'),
  ],
  // Rules that are not reached
  [
    'a rule after one without conditions',
    ['rule-never-matches 12:12'],
    rules('', 'port = ["1"]', 'port = ["2"]'),
  ],
  ['a last rule without conditions', [], rules('port = ["1"]', '')],
  [
    'rules after both networks',
    ['rule-never-matches 15:12'],
    rules('network = "tcp"', 'network = "udp"', 'port = ["1"]'),
  ],
  [
    'a rule with the conditions of an earlier one, in another order',
    ['rule-never-matches 13:12'],
    rules('port = ["1", "2"]\nnetwork = "tcp"', 'network = "tcp"\nport = ["2", "1"]'),
  ],
  [
    'a subdomain of an earlier suffix',
    ['rule-never-matches 12:12'],
    rules('domain_suffix = ["A.example."]', 'domain_full = ["x.y.a.example"]\nport = ["1"]'),
  ],
  [
    'a suffix that an earlier one is under',
    [],
    rules('domain_suffix = ["b.a.example"]', 'domain_suffix = ["a.example"]'),
  ],
  [
    'a suffix that ends with the letters of an earlier one',
    [],
    rules('domain_suffix = ["a.example"]', 'domain_suffix = ["ba.example"]'),
  ],
  [
    'a suffix of which an earlier rule takes part',
    [],
    rules('domain_suffix = ["a.example"]\nport = ["1"]', 'domain_suffix = ["a.example"]'),
  ],
  [
    'a suffix after one that matches nothing',
    ['unmatched-entry 10:18'],
    rules('domain_suffix = [".example"]', 'domain_suffix = ["a.example"]'),
  ],
  [
    'entries that several earlier rules take',
    ['rule-never-matches 15:12'],
    rules(
      'domain_full = ["a.example"]',
      'domain_suffix = ["b.example"]',
      'domain_full = ["a.example", "c.b.example"]',
    ),
  ],
  [
    'entries that earlier rules take in part',
    [],
    rules('domain_full = ["a.example"]', 'domain_full = ["a.example", "b.example"]'),
  ],
  [
    'a network in an earlier one',
    ['rule-never-matches 12:12'],
    rules('cidr = ["10.0.0.0/8"]', 'cidr = ["10.1.0.0/16", "10.2.3.4"]'),
  ],
  [
    'an IPv6 network in an earlier one',
    ['rule-never-matches 12:12'],
    rules('cidr = ["2001:db8::/31"]', 'cidr = ["2001:db9::/32"]'),
  ],
  ['a network around an earlier one', [], rules('cidr = ["10.1.0.0/16"]', 'cidr = ["10.0.0.0/8"]')],
  [
    'a source in an earlier destination',
    [],
    rules('cidr = ["10.0.0.0/8"]', 'source_cidr = ["10.1.0.0/16"]'),
  ],
  [
    'ports in two earlier ranges',
    ['rule-never-matches 12:12'],
    rules('port = ["80-90", "91 - 99"]', 'port = ["85-95"]'),
  ],
  ['ports beyond an earlier range', [], rules('port = ["80-90"]', 'port = ["85-95"]')],
  [
    'a keyword in another case',
    ['rule-never-matches 12:12'],
    rules('domain_keyword = ["ads"]', 'domain_keyword = ["ADS"]'),
  ],
  [
    'a keyword that has an earlier one in it',
    [],
    rules('domain_keyword = ["ads"]', 'domain_keyword = ["roads"]'),
  ],
  // [subscribe]
  ['a group with a rule', [], subscribing('media = "direct"'), GROUPS],
  [
    'a pick for a group that does not exist',
    ['pick-without-group 11:9'],
    subscribing('meda  = "direct"'),
    GROUPS,
  ],
  [
    'a group without a rule',
    ['unused-group 10:8'],
    subscribing(''),
    `${GROUPS}[[route_group]]\nname = "more"\n`,
  ],
  [
    'a group without a rule that another inherits',
    [],
    subscribing(''),
    `${GROUPS.replace('name = "media"', 'name = "media"\ninherit = { group = "more" }')}[[route_group]]\nname = "more"\n`,
  ],
  [
    'a rule of a group that repeats one of the configuration',
    [],
    `${subscribing('')}[[route.rule]]\noutbound = "direct"\ndomain_suffix = ["media.example"]\n`,
    GROUPS,
  ],
  [
    'groups after a rule without conditions',
    ['rule-never-matches 13:12'],
    `${subscribing('')}[[route.rule]]\noutbound = "direct"\n`,
    GROUPS,
  ],
];

describe('a warning is given for', () => {
  for (const [what, expected, text, subscribe] of ROWS.filter(([, ids]) => ids.length > 0)) {
    test(what, async () => {
      const warnings = await warningsOf(
        text,
        subscribe === undefined ? {} : { '/s.toml': subscribe },
      );
      assert.deepEqual(warnings.map(shown), expected);
    });
  }
});

describe('no warning is given for', () => {
  for (const [what, , text, subscribe] of ROWS.filter(([, ids]) => ids.length === 0)) {
    test(what, async () => {
      const warnings = await warningsOf(
        text,
        subscribe === undefined ? {} : { '/s.toml': subscribe },
      );
      assert.deepEqual(warnings.map(renderWarning), []);
    });
  }

  const folder = makeGeoFiles();
  after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of exampleFiles(folder)) {
    test(`the example ${name}`, async () => {
      const { warnings } = await load(text, new FileDigests());
      assert.deepEqual(warnings.map(renderWarning), []);
    });
  }

  test('the built-in configuration', async () => {
    assert.deepEqual(await warningsOf(DEFAULT_CONFIG), []);
  });
});

describe('the text of a warning', () => {
  const textsOf = async (text: string): Promise<string> =>
    (await warningsOf(text)).map(renderWarning).join('\n');

  test('is one line that begins with the place', async () => {
    assert.equal(
      await textsOf(rules('inbound_tag = ["sokcs"]')),
      '/etc/weir.toml:10:16: route.rule[0]: there is no inbound "sokcs"; did you mean "socks"?',
    );
  });

  test('names the line of the earlier rule or inbound', async () => {
    assert.match(
      await textsOf(rules('port = ["1"]', 'port = ["1"]')),
      /route\.rule\[0\] \(line 9\)/,
    );
    const both = pair('protocol = "socks"\nport = 1', 'protocol = "http"\nport = 1');
    assert.match(await textsOf(both), /inbound b listens where inbound a in line 7 does/);
  });

  test('shows no password', async () => {
    const text = ROWS.find(([what]) => what === 'a Trojan password twice')?.[2] ?? '';
    assert.doesNotMatch(await textsOf(text), /secret-word/);
  });

  test('has no control characters, whatever the tag', async () => {
    const text = `${DIRECT}[[inbound]]\ntag = "in\\u001b[2J"\nprotocol = "vless"\nport = 1\n`;
    assert.doesNotMatch(await textsOf(text), /\p{Cc}/u);
  });

  test('suggests the level that was meant', async () => {
    for (const [word, level] of [
      ['warning', 'warn'],
      ['inof', 'info'],
      ['verbose', 'debug'],
    ]) {
      assert.match(
        await textsOf(`[log]\nlevel = "${word}"\n${DIRECT}`),
        new RegExp(`mean "${level}"`),
      );
    }
  });
});

test('of many warnings the first fifty are given, and the number of the rest', async () => {
  const many = Array.from({ length: 1234 }, (_, index) => `inbound_tag = ["missing-${index}"]`);
  const warnings = await warningsOf(rules(...many));
  assert.equal(warnings.length, 51);
  assert.deepEqual(
    warnings.slice(0, 50).map(({ location }) => location?.line),
    Array.from({ length: 50 }, (_, index) => 10 + 3 * index),
  );
  assert.equal(warnings.at(-1)?.message, '1184 more warnings are not shown');
});

describe('a certificate of a server', () => {
  const good = new TestAuthority().issue({ dns: ['a.example'] });
  const expired = new TestAuthority().issue({ dns: ['a.example'], expired: true });
  const nameless = new TestAuthority().issue({});
  const files = {
    '/good.pem': good.cert,
    '/good.key': good.key,
    '/public.key': good.key,
    '/expired.pem': expired.cert,
    '/expired.key': expired.key,
    '/nameless.pem': nameless.cert,
    '/nameless.key': nameless.key,
  };
  const tls = (cert: string, key: string): string =>
    `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "http"\nport = 443\nsettings.accounts = [{ user = "u", pass = "p" }]\nstream = { network = "tls", tls = { cert_file = "${cert}", key_file = "${key}" } }\n`;
  const hysteria2 = (cert: string, key: string): string =>
    `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "hysteria2"\nport = 443\n[inbound.settings]\npassword = "p"\ncert_file = "${cert}"\nkey_file = "${key}"\n`;
  const day = (text: string): number => Date.parse(`${text}T00:00:00Z`);
  // The certificates of tests are valid until the end of 2049, expired ones until 2021.
  const CASES: readonly (readonly [what: string, string, string, number, RegExp | undefined])[] = [
    ['is not warned of while it is valid', '/good.pem', '/good.key', day('2049-12-17'), undefined],
    [
      'is warned of 14 days before its end',
      '/good.pem',
      '/good.key',
      day('2049-12-19'),
      /expires on 2049-12-31$/,
    ],
    [
      'is warned of when it has expired',
      '/expired.pem',
      '/expired.key',
      day('2026-11-23'),
      /has expired on 2021-01-01: clients refuse it$/,
    ],
    [
      'is warned of before it is valid',
      '/good.pem',
      '/good.key',
      day('2019-12-31'),
      /is valid from 2020-01-01 on/,
    ],
    [
      'is warned of without a subjectAltName',
      '/nameless.pem',
      '/nameless.key',
      day('2026-11-23'),
      /has no subjectAltName/,
    ],
    [
      'is warned of when every user can read its key',
      '/good.pem',
      '/public.key',
      day('2026-11-23'),
      /every user of this machine can read the private key "\/public\.key": chmod o-r$/,
    ],
  ];
  for (const [what, cert, key, now, expected] of CASES) {
    for (const [where, text] of [
      ['a stream', tls(cert, key)],
      ['Hysteria 2', hysteria2(cert, key)],
    ] as const) {
      test(`${what}, in ${where}`, async () => {
        const { warnings } = await load(text, fakeFiles(files), '/etc/weir.toml', now);
        const messages = warnings.map(renderWarning);
        assert.equal(messages.length, expected === undefined ? 0 : 1, messages.join('\n'));
        if (expected !== undefined) assert.match(messages[0] ?? '', expected);
      });
    }
  }
});
