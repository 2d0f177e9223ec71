import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { matcherOf, wildcardMatcher } from '../../../../src/monitor/filter/matcher.ts';
import { filterValue, parseFilter } from '../../../../src/monitor/filter/terms.ts';
import { flowOf } from '../../../../../../test/support/dashboard/fake-monitor.ts';

const NOW = 10_000_000;

const flow = flowOf(
  7,
  {
    host: '10.1.2.3',
    sniffed: 'www.Example.video',
    port: 443,
    user: 'Ann',
    source: '192.0.2.7',
    outbound: 'tokyo',
    inbound: 'socks',
    network: 'udp',
    rule: 4,
    session: 3,
    started_at: NOW - 3_600_001,
    up: 2_000_000,
    down: 500,
  },
  { upRate: 1000, downRate: 1000 },
);

function matches(filter: string): boolean {
  const parsed = parseFilter(filter);
  assert.ok(!parsed.problem, parsed.problem?.message ?? '');
  return matcherOf(parsed.terms)(flow, NOW);
}

test('a filter matches flows that have all its parts', () => {
  for (const filter of [
    '',
    'user:ann',
    'USER:ANN out:tokyo',
    'host:*.video',
    'host:10.1.*',
    'host:*example*',
    'rule:4',
    'in:socks net:udp port:443 session:3 id:7',
    'age>1h',
    'age<61m',
    'up>1M down<1k rate>1.9k',
    'up>1.9MB',
    'closed:no',
    'src:192.0.2.*',
    'example',
    'EXAMPLE 192.0 ann',
    '-user:ben',
    '"example.video"',
  ]) {
    assert.equal(matches(filter), true, filter);
  }
});

test('a filter does not match flows that lack one of its parts', () => {
  for (const filter of [
    'user:an',
    'user:""',
    'host:*.vide',
    'host:example',
    'rule:default',
    'age>2h',
    'up<1M',
    'closed:yes',
    '-example',
    '-user:ann',
    'user:ann out:osaka',
    'fe80::1',
  ]) {
    assert.equal(matches(filter), false, filter);
  }
});

test('a flow of nobody and the default route have facets of their own', () => {
  const anonymous = flowOf(1, { user: null, rule: null });
  for (const filter of ['user:""', 'rule:default']) {
    const parsed = parseFilter(filter);
    assert.ok(!parsed.problem);
    assert.equal(matcherOf(parsed.terms)(anonymous, NOW), true, filter);
  }
});

test('an invalid filter is answered with the reason and its place', () => {
  for (const [filter, at, message] of [
    ['foo:1', 0, /"foo" is not a facet; there are user, out/],
    ['user:ann age:1h', 9, /age is compared: age>1h/],
    ['age>1x', 0, /expected an amount, as in age>90s/],
    ['port>1', 0, /only age, up, down and rate/],
    ['rule:x', 0, /rule takes a number, or default/],
    ['closed:maybe', 0, /closed takes yes or no/],
    ['a "b', 2, /closing quote/],
    ['""', 0, /empty quotes/],
    ['constructor:1', 0, /is not a facet/],
    ['age>1constructor', 0, /expected an amount/],
    ['x'.repeat(501), 500, /at most 500/],
    ['x '.repeat(21), 40, /at most 20/],
  ] as const) {
    const { problem } = parseFilter(filter);
    assert.ok(problem, filter);
    assert.match(problem.message, message);
    assert.equal(problem.at, at, filter);
  }
});

test('wildcards match as a regular expression of any characters does', () => {
  const part = fc.stringMatching(/^[ab.*]{0,8}$/);
  fc.assert(
    fc.property(part, fc.stringMatching(/^[ab.]{0,12}$/), (pattern, text) => {
      const parts = pattern.split('*').map((literal) => RegExp.escape(literal));
      const expected = new RegExp(`^${parts.join('.*')}$`).test(text);
      assert.equal(wildcardMatcher(pattern)(text), expected);
    }),
  );
});

test('every value is found again by its facet', () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 40, size: 'max' }).filter((text) => !text.includes('*')),
      (user) => {
        const parsed = parseFilter(`user:${filterValue(user)}`);
        assert.ok(!parsed.problem, parsed.problem?.message ?? '');
        assert.equal(matcherOf(parsed.terms)(flowOf(1, { user }), NOW), true);
      },
    ),
  );
});

test('any text is a filter or has a problem within it', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('user:', 'age>', '"', '\\', '-', ' ', ':', 'rule:9', '*', 'host:*a*'),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const filter = words.join('');
      const parsed = parseFilter(filter);
      if (parsed.problem) assert.ok(parsed.problem.at <= filter.length);
      else matcherOf(parsed.terms)(flow, NOW);
    }),
  );
});
