import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '@weir/io/time';
import { AccountLimits, type LimitChange } from '../../../src/limits/account-limits.ts';
import type { AccountMeter } from '../../../src/limits/account-meter.ts';
import { hasEnded, periodEnd, periodStart } from '../../../src/limits/periods.ts';
import type { AccountRule } from '../../../src/limits/spec.ts';
import { limitsOf } from '../../../../../test/support/engine/limits.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

const DAY = 86_400_000;
/** A Thursday. */
const START = Date.UTC(2026, 0, 1, 12);

class FakeFlow {
  readonly info: { readonly source: string | undefined };
  constructor(source?: string) {
    this.info = { source };
  }
}

function start(
  rules: Readonly<Record<string, Partial<AccountRule>>>,
  others?: Partial<AccountRule>,
) {
  const clock = new ManualClock(0, START);
  const closed: string[] = [];
  const changes: LimitChange[] = [];
  const limits = new AccountLimits<FakeFlow>({
    clock,
    close: (flows, user, limit) => {
      closed.push(`${flows.length} of ${user}: ${limit}`);
      return flows.length;
    },
  });
  limits.onChange = (change) => changes.push(change);
  const tick = (): void => atOnce(limits.tick());
  const apply = (next: typeof rules): void => {
    atOnce(limits.apply(limitsOf(next, others)));
    tick();
  };
  apply(rules);
  const meter = (name: string): AccountMeter<FakeFlow> => {
    const found = limits.meterOf(name);
    assert.ok(found);
    return found;
  };
  return { clock, closed, changes, limits, apply, meter, tick };
}

test('beyond 100,000 accounts idle ones make room, which are looked for once each', () => {
  const { meter, limits } = start({}, { bytes: 1 });
  const BUSY = 50_000;
  let looks = 0;
  const flows = {
    get size() {
      looks++;
      return 1;
    },
  };
  for (let i = 0; i < 100_000; i++) {
    const added = meter(`account ${i}`);
    if (i < BUSY) Object.defineProperty(added, 'flows', { value: flows });
  }
  for (let i = 0; i < 100; i++) {
    meter(`newcomer ${i}`);
    assert.equal(limits.meters.has(`account ${BUSY + i}`), false);
  }
  assert.equal(limits.meters.size, 100_000);
  assert.equal(looks, BUSY);
});

test('beyond 100,000 accounts the search for an idle one finds it wherever the last one has ended', () => {
  const { meter, limits } = start({}, { bytes: 1 });
  let idle = '';
  const add = (name: string): void => {
    const added = meter(name);
    Object.defineProperty(added, 'flows', {
      get: () => ({ size: name === idle ? 0 : 1 }),
    });
  };
  for (let i = 0; i < 100_000; i++) add(`account ${i}`);
  add('one more');
  idle = 'account 99999';
  add('another');
  assert.equal(limits.meters.has('account 99999'), false);
});

describe('the periods of limits', () => {
  test('begin at midnight in UTC, on Mondays and on the first of a month', () => {
    const at = Date.UTC(2026, 1, 5, 17, 30);
    assert.equal(periodStart('daily', at), Date.UTC(2026, 1, 5));
    assert.equal(periodStart('weekly', at), Date.UTC(2026, 1, 2));
    assert.equal(new Date(periodStart('weekly', at)).getUTCDay(), 1);
    assert.equal(periodStart('monthly', at), Date.UTC(2026, 1, 1));
    assert.equal(periodStart('never', at), 0);
    assert.equal(periodEnd('daily', at), Date.UTC(2026, 1, 6));
    assert.equal(periodEnd('weekly', at), Date.UTC(2026, 1, 9));
    assert.equal(periodEnd('monthly', Date.UTC(2026, 11, 31)), Date.UTC(2027, 0, 1));
    assert.equal(periodEnd('never', at), Infinity);
    for (const reset of ['daily', 'weekly', 'monthly'] as const) {
      const end = periodEnd(reset, at);
      assert.equal(periodStart(reset, end), end);
      assert.equal(hasEnded(reset, periodStart(reset, at), end - 1), false);
      assert.equal(hasEnded(reset, periodStart(reset, at), end), true);
    }
  });
});

describe('an account with bytes', () => {
  test('is closed at the limit, once, and refused until its period ends', () => {
    const { clock, closed, changes, limits, meter, tick } = start({
      ann: { bytes: 100, reset: 'daily' },
    });
    const ann = meter('ann');
    ann.opened(new FakeFlow());
    assert.equal(limits.refusalOf('ann', undefined), undefined);
    ann.addUp(60);
    ann.addDown(40);
    assert.equal(ann.upGate.allowance(), 0);
    assert.deepEqual(closed, []);
    clock.advance(0);
    assert.deepEqual(closed, ['1 of ann: bytes']);
    assert.equal(limits.refusalOf('ann', undefined), 'bytes');
    tick();
    assert.deepEqual(changes, [{ user: 'ann', state: 'bytes', closed: 1 }]);
    clock.advance(DAY / 2);
    tick();
    assert.deepEqual([ann.used, ann.left, limits.refusalOf('ann', undefined)], [0, 100, undefined]);
    assert.deepEqual(changes.at(-1), { user: 'ann', state: 'open', closed: 0 });
  });

  test('has what is left as its allowance, and never more', () => {
    const { meter } = start({ ann: { bytes: 100 } });
    const ann = meter('ann');
    ann.addDown(30);
    assert.deepEqual([ann.upGate.allowance(), ann.downGate.allowance(), ann.left], [70, 70, 70]);
    ann.addDown(80);
    assert.deepEqual([ann.upGate.allowance(), ann.left], [0, 0]);
  });

  test('has a flow closed that began while it was at the limit', () => {
    const { clock, closed, changes, meter } = start({ ann: { bytes: 10 } });
    const ann = meter('ann');
    ann.addUp(10);
    clock.advance(0);
    ann.opened(new FakeFlow());
    clock.advance(0);
    assert.deepEqual(closed, ['1 of ann: bytes']);
    assert.equal(changes.length, 1);
  });

  test('works again with a higher limit, and is closed by a lower one', () => {
    const { changes, apply, meter, clock, closed } = start({ ann: { bytes: 100 } });
    const ann = meter('ann');
    ann.addUp(100);
    clock.advance(0);
    apply({ ann: { bytes: 200 } });
    assert.equal(meter('ann'), ann);
    assert.deepEqual([ann.left, changes.at(-1)?.state], [100, 'open']);
    ann.opened(new FakeFlow());
    apply({ ann: { bytes: 50 } });
    assert.deepEqual(closed, ['1 of ann: bytes']);
  });

  test('keeps what it has used while a file does not name it', () => {
    const { apply, limits, meter } = start({ ann: { bytes: 100 } });
    meter('ann').addUp(70);
    apply({});
    assert.equal(limits.meterOf('ann'), undefined);
    apply({ ann: { bytes: 100 } });
    assert.equal(meter('ann').left, 30);
  });

  test('is not reset a second time by a clock that is set back', () => {
    const { clock, meter, tick } = start({ ann: { bytes: 100, reset: 'daily' } });
    const ann = meter('ann');
    ann.addUp(50);
    clock.stepWall(DAY / 2);
    tick();
    assert.equal(ann.used, 0);
    ann.addUp(20);
    clock.stepWall(-60_000);
    tick();
    assert.equal(ann.used, 20);
    clock.stepWall(60_000);
    tick();
    assert.equal(ann.used, 20);
  });

  test('goes on where it was when a clock that was years behind is set', () => {
    const { clock, meter, tick } = start({ ann: { bytes: 100, reset: 'monthly' } });
    clock.stepWall(-3650 * DAY);
    const ann = meter('ann');
    const period = Date.UTC(2026, 0, 1);
    ann.restore({ user: 'ann', up: 90, down: 0, reset: 'monthly', period });
    tick();
    ann.addUp(5);
    assert.deepEqual([ann.used, ann.state.period < period], [95, true]);
    clock.stepWall(3650 * DAY);
    tick();
    assert.deepEqual([ann.used, ann.state.period], [95, period]);
    clock.stepWall(31 * DAY);
    tick();
    assert.equal(ann.used, 0);
  });

  test('does not wait for years after a clock that was far ahead', () => {
    const { clock, meter, tick } = start({ ann: { bytes: 100, reset: 'monthly' } });
    const ann = meter('ann');
    clock.stepWall(3650 * DAY);
    tick();
    ann.addUp(20);
    clock.stepWall(-3650 * DAY);
    tick();
    assert.deepEqual([ann.used, ann.resetsAt], [20, Date.UTC(2026, 1, 1)]);
    // Every month, also the one that the clock had shown too early.
    for (let month = 1; month <= 120; month++) {
      clock.stepWall(Date.UTC(2026, month, 1) - clock.wall());
      tick();
      assert.equal(ann.used, 0);
      ann.addUp(20);
    }
  });
});

describe('an account with an end', () => {
  test('is closed at that moment, within the next look', () => {
    const { clock, closed, limits, meter, tick } = start({ ann: { until: START + 10_000 } });
    meter('ann').opened(new FakeFlow());
    clock.advance(9_999);
    tick();
    assert.deepEqual([closed, limits.refusalOf('ann', undefined)], [[], undefined]);
    clock.advance(1);
    assert.equal(limits.refusalOf('ann', undefined), 'until');
    assert.deepEqual(closed, ['1 of ann: until']);
  });
});

describe('an account with devices', () => {
  test('refuses the newest, while those present continue', () => {
    const { clock, changes, limits, meter } = start({ ann: { devices: 2 } });
    const ann = meter('ann');
    const open = (source: string) => {
      const refused = limits.refusalOf('ann', source);
      const flow = new FakeFlow(source);
      if (refused === undefined) ann.opened(flow);
      return { refused, flow };
    };
    const first = open('192.0.2.1');
    const second = open('2001:db8::1');
    assert.equal(open('2001:db8::2').refused, undefined);
    assert.equal(open('192.0.2.3').refused, 'devices');
    assert.equal(open('192.0.2.3').refused, 'devices');
    assert.deepEqual(changes, [{ user: 'ann', state: 'devices', closed: 0 }]);
    assert.equal(open('192.0.2.1').refused, undefined);
    assert.equal(ann.devices, 2);
    void second;
    clock.advance(3_600_000);
    assert.equal(open('192.0.2.3').refused, 'devices');
    for (const flow of ann.flows) if (flow.info.source === '192.0.2.1') ann.closed(flow);
    clock.advance(59_999);
    assert.equal(open('192.0.2.3').refused, 'devices');
    clock.advance(1);
    assert.equal(open('192.0.2.3').refused, undefined);
    assert.equal(first.refused, undefined);
  });

  test('counts the flows that were open before the limit', () => {
    const { apply, limits, meter } = start({ ann: { bytes: 1e9 } });
    meter('ann').opened(new FakeFlow('192.0.2.1'));
    apply({ ann: { devices: 1 } });
    assert.equal(limits.refusalOf('ann', '192.0.2.2'), 'devices');
  });
});

describe('accounts that no entry names', () => {
  test('have the limits of all others, each for itself', () => {
    const { clock, limits, meter } = start({ ann: { bytes: 1000 } }, { bytes: 10 });
    meter('bob').addUp(10);
    clock.advance(0);
    assert.deepEqual(
      ['ann', 'bob', 'carol'].map((name) => limits.refusalOf(name, undefined)),
      [undefined, 'bytes', undefined],
    );
    assert.equal(limits.meterOf(undefined), undefined);
  });

  test('have none without such an entry', () => {
    const { limits } = start({ ann: { bytes: 1000 } });
    assert.equal(limits.meterOf('bob'), undefined);
    assert.equal(limits.meters.size, 1);
  });
});

describe('limits that are replaced in steps', () => {
  const NEW = { ann: { bytes: 200, up: 4000 }, zoe: { bytes: 300 } };
  test('are those of a new flow from the call on, before any step', () => {
    const { limits, meter } = start({ ann: { bytes: 100 }, bob: { bytes: 100 } });
    const ann = meter('ann');
    ann.addUp(60);
    const steps = limits.apply(limitsOf(NEW));
    assert.equal(limits.meterOf('ann'), ann);
    assert.deepEqual([ann.left, ann.rule.up], [140, 4000]);
    assert.equal(limits.meterOf('zoe')?.left, 300);
    assert.equal(limits.meterOf('bob'), undefined);
    atOnce(steps);
    assert.deepEqual([...limits.meters.keys()], ['ann', 'zoe']);
    assert.equal(ann.used, 60);
  });

  test('leave each account all of its old ones until it has all of its new ones', () => {
    const { limits, meter } = start({ ann: { bytes: 100, up: 2000 } });
    const ann = meter('ann');
    const steps = limits.apply(limitsOf(NEW));
    assert.deepEqual([ann.left, ann.rule.up], [100, 2000]);
    atOnce(steps);
    assert.deepEqual([ann.left, ann.rule.up], [200, 4000]);
  });

  test('take some dozens of accounts in a step', () => {
    const { limits } = start({});
    const names = Array.from(
      { length: 1000 },
      (_, index) => [`user${index}`, { bytes: 1 }] as const,
    );
    const steps = limits.apply(limitsOf(Object.fromEntries(names)));
    for (let before = 0; steps.next().done !== true; before = limits.meters.size) {
      assert.ok(limits.meters.size - before <= 100);
    }
    assert.equal(limits.meters.size, 1000);
  });

  test('give way to later ones, whichever steps come last', () => {
    const { limits } = start({ ann: { bytes: 100 } });
    const first = limits.apply(limitsOf({ ann: { bytes: 1 }, bob: { bytes: 1 } }));
    const second = limits.apply(limitsOf({ ann: { bytes: 2 } }));
    atOnce(second);
    atOnce(first);
    assert.deepEqual(
      Array.from(limits.meters.values(), ({ name, left }) => [name, left]),
      [['ann', 2]],
    );
  });
});

describe('the used bytes of an account', () => {
  test('continue after a restart in the same period alone', () => {
    for (const [period, used] of [
      [Date.UTC(2026, 0, 1), 30],
      [Date.UTC(2025, 11, 31), 0],
    ] as const) {
      const { limits, apply, meter } = start({});
      limits.restore([{ user: 'ann', up: 10, down: 20, reset: 'daily', period }]);
      apply({ ann: { bytes: 100, reset: 'daily' } });
      assert.equal(meter('ann').used, used);
    }
  });

  test('are added to those that another process has stored', () => {
    const { meter, limits } = start({ ann: { bytes: 1000 } });
    const ann = meter('ann');
    ann.addUp(10);
    assert.deepEqual(limits.changed(), [ann]);
    const before = ann.state;
    const merged = ann.merged({ user: 'ann', up: 100, down: 5, reset: 'never', period: 0 });
    ann.addDown(1);
    ann.stored(before, merged);
    assert.deepEqual([merged.up, merged.down, ann.up, ann.down], [110, 5, 110, 6]);
    assert.deepEqual(limits.changed(), [ann]);
    const again = ann.merged(merged);
    ann.stored(ann.state, again);
    assert.deepEqual([again.down, limits.changed()], [6, []]);
  });

  test('of an earlier period that is stored count no more', () => {
    const { clock, meter, tick } = start({ ann: { bytes: 1000, reset: 'daily' } });
    const ann = meter('ann');
    ann.addUp(10);
    const yesterday = ann.state;
    ann.stored(yesterday, yesterday);
    clock.stepWall(DAY);
    tick();
    ann.addUp(3);
    assert.deepEqual(ann.merged(yesterday), ann.state);
    assert.equal(ann.state.up, 3);
  });
});
