import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { FlowInfo } from '../../../src/tracker/flow.ts';
import {
  Usage,
  USAGE_DIMENSIONS,
  type FlowUsage,
  type UsageCounts,
  type UsageDimension,
  type UsageReport,
} from '../../../src/tracker/usage.ts';
import { flowInfo } from '../../../../../test/support/engine/flow-info.ts';

const info = (over: Partial<FlowInfo> = {}): FlowInfo => flowInfo({ source: '192.0.2.1', ...over });

/** A flow with its bytes. */
class CountedFlow {
  readonly usage: FlowUsage;
  up = 0;
  down = 0;

  constructor(usage: FlowUsage) {
    this.usage = usage;
  }
}

const of = (report: UsageReport, by: UsageDimension) =>
  report.dimensions.find((each) => each.by === by);

/** The names of entries, which earlier reports may have. */
function namesOf(
  report: UsageReport,
  by: UsageDimension,
  ...earlier: readonly UsageReport[]
): (string | undefined)[] {
  const all = [...earlier, report].flatMap((each) => of(each, by)?.entries ?? []);
  const names = new Map(
    all.flatMap(({ id, name }) => (name === undefined ? [] : [[id, name] as const])),
  );
  return of(report, by)?.entries.map(({ id }) => names.get(id)) ?? [];
}

const account = (name: string | undefined): FlowInfo['account'] => ({ isValid: true, name });

describe('usage', () => {
  test('is counted by account, inbound, outbound, source and host, open flows included', () => {
    const usage = new Usage();
    const flow = new CountedFlow(
      usage.opened(info({ user: 'label', account: account('ann'), sniffed: 'Sniffed.example' })),
    );
    flow.up = 3;
    flow.down = 5;
    const report = usage.report([flow]);
    const names = ['ann', 'in', 'out', '192.0.2.1', 'sniffed.example'];
    for (const [index, by] of USAGE_DIMENSIONS.entries()) {
      const [entry, ...others] = of(report, by)?.entries ?? [];
      assert.deepEqual(others, []);
      const { id = 0, ...rest } = entry ?? {};
      assert.ok(id > 0);
      assert.deepEqual(rest, { name: names[index], up: 3, down: 5, flows: 1 });
    }
    assert.deepEqual(report.total, { up: 3, down: 5, flows: 1 });
  });

  test('of IPv6 sources is that of their network, and flows without an account have no name', () => {
    const usage = new Usage();
    usage.opened(info({ source: '2001:db8:0:1::1' }));
    usage.opened(info({ source: '2001:db8:0:1:ffff::2' }));
    usage.opened(info({ source: '::ffff:192.0.2.1' }));
    usage.opened(info({ source: undefined, account: account(undefined) }));
    const report = usage.report([]);
    assert.deepEqual(namesOf(report, 'source'), ['2001:db8:0:1::/64', '192.0.2.1', '']);
    assert.deepEqual(namesOf(report, 'user'), ['']);
  });

  test('of accounts with one name on several inbounds is one', () => {
    const usage = new Usage();
    usage.opened(info({ inbound: 'a', account: account('ann') }));
    usage.opened(info({ inbound: 'b', account: account('ann') }));
    assert.equal(of(usage.report([]), 'user')?.entries[0]?.flows, 2);
  });

  test('of later reports is what has changed, in full counts', () => {
    const usage = new Usage();
    const flow = new CountedFlow(usage.opened(info({ inbound: 'a' })));
    usage.opened(info({ inbound: 'b' }));
    const first = usage.report([flow]);
    assert.equal(first.isComplete, true);
    flow.up = 7;
    const second = usage.report([flow], first.sequence);
    assert.equal(second.isComplete, false);
    assert.deepEqual(namesOf(second, 'inbound', first), ['a']);
    const [entry] = of(second, 'inbound')?.entries ?? [];
    assert.deepEqual([entry?.up, entry?.name], [7, undefined], 'it was named before');
    assert.deepEqual(namesOf(usage.report([flow], second.sequence), 'inbound'), []);
    assert.equal(usage.report([flow], 1000).isComplete, true);
  });

  test('of a name that has given way is counted with the others, and reported once more', () => {
    const usage = new Usage({ entries: 1 });
    const flow = new CountedFlow(usage.opened(info({ inbound: 'a' })));
    flow.up = 5;
    usage.closed(flow);
    const first = usage.report([]);
    usage.opened(info({ inbound: 'b' }));
    const second = usage.report([], first.sequence);
    assert.deepEqual(namesOf(second, 'inbound', first), ['a', 'b']);
    assert.deepEqual(of(second, 'inbound')?.other, { up: 5, down: 0, flows: 1 });
    const [removed] = of(first, 'inbound')?.entries ?? [];
    assert.deepEqual(second.removed, [removed?.id]);
    assert.deepEqual(usage.report([], second.sequence).removed, []);
  });

  test('of names with open flows does not give way', () => {
    const usage = new Usage({ entries: 1 });
    usage.opened(info({ inbound: 'a' }));
    const flow = new CountedFlow(usage.opened(info({ inbound: 'b' })));
    flow.down = 9;
    const report = usage.report([flow]);
    assert.deepEqual(namesOf(report, 'inbound'), ['a']);
    assert.deepEqual(of(report, 'inbound')?.other, { up: 0, down: 9, flows: 1 });
  });
});

const plus = (a: UsageCounts, b: UsageCounts): UsageCounts => ({
  up: a.up + b.up,
  down: a.down + b.down,
  flows: a.flows + b.flows,
});
const NOTHING: UsageCounts = { up: 0, down: 0, flows: 0 };

const step = fc.oneof(
  fc.record({ kind: fc.constant('open' as const), name: fc.nat(6) }),
  fc.record({ kind: fc.constant('move' as const), flow: fc.nat(9), bytes: fc.nat(1000) }),
  fc.record({ kind: fc.constant('close' as const), flow: fc.nat(9) }),
  fc.record({ kind: fc.constant('report' as const) }),
);

test('the sum of every dimension is the total at any time, however few names have space', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { maxLength: 80, size: 'max' }),
      (entries, steps) => {
        const usage = new Usage({ entries, removed: 3 });
        const open: CountedFlow[] = [];
        let moved = NOTHING;
        for (const each of steps) {
          if (each.kind === 'open') {
            const name = `n${each.name}`;
            open.push(
              new CountedFlow(usage.opened(info({ inbound: name, account: account(name) }))),
            );
            moved = plus(moved, { ...NOTHING, flows: 1 });
          } else if (each.kind === 'report') {
            const report = usage.report(open);
            assert.deepEqual(report.total, moved);
            const gone = new Set(report.removed);
            for (const { other, entries: all } of report.dimensions) {
              const kept = all.filter(({ id }) => !gone.has(id));
              assert.ok(kept.length <= entries);
              assert.deepEqual(kept.reduce(plus, other), moved);
            }
          } else {
            const flow = open[each.flow % Math.max(1, open.length)];
            if (!flow) continue;
            if (each.kind === 'move') {
              flow.down += each.bytes;
              moved = plus(moved, { ...NOTHING, down: each.bytes });
            } else {
              open.splice(open.indexOf(flow), 1);
              usage.closed(flow);
            }
          }
        }
      },
    ),
  );
});
