import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegexCache, RegexError } from '../../../../src/engine/router/tables/regex-set.ts';
import { buildRouterTables } from '../../../../src/engine/router/tables/router-tables.ts';
import type { RouteQuery } from '../../../../src/engine/router/query.ts';
import { Router } from '../../../../src/engine/router/router.ts';
import type { RuleSpec } from '../../../../src/spec.ts';
import { cidr, port, query, rule } from '../../../../../../test/support/engine/router/rules.ts';

const router = (...rules: Partial<RuleSpec>[]): Router =>
  new Router(
    { default: 'default', rules: rules.map((matchers) => rule(matchers)) },
    { regexes: new RegexCache() },
  );

/** Whether a rule with these matchers takes a flow. */
const takes = (matchers: Partial<RuleSpec>, parts: Partial<RouteQuery>): boolean =>
  router(matchers).route(query(parts)).rule === 0;

const CASES: [string, Partial<RuleSpec>, Partial<RouteQuery>[], Partial<RouteQuery>[]][] = [
  ['without matchers', {}, [{}, { host: '192.0.2.1' }, { source: undefined }], []],
  [
    'with domain_suffix',
    { domainSuffix: ['example.com', 'ORG'] },
    [
      { host: 'example.com' },
      { host: 'a.b.example.com' },
      { host: 'EXAMPLE.com' },
      { host: 'example.com.' },
      { host: 'any.org' },
      { host: 'org' },
      { host: '192.0.2.1', sniffed: 'www.example.com' },
    ],
    [
      { host: 'notexample.com' },
      { host: 'example.com.evil' },
      { host: 'com' },
      { host: 'example.com..' },
      { host: '192.0.2.1' },
      { host: '192.0.2.1', sniffed: 'example.net' },
    ],
  ],
  [
    'with a leading dot in domain_suffix',
    { domainSuffix: ['.example.com', ''] },
    [],
    [{ host: 'example.com' }, { host: 'a.example.com' }, { host: 'a..example.com' }],
  ],
  [
    'with domain_full',
    { domainFull: ['Example.com', 'bücher.example'] },
    [{ host: 'example.com' }, { host: 'example.COM.' }, { host: 'BÜCHER.example' }],
    [{ host: 'a.example.com' }, { host: 'com' }, { host: 'a.bücher.example' }],
  ],
  [
    'with domain_keyword',
    { domainKeyword: ['oog', 'X.y'] },
    [{ host: 'google.com' }, { host: 'OOG' }, { host: 'ax.yb' }],
    [{ host: 'gogle.com' }, { host: 'axzyb' }, { host: '192.0.2.1' }],
  ],
  ['with an empty domain_keyword', { domainKeyword: [''] }, [{}], [{ host: '192.0.2.1' }]],
  [
    'with domain_regex',
    { domainRegex: ['^ads?[0-9]*\\.', 'x$'] },
    [{ host: 'ad12.example' }, { host: 'ADS.example' }, { host: 'box' }, { host: 'box.' }],
    [{ host: 'my.ads.example' }, { host: 'x.example' }, { host: '192.0.2.1' }],
  ],
  [
    'with an upper-case domain_regex, which is not lower-cased',
    { domainRegex: ['^A'] },
    [],
    [{ host: 'A.example' }, { host: 'a.example' }],
  ],
  [
    'with cidr',
    { cidr: ['192.0.2.0/24', '10.1.2.3', '2001:db8::/32', '::1'].map(cidr) },
    [
      { host: '192.0.2.0' },
      { host: '192.0.2.255' },
      { host: '::ffff:192.0.2.7' },
      { host: '::ffff:c000:0207' },
      { host: '10.1.2.3' },
      { host: '2001:db8:ffff::1' },
      { host: '::1' },
      { host: '192.0.2.1', sniffed: 'example.com' },
    ],
    [
      { host: '192.0.1.255' },
      { host: '192.0.3.0' },
      { host: '10.1.2.4' },
      { host: '2001:db9::' },
      { host: '::2' },
      { host: 'example.com' },
      { host: '192.0.2.1.example' },
    ],
  ],
  [
    'with the whole of IPv4 in cidr',
    { cidr: [cidr('0.0.0.0/0')] },
    [{ host: '0.0.0.0' }, { host: '255.255.255.255' }, { host: '::ffff:1.2.3.4' }],
    [{ host: '::' }, { host: 'example.com' }],
  ],
  [
    'with the whole of IPv6 in cidr',
    { cidr: [cidr('::/0')] },
    [{ host: '::' }, { host: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff' }, { host: 'fe80::1%eth0' }],
    [{ host: '1.2.3.4' }, { host: '::ffff:1.2.3.4' }],
  ],
  [
    'with a network of mapped addresses in cidr',
    { cidr: [cidr('::ffff:192.0.2.0/120')] },
    [{ host: '192.0.2.9' }, { host: '::ffff:192.0.2.9' }],
    [{ host: '192.0.3.9' }],
  ],
  [
    'with source_cidr',
    { sourceCidr: [cidr('192.168.0.0/16'), cidr('fd00::/8')] },
    [{ source: '192.168.3.4' }, { source: '::ffff:192.168.3.4' }, { source: 'fd12::1' }],
    [{ source: '192.169.0.0' }, { source: undefined }, { source: 'fe00::' }],
  ],
  [
    'with port',
    { port: [port(0), port(80), port(1000, 2047), port(65535)] },
    [0, 80, 1000, 1500, 2047, 65535].map((number) => ({ port: number })),
    [1, 79, 81, 999, 2048, 65534].map((number) => ({ port: number })),
  ],
  [
    'with every port',
    { port: [port(0, 65535)] },
    [0, 1, 65535].map((number) => ({ port: number })),
    [],
  ],
  ['with network', { network: 'udp' }, [{ network: 'udp' }], [{ network: 'tcp' }]],
  [
    'with inbound_tag',
    { inboundTag: ['a', 'B'] },
    [{ inbound: 'a' }, { inbound: 'B' }],
    [{ inbound: 'A' }, { inbound: '' }],
  ],
  [
    'with matchers of several kinds',
    { domainSuffix: ['example.com'], cidr: [cidr('192.0.2.0/24')], port: [port(443)] },
    [{ host: '192.0.2.1', sniffed: 'example.com' }],
    [
      { host: 'example.com' },
      { host: '192.0.2.1' },
      { host: '192.0.3.1', sniffed: 'example.com' },
      { host: '192.0.2.1', sniffed: 'example.com', port: 80 },
    ],
  ],
  [
    'with domain_suffix in another script',
    { domainSuffix: ['bücher.example', '.рф'] },
    [{ host: 'xn--bcher-kva.example' }, { host: 'a.xn--bcher-kva.example' }],
    [{ host: 'bcher-kva.example' }, { host: 'a.xn--p1ai' }],
  ],
  [
    'with domain_keyword in another script',
    { domainKeyword: ['Büch', 'ＡＤＳ'] },
    [{ host: 'a.xn--bcher-kva.example' }, { host: 'ads.example' }],
    [{ host: 'buch.example' }, { host: 'xn--p1ai' }],
  ],
  [
    'with domain_regex in another script',
    { domainRegex: ['^bücher\\.', '^xn--p1'] },
    [{ host: 'xn--bcher-kva.example' }, { host: 'xn--p1ai' }],
    [{ host: 'a.xn--bcher-kva.example' }],
  ],
  [
    'with two domain matchers',
    { domainSuffix: ['example.com'], domainKeyword: ['ads'] },
    [{ host: 'ads.example.com' }],
    [{ host: 'www.example.com' }, { host: 'ads.example.net' }],
  ],
];
for (const [what, matchers, taken, left] of CASES) {
  test(`a rule ${what} takes what it should and nothing else`, () => {
    for (const parts of taken) assert.ok(takes(matchers, parts), JSON.stringify(parts));
    for (const parts of left) assert.ok(!takes(matchers, parts), JSON.stringify(parts));
  });
}

test('the first rule in file order decides, whichever table finds it', () => {
  const rules = router(
    { outbound: 'a', port: [port(25)] },
    { outbound: 'b', domainSuffix: ['example.com'], port: [port(80)] },
    { outbound: 'c', domainKeyword: ['exam'] },
    { outbound: 'd', domainFull: ['example.com'] },
    { outbound: 'e' },
    { outbound: 'f', domainSuffix: ['org'] },
  );
  const decide = (parts: Partial<RouteQuery>) => rules.route(query(parts));
  assert.deepEqual(decide({ port: 25 }), { outbound: 'a', rule: 0 });
  assert.deepEqual(decide({ port: 80 }), { outbound: 'b', rule: 1 });
  assert.deepEqual(decide({}), { outbound: 'c', rule: 2 });
  assert.deepEqual(decide({ host: 'a.org' }), { outbound: 'e', rule: 4 });
});

test('a rule is found beside rules that share a list which the flow is not in', () => {
  const rules = router(
    { domainSuffix: ['a'], port: [port(25)] },
    { domainSuffix: ['b'] },
    {},
    { domainSuffix: ['a'] },
  );
  assert.equal(rules.route(query({ host: 'b' })).rule, 1);
});

test('a router of tables that were built before decides as one of the rules', () => {
  const rules = [rule({ domainRegex: ['^a'] }), rule({ cidr: [cidr('192.0.2.0/24')] })];
  const tables = buildRouterTables({ default: 'default', rules }, undefined);
  const regexes = new RegexCache();
  const built = new Router(tables, { regexes });
  const compiled = new Router(tables, { regexes, compiled: regexes.compile(['^a']) });
  for (const host of ['a.example', 'b.example', '192.0.2.1']) {
    const decision = new Router({ default: 'default', rules }, { regexes }).route(query({ host }));
    assert.deepEqual(built.route(query({ host })), decision);
    assert.deepEqual(compiled.route(query({ host })), decision);
  }
});

test('the same entries have the meaning of their own matcher', () => {
  const rules = router({ domainFull: ['a'] }, { domainSuffix: ['a'] }, { domainKeyword: ['a'] });
  const decide = (host: string) => rules.route(query({ host })).rule;
  assert.deepEqual(['a', 'b.a', 'ba'].map(decide), [0, 1, 2]);
});

test('what no rule takes goes to the default, with no rule', () => {
  const decision = router({ port: [port(25)] }).route(query({}));
  assert.deepEqual(decision, { outbound: 'default', rule: undefined });
});

test('an answer does not depend on the query before it', () => {
  const rules = router({ domainSuffix: ['a'] }, { cidr: [cidr('192.0.2.0/24')] });
  for (let i = 0; i < 3; i++) {
    assert.equal(rules.route(query({ host: 'a' })).rule, 0);
    assert.equal(rules.route(query({ host: 'b' })).rule, undefined);
    assert.equal(rules.route(query({ host: '192.0.2.1' })).rule, 1);
    assert.equal(rules.route(query({ host: '192.0.2.1', sniffed: 'a' })).rule, 0);
  }
});

test('a name of any length is matched', () => {
  const long = `${'a'.repeat(3000)}.example.com`;
  assert.ok(takes({ domainSuffix: ['example.com'] }, { host: long }));
  assert.ok(takes({ domainKeyword: ['a.exam'] }, { host: long }));
  assert.ok(!takes({ domainSuffix: ['example.org'] }, { host: long }));
});

test('an invalid regular expression is named', () => {
  assert.throws(
    () => router({ domainRegex: ['ok', '('] }),
    (error) => error instanceof RegexError && error.pattern === '(',
  );
});

const NEEDS: [string, Partial<RuleSpec>[], Partial<RouteQuery>, boolean][] = [
  ['no rule has a domain matcher', [{ port: [port(443)] }], {}, false],
  ['there are no rules', [], {}, false],
  ['a domain rule comes first', [{ domainSuffix: ['a'] }], {}, true],
  ['the destination is a name', [{ domainSuffix: ['a'] }], { host: 'b' }, false],
  ['a name was sniffed already', [{ domainSuffix: ['a'] }], { sniffed: 'b' }, false],
  [
    'a rule decides before the domain rule',
    [{ port: [port(443)] }, { domainFull: ['a'] }],
    {},
    false,
  ],
  ['the domain rule comes before', [{ domainFull: ['a'] }, { port: [port(443)] }], {}, true],
  ['the domain rule wants another port', [{ domainKeyword: ['a'], port: [port(80)] }], {}, false],
  ['the domain rule wants this port', [{ domainRegex: ['a'], port: [port(443)] }], {}, true],
  [
    'the domain rule wants another network',
    [
      { domainSuffix: ['a'], cidr: [cidr('10.0.0.0/8')] },
      { domainSuffix: ['a'], network: 'udp' },
    ],
    {},
    false,
  ],
  ['the domain rule can match no name', [{ domainSuffix: ['.a'] }], {}, false],
];
for (const [what, rules, parts, needed] of NEEDS) {
  test(`a name is ${needed ? '' : 'not '}needed when ${what}`, () => {
    assert.equal(router(...rules).needsDomain(query({ host: '192.0.2.1', ...parts })), needed);
  });
}
