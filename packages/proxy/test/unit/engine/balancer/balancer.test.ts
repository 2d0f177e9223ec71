import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  Balancer,
  type BalancerStrategy,
  type Health,
  MOST_TRIES,
} from '../../../../src/engine/balancer.ts';
import { OutboundVersion } from '../../../../src/engine/routing-snapshot.ts';
import { createBlackholeOutbound } from '../../../../src/protocols/blackhole/index.ts';

/** Picks `count` times from members whose health is given by tag, in order. */
function picks(
  strategy: BalancerStrategy,
  members: readonly (readonly [tag: string, health: Health])[],
  count: number,
): string {
  const balancer = new Balancer(
    members.map(([tag, health]) => ({
      version: new OutboundVersion(tag, 1, createBlackholeOutbound({ tag })),
      health: () => health,
    })),
    strategy,
  );
  return Array.from({ length: count }, () => balancer.pick().tag).join(' ');
}

describe('failover', () => {
  const cases: readonly [members: [string, Health][], expected: string][] = [
    [
      [
        ['a', 'available'],
        ['b', 'available'],
      ],
      'a a',
    ],
    [
      [
        ['a', 'unavailable'],
        ['b', 'available'],
      ],
      'b b',
    ],
    [
      [
        ['a', 'unknown'],
        ['b', 'available'],
      ],
      'b b',
    ],
    [
      [
        ['a', 'unavailable'],
        ['b', 'unknown'],
      ],
      'b b',
    ],
    [
      [
        ['a', 'unknown'],
        ['b', 'unknown'],
      ],
      'a a',
    ],
    [
      [
        ['a', 'unavailable'],
        ['b', 'unavailable'],
      ],
      'a a',
    ],
  ];
  for (const [members, expected] of cases) {
    test(`of ${members.map((member) => member.join(' ')).join(', ')} takes ${expected}`, () => {
      assert.equal(picks('failover', members, 2), expected);
    });
  }
});

describe('the next member for a flow', () => {
  const build = (strategy: BalancerStrategy, members: readonly (readonly [string, Health])[]) => {
    const versions = members.map(
      ([tag]) => new OutboundVersion(tag, 1, createBlackholeOutbound({ tag })),
    );
    const listed = versions.map((version, i) => ({
      version,
      health: () => members[i]?.[1] ?? 'unknown',
    }));
    return { versions, balancer: new Balancer(listed, strategy) };
  };
  /** The members in the order in which a flow tries them. */
  const order = ({ versions, balancer }: ReturnType<typeof build>, first: number): string => {
    const tried = new Set<OutboundVersion>();
    let next = versions[first];
    while (next) {
      tried.add(next);
      next = balancer.next(tried);
    }
    return [...tried].map(({ tag }) => tag).join(' ');
  };
  const members: readonly (readonly [string, Health])[] = [
    ['a', 'available'],
    ['b', 'unavailable'],
    ['c', 'unknown'],
    ['d', 'available'],
    ['e', 'unavailable'],
  ];

  test('follows health, then the list, and is each once', () => {
    assert.equal(order(build('failover', members), 0), 'a d c b e');
    assert.equal(order(build('failover', [...members, ...members]), 4).split(' ').length, 8);
  });

  test('is none that a reload has retired', () => {
    const built = build('failover', members);
    built.versions[3]?.retire();
    assert.equal(order(built, 0), 'a c b e');
  });

  test('is one of eight at most', () => {
    const many = Array.from({ length: 100 }, (_, i) => [`m${i}`, 'unavailable'] as const);
    assert.equal(order(build('failover', many), 0).split(' ').length, MOST_TRIES);
  });

  test('is none with round robin', () => {
    assert.equal(order(build('round_robin', members), 0), 'a');
  });
});

describe('round robin', () => {
  test('takes turns among the available', () => {
    const members: [string, Health][] = [
      ['a', 'available'],
      ['b', 'unavailable'],
      ['c', 'available'],
    ];
    assert.equal(picks('round_robin', members, 4), 'a c a c');
  });

  test('a member written twice has two turns', () => {
    const members: [string, Health][] = [
      ['a', 'available'],
      ['a', 'available'],
      ['b', 'available'],
    ];
    assert.equal(picks('round_robin', members, 6), 'a a b a a b');
  });

  test('tries the first when all are known to be unavailable', () => {
    const members: [string, Health][] = [
      ['a', 'unavailable'],
      ['b', 'unavailable'],
    ];
    assert.equal(picks('round_robin', members, 3), 'a a a');
  });
});
