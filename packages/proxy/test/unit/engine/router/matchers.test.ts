import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GeoData } from '../../../../src/engine/geo/geo-data.ts';
import type { MatcherKey } from '../../../../src/engine/router/conditions.ts';
import { matcherEntries, matcherTexts } from '../../../../src/engine/router/explain.ts';
import type { RouteQuery } from '../../../../src/engine/router/query.ts';
import { Router } from '../../../../src/engine/router/router.ts';
import { domainList, packNames } from '../../../../src/engine/router/tables/domain-list.ts';
import { packNetworks } from '../../../../src/engine/router/tables/network-list.ts';
import { RegexCache } from '../../../../src/engine/router/tables/regex-set.ts';
import type { RuleSpec } from '../../../../src/spec.ts';
import { cidr, port, query, rule } from '../../../../../../test/support/engine/router/rules.ts';

const regexes = new RegexCache();
const german = packNetworks([cidr('192.0.2.0/24')]);

const GEO: GeoData = {
  geosite: new Map([
    ['shop', domainList({ suffix: packNames(['shop.example']) })],
    ['shop@ads', domainList({})],
  ]),
  geoip: new Map([
    ['de', { networks: german, inverse: false }],
    ['abroad', { networks: german, inverse: true }],
  ]),
};

const matches = (spec: RuleSpec, asked: Partial<RouteQuery>): boolean =>
  new Router({ default: '', rules: [spec] }, { regexes, geo: GEO }).route(query(asked)).rule === 0;

/** Of each matcher: two entries, their texts, and what each of them alone matches. */
const MATCHERS: readonly (readonly [
  MatcherKey,
  Partial<RuleSpec>,
  readonly (readonly [text: string, asked: Partial<RouteQuery>])[],
])[] = [
  [
    'domain_full',
    { domainFull: ['a.example', 'b.example'] },
    [
      ['a.example', { host: 'a.example' }],
      ['b.example', { host: 'b.example' }],
    ],
  ],
  [
    'domain_suffix',
    { domainSuffix: ['a.example', 'b.example'] },
    [
      ['a.example', { host: 'x.a.example' }],
      ['b.example', { host: 'b.example' }],
    ],
  ],
  [
    'domain_keyword',
    { domainKeyword: ['one', 'two'] },
    [
      ['one', { host: 'phone.example' }],
      ['two', { host: 'network.example' }],
    ],
  ],
  [
    'domain_regex',
    { domainRegex: ['^a', '^b'] },
    [
      ['^a', { host: 'a.example' }],
      ['^b', { host: 'b.example' }],
    ],
  ],
  [
    'geosite',
    {
      geosite: [
        { code: 'SHOP', attribute: 'ads' },
        { code: 'SHOP', attribute: undefined },
      ],
    },
    [
      ['shop@ads', { host: 'nowhere.example' }],
      ['shop', { host: 'www.shop.example' }],
    ],
  ],
  [
    'cidr',
    { cidr: [cidr('192.0.2.0/24'), cidr('2001:db8::/32')] },
    [
      ['192.0.2.0/24', { host: '192.0.2.1' }],
      ['2001:db8::/32', { host: '2001:db8::1' }],
    ],
  ],
  [
    'geoip',
    {
      geoip: [
        { code: 'de', negate: false },
        { code: 'de', negate: true },
      ],
    },
    [
      ['de', { host: '192.0.2.1' }],
      ['!de', { host: '198.51.100.1' }],
    ],
  ],
  [
    'source_cidr',
    { sourceCidr: [cidr('192.0.2.1'), cidr('10.0.0.0/8')] },
    [
      ['192.0.2.1/32', { source: '192.0.2.1' }],
      ['10.0.0.0/8', { source: '10.1.2.3' }],
    ],
  ],
  [
    'port',
    { port: [port(80), port(1000, 2000)] },
    [
      ['80', { port: 80 }],
      ['1000-2000', { port: 2000 }],
    ],
  ],
  [
    'inbound_tag',
    { inboundTag: ['one', 'two'] },
    [
      ['one', { inbound: 'one' }],
      ['two', { inbound: 'two' }],
    ],
  ],
  ['network', { network: 'udp' }, [['udp', { network: 'udp' }]]],
];

describe('each entry of a matcher', () => {
  for (const [key, parts, expected] of MATCHERS) {
    test(`is a rule of its own: ${key}`, () => {
      const spec = rule(parts);
      const texts = expected.map(([text]) => text);
      assert.deepEqual(matcherTexts(spec, key), texts);
      const entries = matcherEntries(spec, key);
      assert.deepEqual(
        entries.map(({ text }) => text),
        texts,
      );
      for (const [index, [text, asked]] of expected.entries()) {
        // A list without an entry, as that of an attribute no domain has, matches nothing.
        const isEmpty = text === 'shop@ads';
        for (const [other, entry] of entries.entries()) {
          assert.equal(matches(entry.rule, asked), other === index && !isEmpty, `${text} ${other}`);
        }
        assert.equal(matches(spec, asked), !isEmpty, text);
      }
    });
  }

  test('is none where a rule has no network', () => {
    assert.deepEqual(matcherEntries(rule({}), 'network'), []);
  });
});

describe('lists of geo files in rules', () => {
  test('match addresses inside or outside of their networks, and never a name', () => {
    const inside = { host: '192.0.2.9' };
    const outside = { host: '198.51.100.9' };
    for (const [code, negate, matching, other] of [
      ['de', false, inside, outside],
      ['de', true, outside, inside],
      ['ABROAD', false, outside, inside],
      ['abroad', true, inside, outside],
    ] as const) {
      const spec = rule({ geoip: [{ code, negate }] });
      assert.equal(matches(spec, matching), true, `${code} ${negate}`);
      assert.equal(matches(spec, other), false, `${code} ${negate}`);
      assert.equal(matches(spec, { host: 'a.example' }), false, `${code} ${negate}, a name`);
    }
  });

  test('are alternatives: a rule with an empty list beside another one still matches', () => {
    const both = rule({
      geosite: [
        { code: 'shop', attribute: 'ads' },
        { code: 'shop', attribute: undefined },
      ],
    });
    assert.equal(matches(both, { host: 'shop.example' }), true);
    const none = rule({ geosite: [{ code: 'shop', attribute: 'ads' }] });
    assert.equal(matches(none, { host: 'shop.example' }), false);
  });

  test('have to be loaded', () => {
    const spec = rule({ geosite: [{ code: 'other', attribute: undefined }] });
    assert.throws(() => matches(spec, {}), /geosite other was not loaded/);
    const missing = rule({ geoip: [{ code: 'US', negate: false }] });
    assert.throws(() => matches(missing, {}), /geoip US was not loaded/);
  });
});

test('rules with long lists keep each its own', () => {
  const names = Array.from({ length: 300 }, (_, i) => `n${i}.example`);
  const rules = [
    rule({ domainFull: names }),
    rule({ domainSuffix: names }),
    rule({ domainFull: names.slice(1) }),
  ];
  const router = new Router({ default: '', rules }, { regexes });
  assert.equal(router.route(query({ host: 'n0.example' })).rule, 0);
  assert.equal(router.route(query({ host: 'x.n0.example' })).rule, 1);
  assert.equal(router.route(query({ host: 'x.example' })).rule, undefined);
});
