import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { RouteView } from '../../src/route-view.ts';
import {
  group,
  heir,
  nodes,
  outbounds,
  subscribed,
  viewOf,
} from '../../../../test/support/config/subscribe-support.ts';

const BALANCER = '[[balancer]]\ntag = "b"\noutbounds = ["a"]\n';

const targetOf = (view: RouteView, name: string): string | null | undefined =>
  view.groups.find((entry) => entry.name === name)?.target;

describe('the default route', () => {
  const cases: readonly [
    what: string,
    config: string,
    subscribe: string | undefined,
    default_: RouteView['default'],
  ][] = [
    [
      'without a pick is the first outbound',
      outbounds('a', 'b'),
      undefined,
      { pick: null, target: 'a' },
    ],
    [
      'is what [route] picks',
      `${outbounds('a', 'b')}[route]\ndefault = "b"`,
      undefined,
      { pick: 'b', target: 'b' },
    ],
    [
      'is what [subscribe.routes] picks, whatever [route] says',
      `${outbounds('a', 'b')}[route]\ndefault = "b"\n${subscribed('default = "n"')}`,
      nodes('n'),
      { pick: 'n', target: 'n' },
    ],
    [
      'is what [route] picks where [subscribe.routes] says nothing',
      `${outbounds('a', 'b')}[route]\ndefault = "b"\n${subscribed('x = "n"')}`,
      nodes('n'),
      { pick: 'b', target: 'b' },
    ],
    [
      'is the first outbound of the configuration before any node',
      `${subscribed()}${outbounds('a')}`,
      nodes('n'),
      { pick: null, target: 'a' },
    ],
    [
      'is the first node without an outbound',
      subscribed(),
      nodes('n', 'm'),
      { pick: null, target: 'n' },
    ],
    ['is nowhere when the files name no way out', subscribed(), '', { pick: null, target: null }],
    ['is nowhere in an empty file', '', undefined, { pick: null, target: null }],
    ['is never a balancer by itself', BALANCER, undefined, { pick: null, target: null }],
    [
      'is a pick that names nothing, as it is written',
      '[route]\ndefault = "gone"',
      undefined,
      { pick: 'gone', target: 'gone' },
    ],
    ['is a pick of an empty name', '[route]\ndefault = ""', undefined, { pick: '', target: '' }],
  ];
  for (const [what, config, subscribe, expected] of cases) {
    test(what, () => assert.deepEqual(viewOf(config, subscribe).default, expected));
  }
});

describe('targets', () => {
  const named = (view: RouteView): string[] =>
    view.targets.map(({ kind, name }) => `${kind} ${name}`);

  const balancer = (tag: string): string => `[[balancer]]\ntag = "${tag}"\noutbounds = ["a"]\n`;

  test('are outbounds, balancers, nodes and built-ins in this order', () => {
    const config = `${balancer('z')}${balancer('b')}${outbounds('y', 'a')}${subscribed()}`;
    assert.deepEqual(named(viewOf(config, nodes('n 2', 'n 1'))), [
      'outbound y',
      'outbound a',
      'balancer z',
      'balancer b',
      'node n 2',
      'node n 1',
      'direct direct',
      'blackhole blackhole',
    ]);
  });

  test('are the built-ins alone in an empty file', () => {
    assert.deepEqual(named(viewOf('')), ['direct direct', 'blackhole blackhole']);
  });

  test('have a built-in only where nothing else has its name', () => {
    assert.deepEqual(named(viewOf(outbounds('direct'))), [
      'outbound direct',
      'blackhole blackhole',
    ]);
    assert.deepEqual(named(viewOf(balancer('blackhole'))), ['balancer blackhole', 'direct direct']);
    assert.deepEqual(named(viewOf(subscribed(), nodes('blackhole', 'direct'))), [
      'node blackhole',
      'node direct',
    ]);
  });

  test('are listed as written even where two have one name', () => {
    assert.deepEqual(
      named(viewOf(`${outbounds('a')}${BALANCER}${subscribed()}`, nodes('a', 'a'))),
      ['outbound a', 'balancer b', 'node a', 'node a', 'direct direct', 'blackhole blackhole'],
    );
  });

  test('have no nodes without [subscribe]', () => {
    assert.deepEqual(named(viewOf('', nodes('n'))), ['direct direct', 'blackhole blackhole']);
  });
});

describe('groups', () => {
  test('are listed in file order with what they say and where they lead', () => {
    const file =
      group('Video Streaming', 'inherit = "default"') +
      group('ads', 'inherit = "blackhole"') +
      group('lan', 'inherit = "direct"') +
      heir('music', 'Video Streaming') +
      group('plain');
    const view = viewOf(
      subscribed('default = "n"\n"Video Streaming" = "m"\nlan = "n"'),
      nodes('n', 'm') + file,
    );
    assert.deepEqual(view.groups, [
      { name: 'Video Streaming', pick: 'm', inherit: 'default', target: 'm' },
      { name: 'ads', pick: null, inherit: 'blackhole', target: 'blackhole' },
      { name: 'lan', pick: 'n', inherit: 'direct', target: 'n' },
      { name: 'music', pick: null, inherit: { group: 'Video Streaming' }, target: 'm' },
      { name: 'plain', pick: null, inherit: 'default', target: 'n' },
    ]);
  });

  test('do not exist without [subscribe], nor without a file that was read', () => {
    assert.deepEqual(viewOf(outbounds('a'), group('g')).groups, []);
    assert.deepEqual(viewOf(subscribed(), undefined).groups, []);
  });

  test('that inherit the default route follow its fallback', () => {
    assert.equal(targetOf(viewOf(outbounds('a') + subscribed(), group('g')), 'g'), 'a');
    assert.equal(targetOf(viewOf(subscribed(), nodes('n') + group('g')), 'g'), 'n');
    assert.equal(targetOf(viewOf(subscribed(), group('g')), 'g'), null);
  });

  test('follow a chain to the first pick in it, the default target or a built-in', () => {
    const chain = heir('a', 'b') + heir('b', 'c');
    assert.equal(targetOf(viewOf(subscribed('b = "n"'), chain + group('c')), 'a'), 'n');
    assert.equal(targetOf(viewOf(subscribed('c = "n"'), chain + group('c')), 'a'), 'n');
    assert.equal(targetOf(viewOf(subscribed('default = "n"'), chain + group('c')), 'a'), 'n');
    assert.equal(
      targetOf(viewOf(subscribed(), chain + group('c', 'inherit = "direct"')), 'a'),
      'direct',
    );
  });

  test('in a cycle lead nowhere, and neither do those that inherit from it', () => {
    const cycle = heir('in', 'a') + heir('a', 'b') + heir('b', 'a') + heir('self', 'self');
    const view = viewOf(subscribed('default = "n"'), cycle);
    assert.deepEqual(
      view.groups.map(({ target }) => target),
      [null, null, null, null],
    );
  });

  test('leave a cycle by a pick', () => {
    const cycle = heir('in', 'a') + heir('a', 'b') + heir('b', 'a');
    const view = viewOf(subscribed('b = "n"'), cycle);
    assert.deepEqual(
      view.groups.map(({ target }) => target),
      ['n', 'n', 'n'],
    );
  });

  test('that inherit from a missing group lead nowhere, but a pick of their own counts', () => {
    const files = heir('a', 'b') + heir('b', 'gone') + heir('c', 'gone');
    const view = viewOf(subscribed('default = "n"\nc = "m"'), files);
    assert.deepEqual(
      view.groups.map(({ target }) => target),
      [null, null, 'm'],
    );
  });

  test('cannot inherit from `default` as from a group', () => {
    assert.equal(targetOf(viewOf(subscribed('default = "n"'), heir('a', 'default')), 'a'), null);
  });

  test('show picks that name nothing, and picks of no group are not shown', () => {
    const view = viewOf(subscribed('a = "gone"\nother = "n"'), group('a'));
    assert.deepEqual(view.groups, [
      { name: 'a', pick: 'gone', inherit: 'default', target: 'gone' },
    ]);
  });

  test('of one name share a pick, and the first is inherited from', () => {
    const files =
      group('a', 'inherit = "direct"') + group('a', 'inherit = "blackhole"') + heir('b', 'a');
    const targets = viewOf(subscribed(), files).groups.map(({ target }) => target);
    assert.deepEqual(targets, ['direct', 'blackhole', 'direct']);
  });

  test('of any names are described, the one of the default route and odd ones too', () => {
    const files = group('default', 'inherit = "direct"') + group('__proto__') + group('');
    const view = viewOf(subscribed('default = "n"\n__proto__ = "m"\n"" = "o"'), files);
    assert.deepEqual(
      view.groups.map(({ name, pick, target }) => [name, pick, target]),
      [
        ['default', 'n', 'n'],
        ['__proto__', 'm', 'm'],
        ['', 'o', 'o'],
      ],
    );
  });

  test('may follow each other in a chain of thousands', () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `g${i}`);
    const files = names.map((name, i) => heir(name, `g${i + 1}`)).join('') + group('g5000');
    const targets = viewOf(subscribed('default = "n"'), files).groups.map(({ target }) => target);
    assert.deepEqual(new Set(targets), new Set(['n']));
  });

  test('lead where a walk from each of them ends', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const inherit = fc.oneof(
      fc.constantFrom('default', 'direct', 'blackhole'),
      name.map((parent) => ({ group: parent })),
    );
    const groups = fc.dictionary(name, inherit, { noNullPrototype: true });
    const picks = fc.dictionary(
      fc.constantFrom('default', 'a', 'b', 'c'),
      fc.constantFrom('n', 'm'),
      {
        noNullPrototype: true,
        maxKeys: 2,
      },
    );
    fc.assert(
      fc.property(groups, picks, (inherits, routes) => {
        const walk = (at: string, left: number): string | null => {
          const next = inherits[at];
          if (next === undefined || left === 0) return null;
          if (routes[at] !== undefined) return routes[at];
          if (next === 'default') return routes['default'] ?? null;
          return typeof next === 'string' ? next : walk(next.group, left - 1);
        };
        const config = subscribed(
          Object.entries(routes)
            .map(([key, value]) => `${key} = "${value}"\n`)
            .join(''),
        );
        const file = Object.entries(inherits)
          .map(([key, value]) =>
            typeof value === 'string' ? group(key, `inherit = "${value}"`) : heir(key, value.group),
          )
          .join('');
        for (const { name, target } of viewOf(config, file).groups) {
          assert.equal(target, walk(name, 10), name);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test('files that would not apply are described as they are written', () => {
  const config = `[[outbound]]\ntag = "a"\nprotocol = "nonsense"\n${subscribed('g = "direct"')}`;
  const view = viewOf(config, `[[proxy_server]]\nname = "n"\nprotocol = "trojan"\n${group('g')}`);
  assert.deepEqual(view.default, { pick: null, target: 'a' });
  assert.deepEqual(view.groups, [
    { name: 'g', pick: 'direct', inherit: 'default', target: 'direct' },
  ]);
});
