import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  DIRECT,
  errorOf,
  inbound,
  rule,
  ruleOf,
  specOf,
  refuses,
  type Row,
} from '../../../../test/support/config/support.ts';

const SOCKS = 'protocol = "socks"\n';
const PORT = 'port = 1\n';

const ROUTE: readonly Row[] = [
  [
    'a default that does not exist',
    `${DIRECT}[route]\ndefault = "proxy"`,
    'route references unknown outbound tag: proxy',
    '5:11 (route)',
  ],
  [
    'an outbound of a rule that does not exist',
    `${rule('')}[[route.rule]]\noutbound = "Direct"`,
    'route references unknown outbound tag: Direct',
    '8:12 (route.rule[1])',
  ],
  [
    'an inbound as the outbound of a rule',
    `${inbound(`${SOCKS}${PORT}`)}[[route.rule]]\noutbound = "in"`,
    'route references unknown outbound tag: in',
    '10:12 (route.rule[0])',
  ],
  [
    'a regular expression that is none',
    rule('domain_regex = ["^ok$", "(a"]'),
    'invalid domain regex (a: regex parse error:\n    (a\n    ^\nerror: unclosed group',
    '6:25 (route.rule[0])',
  ],
  [
    'what the dialect of Rust does not have',
    rule(String.raw`domain_regex = ['(?=a)']`),
    'invalid domain regex (?=a): regex parse error:\n    (?=a)\n    ^^^\n' +
      'error: look-around, including look-ahead and look-behind, is not supported',
    '6:17 (route.rule[0])',
  ],
  [
    'a network with the bits of a host',
    rule('cidr = ["10.0.0.0/8", "10.1.2.3/8"]'),
    'invalid cidr 10.1.2.3/8: host part of address was not zero',
    '6:23 (route.rule[0])',
  ],
  [
    'a source network with the bits of a host',
    rule('source_cidr = ["fd00::1/8"]'),
    'invalid cidr fd00::1/8: host part of address was not zero',
    '6:16 (route.rule[0])',
  ],
  [
    'a network that is none',
    rule('cidr = ["example.com"]'),
    "invalid cidr example.com: couldn't parse address in network: invalid IP address syntax",
    '6:9 (route.rule[0])',
  ],
  [
    'a prefix that is too long',
    rule('cidr = ["10.0.0.0/33"]'),
    'invalid cidr 10.0.0.0/33: invalid length for network: Network length 33 is too long for Ipv4 (maximum: 32)',
    '6:9 (route.rule[0])',
  ],
  [
    'a range of ports that runs backwards',
    rule('port = ["443", "90-80"]'),
    'invalid port spec: 90-80 has a lower bound above its upper bound',
    '6:16 (route.rule[0])',
  ],
  [
    'a port that is none',
    rule('port = ["http"]'),
    'invalid port spec: http: expected <port> or <low>-<high>',
    '6:9 (route.rule[0])',
  ],
  [
    'a port of 17 bits',
    rule('port = ["65536"]'),
    'invalid port spec: 65536: a port is at most 65535',
    '6:9 (route.rule[0])',
  ],
  [
    'an unknown network',
    rule('network = "icmp"'),
    'invalid rule network icmp (expected tcp or udp)',
    '6:11 (route.rule[0])',
  ],
  [
    'a network in upper case',
    rule('network = "TCP"'),
    'invalid rule network TCP (expected tcp or udp)',
    '6:11 (route.rule[0])',
  ],
];

describe('a route is refused for', () => refuses(ROUTE));

const BLOCK = '[[outbound]]\ntag = "block"\nprotocol = "blackhole"\n';

describe('a route', () => {
  test('without a table goes to the first outbound', () => {
    assert.deepEqual(specOf(BLOCK + DIRECT).route, {
      default: 'block',
      rules: [],
      geoip: undefined,
      geosite: undefined,
    });
  });

  test('may name its default', () => {
    assert.equal(specOf(`${BLOCK}${DIRECT}[route]\ndefault = "direct"`).route.default, 'direct');
  });

  test('makes the built-in outbounds that it names, after those of the file', () => {
    const { outbounds, route } = specOf(
      `${BLOCK}[route]\ndefault = "direct"\n[[route.rule]]\noutbound = "blackhole"\n`,
    );
    const names = outbounds.map(({ tag, protocol }) => `${tag}: ${protocol}`);
    assert.deepEqual(names, ['block: blackhole', 'direct: freedom', 'blackhole: blackhole']);
    assert.equal(route.default, 'direct');
  });

  test('that names a built-in as its default needs no outbound of the file', () => {
    const { outbounds, route } = specOf('[route]\ndefault = "direct"');
    assert.deepEqual(
      outbounds.map(({ tag }) => tag),
      ['direct'],
    );
    assert.equal(route.default, 'direct');
  });

  test('does not take a built-in that only a rule names for its default', () => {
    const { message } = errorOf('[[route.rule]]\noutbound = "direct"');
    assert.equal(message, 'config defines no outbounds');
  });

  test('means the outbound of the file that carries the name of a built-in', () => {
    const text =
      '[[outbound]]\ntag = "direct"\nprotocol = "blackhole"\n[route]\ndefault = "direct"';
    assert.deepEqual(
      specOf(text).outbounds.map(({ protocol }) => protocol),
      ['blackhole'],
    );
  });

  test('makes no built-in that it does not name', () => {
    assert.equal(specOf(BLOCK).outbounds.length, 1);
  });
});

describe('a rule', () => {
  test('without matchers has empty lists', () => {
    assert.deepEqual(ruleOf(''), {
      outbound: 'direct',
      domainSuffix: [],
      domainKeyword: [],
      domainFull: [],
      domainRegex: [],
      cidr: [],
      sourceCidr: [],
      port: [],
      network: undefined,
      inboundTag: [],
      geosite: [],
      geoip: [],
    });
  });

  test('has domains in lower case, and regular expressions as written', () => {
    const rule = ruleOf(String.raw`
domain_suffix = ["Example.COM", ".example.org"]
domain_keyword = ["Ads"]
domain_full = ["WWW.Example.com"]
domain_regex = ['^\D+\.example$']
`);
    assert.deepEqual(rule.domainSuffix, ['example.com', '.example.org']);
    assert.deepEqual(rule.domainKeyword, ['ads']);
    assert.deepEqual(rule.domainFull, ['www.example.com']);
    assert.deepEqual(rule.domainRegex, [String.raw`^\D+\.example$`]);
  });

  test('has networks, hosts and ports as numbers', () => {
    const rule = ruleOf('cidr = ["10.0.0.0/8", "2001:DB8::1"]\nport = ["443", " 80 - 90 "]');
    assert.deepEqual(rule.cidr, [
      { address: '10.0.0.0', prefix: 8 },
      { address: '2001:db8::1', prefix: 128 },
    ]);
    assert.deepEqual(rule.port, [
      { low: 443, high: 443 },
      { low: 80, high: 90 },
    ]);
  });

  test('keeps tags of inbounds as written, whether they exist or not', () => {
    assert.deepEqual(ruleOf('inbound_tag = ["LAN", "nobody"]').inboundTag, ['LAN', 'nobody']);
  });

  test('may be for one network', () => {
    assert.equal(ruleOf('network = "udp"').network, 'udp');
  });

  test('stands where the file has it', () => {
    const rules = ['a', 'b', 'c'].map(
      (name) => `[[route.rule]]\noutbound = "direct"\ndomain_full = ["${name}"]\n`,
    );
    const { route } = specOf(DIRECT + rules.join(''));
    assert.deepEqual(
      route.rules.map(({ domainFull }) => domainFull[0]),
      ['a', 'b', 'c'],
    );
  });
});
