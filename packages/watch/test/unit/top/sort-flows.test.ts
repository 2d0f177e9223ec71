import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { sortFlows, EVERY_FLOW, SORTS, type TopSort } from '../../../src/top/top-state.ts';
import { flowOf } from '../../../../../test/support/dashboard/fake-monitor.ts';

const FLOWS = [
  flowOf(
    1,
    { host: 'b.example', user: 'zoe', outbound: 'x', source: '10.0.0.2', up: 5, down: 9 },
    { upRate: 1, downRate: 2 },
  ),
  flowOf(
    2,
    { host: '192.0.2.1', sniffed: 'a.example', outbound: '', source: null, up: 7, down: 1 },
    { upRate: 9, downRate: 0 },
  ),
  flowOf(
    3,
    { host: 'b.example', user: 'ann', outbound: 'x', source: '10.0.0.1', up: 7, down: 5 },
    { upRate: 0, downRate: 4 },
  ),
];

const EXPECTED: Readonly<Record<TopSort, readonly [usual: number[], reversed: number[]]>> = {
  rate: [
    [2, 3, 1],
    [1, 3, 2],
  ],
  age: [
    [1, 2, 3],
    [3, 2, 1],
  ],
  down: [
    [1, 3, 2],
    [2, 3, 1],
  ],
  // Equal ones are in the order of their ids, both ways.
  up: [
    [2, 3, 1],
    [1, 2, 3],
  ],
  host: [
    [2, 1, 3],
    [1, 3, 2],
  ],
  outbound: [
    [2, 1, 3],
    [1, 3, 2],
  ],
  user: [
    [2, 3, 1],
    [1, 3, 2],
  ],
  source: [
    [2, 3, 1],
    [1, 3, 2],
  ],
};

for (const sort of SORTS) {
  test(`flows by ${sort}, and reversed`, () => {
    const ids = (reversed: boolean): readonly number[] =>
      sortFlows(FLOWS, { filter: EVERY_FLOW, sort, reversed }, 0).map(({ view }) => view.id);
    assert.deepEqual([ids(false), ids(true)], EXPECTED[sort]);
  });
}

test('only flows that match are in the list', () => {
  const filter = { text: 'up>6', matches: ({ view }: (typeof FLOWS)[number]) => view.up > 6 };
  const found = sortFlows(FLOWS, { filter, sort: 'rate', reversed: false }, 0);
  assert.deepEqual(
    found.map(({ view }) => view.id),
    [2, 3],
  );
});

test('every flow is in the list once, in order', () => {
  const flow = fc.record({ up: fc.nat(5), host: fc.string({ maxLength: 2 }), rate: fc.nat(5) });
  const state = fc.record({ sort: fc.constantFrom('up', 'host', 'rate'), reversed: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(flow, { maxLength: 50, size: 'max' }),
      state,
      (parts, { sort, reversed }) => {
        const flows = parts.map(({ up, host, rate }, id) =>
          flowOf(id, { up, host }, { upRate: rate }),
        );
        const found = sortFlows(flows, { filter: EVERY_FLOW, sort, reversed }, 0);
        const key = ({ view, upRate }: (typeof flows)[number]): number | string =>
          sort === 'up' ? view.up : sort === 'host' ? view.host : upRate;
        const sign = (sort === 'host' ? 1 : -1) * (reversed ? -1 : 1);
        const expected = flows.toSorted((a, b) => {
          const [first, second] = [key(a), key(b)];
          return sign * (first < second ? -1 : first > second ? 1 : 0) || a.view.id - b.view.id;
        });
        assert.deepEqual(found, expected);
      },
    ),
  );
});
