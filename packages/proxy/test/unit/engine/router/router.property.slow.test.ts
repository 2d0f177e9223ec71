import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { GeoData } from '../../../../src/engine/geo/geo-data.ts';
import { type MatcherKey, MATCHERS } from '../../../../src/engine/router/conditions.ts';
import {
  matcherEntries,
  type PassedRule,
  RouteExplainer,
} from '../../../../src/engine/router/explain.ts';
import { domainList, packNames } from '../../../../src/engine/router/tables/domain-list.ts';
import { packNetworks } from '../../../../src/engine/router/tables/network-list.ts';
import { RegexCache } from '../../../../src/engine/router/tables/regex-set.ts';
import type { RouteQuery } from '../../../../src/engine/router/query.ts';
import { Router } from '../../../../src/engine/router/router.ts';
import type { CidrSpec, RoutingSpec, RuleSpec } from '../../../../src/spec.ts';
import {
  type PlainGeo,
  referenceNeedsDomain,
  referenceRoute,
} from '../../../../../../test/support/engine/router/reference.ts';
import { cidr, rule } from '../../../../../../test/support/engine/router/rules.ts';

// Few labels, addresses and ports, so that rules and queries meet all the time.
const label = fc.constantFrom('a', 'b', 'ab', 'ba', 'é');
const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
const entry = fc.oneof(
  { weight: 8, arbitrary: name },
  { weight: 1, arbitrary: fc.constantFrom('', '.a', '.a.b', 'B.A') },
);
const pattern = fc.constantFrom('^a\\.', 'b$', 'a.b', '^(ab|b)+$', 'é');
const address = fc.constantFrom(
  '10.0.0.0',
  '10.0.0.1',
  '10.0.255.255',
  '10.1.0.0',
  '255.255.255.255',
  '0.0.0.0',
  '::ffff:10.0.0.1',
  '::',
  '2001:db8::',
  '2001:db8::1',
  '2001:db8:0:0:8000::',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
);
const NETWORKS =
  '0.0.0.0/0 10.0.0.0/8 10.0.0.0/16 10.0.0.0/31 10.0.0.1 255.255.255.255 128.0.0.0/1 ' +
  '::/0 2001:db8::/32 2001:db8::/64 2001:db8::/65 2001:db8::1 8000::/1 ' +
  '2001:db8:0:0:8000::/65 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff';
const network: fc.Arbitrary<CidrSpec> = fc.constantFrom(...NETWORKS.split(' ').map(cidr));
const portNumber = fc.constantFrom(0, 1, 2, 3, 1023, 1024, 65534, 65535);
const range = fc.tuple(portNumber, portNumber).map(([a, b]) => ({
  low: Math.min(a, b),
  high: Math.max(a, b),
}));
const tag = fc.constantFrom('in', 'IN', 'other');

/** Some entries, more often none: rules should have one to three matchers. */
const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant<T[]>([]) },
    { weight: 2, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength: 4 }) },
  );

const domains = { domainSuffix: some(entry), domainFull: some(entry), domainKeyword: some(entry) };

const anyRule: fc.Arbitrary<RuleSpec> = fc
  .record({
    ...domains,
    outbound: fc.constantFrom('x', 'y'),
    domainRegex: some(pattern),
    cidr: some(network),
    sourceCidr: some(network),
    port: some(range),
    network: fc.constantFrom(undefined, undefined, undefined, 'tcp' as const, 'udp' as const),
    inboundTag: some(tag),
    geosite: some(
      fc.record({ code: fc.constantFrom('p', 'q'), attribute: fc.constantFrom(undefined, 'z') }),
    ),
    geoip: some(fc.record({ code: fc.constantFrom('p', 'q'), negate: fc.boolean() })),
  })
  .map((matchers) => rule(matchers));

const anySpec: fc.Arbitrary<RoutingSpec> = fc.record({
  default: fc.constant('default'),
  rules: fc.array(anyRule, { maxLength: 12 }),
});

const anyQuery: fc.Arbitrary<RouteQuery> = fc.record({
  inbound: tag,
  source: fc.option(address, { nil: undefined }),
  network: fc.constantFrom('tcp', 'udp'),
  host: fc.oneof(
    name,
    address,
    name.map((text) => `${text.toUpperCase()}.`),
  ),
  port: portNumber,
  sniffed: fc.option(name, { nil: undefined }),
});

const geoEntries = fc.record({ ...domains, domainRegex: some(pattern) });
const anyGeo: fc.Arbitrary<PlainGeo> = fc.record({
  geosite: fc.record({ p: geoEntries, q: geoEntries, 'p@z': geoEntries, 'q@z': fc.constant({}) }),
  geoip: fc.record({
    p: fc.array(network, { maxLength: 5 }),
    q: fc.array(network, { maxLength: 5 }),
  }),
});

function packGeo({ geosite, geoip }: PlainGeo): GeoData {
  return {
    geosite: new Map(
      Object.entries(geosite).map(([key, list]) => [
        key,
        domainList({
          suffix: packNames(list.domainSuffix ?? []),
          full: packNames(list.domainFull ?? []),
          keyword: list.domainKeyword ?? [],
          regex: list.domainRegex ?? [],
        }),
      ]),
    ),
    geoip: new Map(
      Object.entries(geoip).map(([code, cidrs]) => [
        code,
        { networks: packNetworks(cidrs), inverse: false },
      ]),
    ),
  };
}

/** One for all runs, as one serves all reloads. */
const regexes = new RegexCache();

test('any rules decide any query as a plain evaluation of every rule does', () => {
  fc.assert(
    fc.property(anySpec, anyGeo, fc.array(anyQuery, { minLength: 5 }), (spec, geo, queries) => {
      const router = new Router(spec, { regexes, geo: packGeo(geo) });
      for (const query of queries) {
        assert.deepEqual(router.route(query), referenceRoute(lowered(spec), query, lowerGeo(geo)));
      }
    }),
    { numRuns: 600 },
  );
});

test('a name is asked for exactly when a rule that only lacks one comes first', () => {
  fc.assert(
    fc.property(anySpec, anyGeo, fc.array(anyQuery, { minLength: 5 }), (spec, geo, queries) => {
      const router = new Router(spec, { regexes, geo: packGeo(geo) });
      for (const query of queries) {
        const expected = referenceNeedsDomain(lowered(spec), query, lowerGeo(geo));
        assert.equal(router.needsDomain(query), expected);
      }
    }),
    { numRuns: 400 },
  );
});

test('where no name is asked for, none changes the decision', () => {
  fc.assert(
    fc.property(anySpec, anyGeo, fc.array(fc.tuple(anyQuery, name)), (spec, geo, cases) => {
      const router = new Router(spec, { regexes, geo: packGeo(geo) });
      for (const [query, sniffed] of cases) {
        const blind = { ...query, sniffed: undefined };
        if (router.needsDomain(blind)) continue;
        assert.deepEqual(router.route({ ...blind, sniffed }), router.route(blind));
      }
    }),
    { numRuns: 300 },
  );
});

/** Entries as they are compared; the router does this itself. */
const lowered = (spec: RoutingSpec): RoutingSpec => ({
  ...spec,
  rules: spec.rules.map((each) => ({ ...each, ...lowerDomains(each) })),
});
const lowerGeo = (geo: PlainGeo): PlainGeo => ({
  ...geo,
  geosite: Object.fromEntries(
    Object.entries(geo.geosite).map(([key, list]) => [key, { ...list, ...lowerDomains(list) }]),
  ),
});
const lowerDomains = (list: Partial<RuleSpec>) => ({
  domainSuffix: (list.domainSuffix ?? []).map((text) => text.toLowerCase()),
  domainFull: (list.domainFull ?? []).map((text) => text.toLowerCase()),
  domainKeyword: (list.domainKeyword ?? []).map((text) => text.toLowerCase()),
});

test('an explanation of 10,000 routes gives the answers of the router', () => {
  let routes = 0;
  fc.assert(
    fc.property(anySpec, anyGeo, fc.array(anyQuery, { minLength: 20 }), (spec, geo, queries) => {
      const packed = packGeo(geo);
      const router = new Router(spec, { regexes, geo: packed });
      const explainer = new RouteExplainer(spec, regexes, packed);
      const plain = { spec: lowered(spec), geo: lowerGeo(geo) };
      for (const query of queries) {
        const { outbound, rule: decisive, matched, passed } = explainer.explain(query);
        assert.deepEqual({ outbound, rule: decisive }, router.route(query));
        assert.equal(explainer.needsDomain(query), router.needsDomain(query));
        const before = spec.rules.slice(0, decisive).keys();
        assert.deepEqual(
          passed.map((each) => each.rule),
          [...before],
        );
        for (const each of passed) assertFails(plain.spec, plain.geo, query, each);
        for (const { key, entry } of matched) {
          const entries = matcherEntries(spec.rules[decisive ?? 0] ?? rule({}), key);
          const alone = entries.find(({ text }) => text === entry);
          assert.ok(alone, key);
          const only = { default: 'default', rules: [alone.rule] };
          assert.equal(referenceRoute(lowered(only), query, plain.geo).rule, 0, key);
        }
        routes++;
      }
    }),
    { numRuns: 500 },
  );
  assert.ok(routes >= 10_000, String(routes));
});

/**
 * Every matcher that an explanation blames fails by itself, and those that it does not blame match. Entries are
 * lowered.
 */
function assertFails(
  spec: RoutingSpec,
  geo: PlainGeo,
  query: RouteQuery,
  { rule: index, failing, reason }: PassedRule,
): void {
  const candidate = spec.rules[index];
  assert.ok(candidate && failing.length > 0);
  if (reason === 'impossible') return;
  for (const key of MATCHERS) {
    const alone = onlyMatcher(candidate, key);
    const decided = referenceRoute({ default: 'default', rules: [alone] }, query, geo);
    assert.equal(decided.rule === undefined, failing.includes(key), key);
  }
}

/** A rule with one of the matchers of another. */
function onlyMatcher(full: RuleSpec, key: MatcherKey): RuleSpec {
  const property = key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return {
    ...rule({}),
    ...Object.fromEntries(Object.entries(full).filter(([name]) => name === property)),
  };
}
