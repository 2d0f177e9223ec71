import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Findings } from '../../src/findings.ts';
import { mergeSubscribe } from '../../src/merge.ts';
import { openConfig, openSubscribe } from '../../../../test/support/config/documents.ts';
import { JoinedPlaces } from '../../src/sources/source-text.ts';
import type { Spec } from '@weir/proxy/spec';
import {
  errorOfBoth,
  group,
  heir,
  nodes,
  outbounds,
  placeOf,
  specOfBoth,
  subscribed,
} from '../../../../test/support/config/subscribe-support.ts';

const tagsOf = ({ outbounds }: Spec): string[] =>
  outbounds.map(({ tag, protocol }) => `${tag}: ${protocol}`);

/** `suffixes > outbound` of every rule. */
const rulesOf = ({ route }: Spec): string[] =>
  route.rules.map(({ outbound, domainSuffix }) => `${domainSuffix.join()} > ${outbound}`);

const matching = (suffix: string): string =>
  `[[route_group.rule]]\ndomain_suffix = ["${suffix}"]\n`;

const ownRule = (suffix: string, tag: string): string =>
  `[[route.rule]]\noutbound = "${tag}"\ndomain_suffix = ["${suffix}"]\n`;

describe('nodes', () => {
  test('become outbounds after those of the configuration', () => {
    const spec = specOfBoth(outbounds('a', 'b') + subscribed(), nodes('n 2', 'n 1'));
    assert.deepEqual(tagsOf(spec), ['a: freedom', 'b: freedom', 'n 2: freedom', 'n 1: freedom']);
    assert.equal(spec.route.default, 'a');
  });

  test('are enough, and the first is then the default route', () => {
    const spec = specOfBoth(subscribed(), nodes('n', 'm'));
    assert.equal(spec.route.default, 'n');
  });

  test('can be named by the rules of the configuration', () => {
    const spec = specOfBoth(ownRule('x', 'n') + subscribed(), nodes('n'));
    assert.deepEqual(rulesOf(spec), ['x > n']);
  });

  test('may have the names of groups, and of inbounds', () => {
    const inbound = '[[inbound]]\ntag = "n"\nprotocol = "socks"\nport = 1\n';
    assert.doesNotThrow(() => specOfBoth(inbound + subscribed(), nodes('n') + group('n')));
  });
});

describe('groups', () => {
  test('become rules after those of the configuration, in file order, with their targets', () => {
    const config =
      outbounds('a') + ownRule('own', 'a') + subscribed('default = "m"\n"Video Streaming" = "n"');
    const file =
      group('ads', `inherit = "blackhole"\n${matching('ads 1')}${matching('ads 2')}`) +
      group('Video Streaming', matching('video')) +
      heir('music', 'Video Streaming') +
      matching('music') +
      group('rest', matching('rest')) +
      nodes('n', 'm');
    const spec = specOfBoth(config, file);
    assert.deepEqual(rulesOf(spec), [
      'own > a',
      'ads 1 > blackhole',
      'ads 2 > blackhole',
      'video > n',
      'music > n',
      'rest > m',
    ]);
    assert.equal(spec.route.default, 'm');
    assert.deepEqual(spec.route.groups, [
      { name: 'ads', outbound: 'blackhole', firstRule: 1, rules: 2 },
      { name: 'Video Streaming', outbound: 'n', firstRule: 3, rules: 1 },
      { name: 'music', outbound: 'n', firstRule: 4, rules: 1 },
      { name: 'rest', outbound: 'm', firstRule: 5, rules: 1 },
    ]);
  });

  test('lead to the default target where nothing is picked', () => {
    const file = nodes('n') + group('g', matching('g'));
    assert.deepEqual(rulesOf(specOfBoth(outbounds('a') + subscribed(), file)), ['g > a']);
    assert.deepEqual(rulesOf(specOfBoth(subscribed(), file)), ['g > n']);
    const routed = `[route]\ndefault = "n"\n${outbounds('a')}${subscribed()}`;
    assert.deepEqual(rulesOf(specOfBoth(routed, file)), ['g > n']);
  });

  test('take everything by a rule without matchers', () => {
    const spec = specOfBoth(subscribed('g = "n"'), nodes('n') + group('g', '[[route_group.rule]]'));
    assert.deepEqual(rulesOf(spec), [' > n']);
  });

  test('that are not in the file may have a pick, of whatever name', () => {
    assert.doesNotThrow(() => specOfBoth(subscribed('old = "gone"'), nodes('n')));
  });

  test('without rules are part of the route, so that a switch is a change of it', () => {
    const withPick = (pick: string): Spec =>
      specOfBoth(subscribed(`g = "${pick}"`), nodes('n', 'm') + group('g'));
    assert.deepEqual(withPick('n').route.groups, [
      { name: 'g', outbound: 'n', firstRule: 0, rules: 0 },
    ]);
    assert.notDeepEqual(withPick('n').route, withPick('m').route);
    assert.deepEqual(withPick('n').outbounds, withPick('m').outbounds);
  });

  test('do not appear in a configuration without [subscribe]', () => {
    assert.equal('groups' in specOfBoth(outbounds('a'), group('g')).route, false);
  });
});

describe('a built-in', () => {
  test('is made when the default, a rule or a group leads to it, after all others', () => {
    const file = nodes('n') + group('g');
    const direct = ['n: freedom', 'direct: freedom'];
    assert.deepEqual(tagsOf(specOfBoth(subscribed(), file)), ['n: freedom']);
    assert.deepEqual(tagsOf(specOfBoth(subscribed('default = "direct"'), file)), direct);
    assert.deepEqual(tagsOf(specOfBoth(subscribed('g = "direct"'), file)), direct);
    assert.deepEqual(
      tagsOf(specOfBoth(subscribed(), `${nodes('n')}${group('g', 'inherit = "direct"')}`)),
      direct,
    );
    assert.deepEqual(tagsOf(specOfBoth(ownRule('x', 'direct') + subscribed(), file)), direct);
    assert.deepEqual(tagsOf(specOfBoth(subscribed('g = "blackhole"\ndefault = "direct"'), file)), [
      'n: freedom',
      'direct: freedom',
      'blackhole: blackhole',
    ]);
  });

  test('is not made where an outbound or a node has its name: that one is meant', () => {
    const asBlackhole = '[[outbound]]\ntag = "direct"\nprotocol = "blackhole"\n';
    const spec = specOfBoth(asBlackhole + subscribed('g = "direct"'), group('g'));
    assert.deepEqual(tagsOf(spec), ['direct: blackhole']);
    const node = nodes('direct').replace('freedom', 'blackhole');
    assert.deepEqual(tagsOf(specOfBoth(subscribed('g = "direct"'), node + group('g'))), [
      'direct: blackhole',
    ]);
  });

  test('is enough for a configuration that picks it for its default route', () => {
    const spec = specOfBoth(subscribed('default = "direct"'), group('g'));
    assert.deepEqual(tagsOf(spec), ['direct: freedom']);
    assert.equal(spec.route.default, 'direct');
  });
});

/** What does not merge: the file, the picks, the message and the place. */
const REFUSED: readonly (readonly [
  what: string,
  file: string,
  message: string | RegExp,
  place?: string,
  routes?: string,
])[] = [
  [
    'a group that has the name of the default route',
    nodes('n') + group('default'),
    'route group "default": the name stands for the default route',
    'sub.toml:5:8 (route group "default")',
  ],
  [
    'two groups of one name',
    nodes('n') + group('g') + group('g'),
    'duplicate route group: g',
    'sub.toml:8:8 (route group "g")',
  ],
  [
    'a cycle',
    nodes('n') + heir('a', 'b') + heir('b', 'a'),
    'route group "a" inherits in a cycle',
    'sub.toml:6:11 (route group "a")',
  ],
  [
    'a group that inherits from itself',
    nodes('n') + heir('a', 'a'),
    'route group "a" inherits in a cycle',
    'sub.toml:6:11 (route group "a")',
  ],
  [
    'a missing group',
    nodes('n') + heir('a', 'b'),
    'route group "a" inherits from the group "b", which does not exist',
    'sub.toml:6:11 (route group "a")',
  ],
  ['nothing to go out by', group('g', 'inherit = "direct"'), 'config defines no outbounds'],
  ['nothing at all', '', 'config defines no outbounds'],
  ['a group that inherits a missing default', group('g'), 'config defines no outbounds'],
  [
    'a pick that names nothing',
    nodes('n') + group('g', matching('x')),
    'route references unknown outbound tag: m',
    'weir.toml:4:5 (route group "g")',
    'g = "m"',
  ],
  [
    'a pick of a group without rules that names nothing',
    nodes('n') + group('g'),
    'route references unknown outbound tag: m',
    'weir.toml:4:5 (route group "g")',
    'g = "m"',
  ],
  [
    'a default that names nothing',
    nodes('n') + group('g'),
    'route references unknown outbound tag: g',
    'weir.toml:4:11 (route group "g")',
    'default = "g"',
  ],
  [
    'a network of a rule that has host bits',
    `${nodes('n')}${group('g', '[[route_group.rule]]\ncidr = ["10.0.0.1/8"]')}`,
    'invalid cidr 10.0.0.1/8: host part of address was not zero',
    'sub.toml:7:9 (route.rule[0])',
  ],
  [
    'an invalid expression of a rule',
    `${nodes('n')}${group('g', '[[route_group.rule]]\ndomain_regex = ["a", "("]')}`,
    /^invalid domain regex \(: /,
    'sub.toml:7:22 (route.rule[0])',
  ],
];

describe('files do not go together with', () => {
  for (const [what, file, message, place, routes] of REFUSED) {
    test(what, () => {
      const error = errorOfBoth(subscribed(routes), file);
      if (typeof message === 'string') assert.equal(error.message, message);
      else assert.match(error.message, message);
      assert.equal(placeOf(error), place);
    });
  }

  test('a node that has the tag of an outbound', () => {
    const error = errorOfBoth(outbounds('a') + subscribed(), nodes('n', 'a'));
    assert.equal(error.message, 'duplicate outbound tag: a');
    assert.equal(placeOf(error), 'sub.toml:5:8 (outbound a)');
  });
});

/** The first thing that is in the way of a merge, whatever else there is. */
function mergeError(config: string, subscribe?: string): string | undefined {
  const document = openConfig({ bytes: Buffer.from(config), file: 'weir.toml' });
  const findings = new Findings();
  if (subscribe === undefined) {
    mergeSubscribe(document.file, undefined, findings);
    return findings.toError(document.source)?.message;
  }
  const { file, source } = openSubscribe({ bytes: Buffer.from(subscribe) }, document);
  mergeSubscribe(document.file, file, findings);
  return findings.toError(new JoinedPlaces(document.source, source))?.message;
}

describe('a pick of a built-in that names a balancer is refused', () => {
  const balancer = (tag: string): string => `[[balancer]]\ntag = "${tag}"\noutbounds = ["a"]\n`;
  const base = outbounds('a') + balancer('direct');
  const renamed = 'names a balancer, not the built-in outbound; rename the balancer';

  test('for the default route, in either table', () => {
    const message = `default route: "direct" ${renamed}`;
    assert.equal(mergeError(`${base}[route]\ndefault = "direct"\n`), message);
    assert.equal(mergeError(base + subscribed('default = "direct"'), ''), message);
    assert.equal(mergeError(`${base}[route]\ndefault = "direct"\n${subscribed()}`, ''), message);
  });

  test('for a group, whether it is picked or inherited', () => {
    const message = `route group "g": "direct" ${renamed}`;
    assert.equal(mergeError(base + subscribed('g = "direct"'), group('g')), message);
    assert.equal(mergeError(base + subscribed(), group('g', 'inherit = "direct"')), message);
    assert.equal(
      mergeError(base + subscribed('h = "direct"'), heir('g', 'h') + group('h')),
      message,
    );
  });

  test('but not where a pick of [subscribe.routes] takes precedence', () => {
    const routed = `${base}[route]\ndefault = "direct"\n`;
    assert.equal(mergeError(routed + subscribed('default = "a"'), ''), undefined);
  });

  test('but not for balancers of other names, nor where an outbound is meant', () => {
    assert.equal(
      mergeError(outbounds('a') + balancer('b') + subscribed('g = "b"'), group('g')),
      undefined,
    );
    assert.equal(
      mergeError(base + outbounds('direct') + subscribed('g = "direct"'), group('g')),
      undefined,
    );
    assert.equal(
      mergeError(base + subscribed('g = "direct"'), nodes('direct') + group('g')),
      undefined,
    );
  });

  test('but a rule may name it like any other balancer', () => {
    assert.equal(mergeError(base + ownRule('x', 'direct')), undefined);
  });
});
