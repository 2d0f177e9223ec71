import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FLOWS_ENDED_A_TURN } from '../../../../io/src/net/links/relay.ts';
import { KEPT_EVENTS } from '../../../src/tracker/flow-events.ts';
import type { FlowInfo } from '../../../src/tracker/flow.ts';
import { Tracker, type LiveSession } from '../../../src/tracker/tracker.ts';
import { NO_LIMITS } from '../../../src/limits/spec.ts';
import { flowInfo as info } from '../../../../../test/support/engine/flow-info.ts';
import { limitsOf } from '../../../../../test/support/engine/limits.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

const noWire = { bytesRead: 0, bytesWritten: 0 };
const create = () => {
  const clock = new ManualClock();
  return { clock, tracker: new Tracker(clock) };
};

describe('sessions', () => {
  test('ids grow and are listed in order', () => {
    const { tracker } = create();
    const first = tracker.openSession('in', undefined, noWire);
    const second = tracker.openSession('in', undefined, noWire);
    assert.ok(second.id > first.id);
    assert.deepEqual(
      tracker.sessions().map(({ id }) => id),
      [first.id, second.id],
    );
    first.close();
    assert.deepEqual(
      tracker.sessions().map(({ id }) => id),
      [second.id],
    );
  });

  test('wire bytes are those of everything attached', () => {
    const { tracker } = create();
    const session = tracker.openSession('in', '10.0.0.1', { bytesRead: 5, bytesWritten: 7 });
    session.attach({ bytesRead: 100, bytesWritten: 200 });
    assert.deepEqual([session.up, session.down], [105, 207]);
  });

  test('the first flow names the user, a later one does not rename it', () => {
    const { tracker } = create();
    const session: LiveSession = tracker.openSession('in', undefined, noWire);
    assert.equal(session.user, undefined);
    tracker.openFlow(info({ session, user: 'ann' }), () => undefined);
    tracker.openFlow(info({ session, user: 'bob' }), () => undefined);
    assert.equal(session.user, 'ann');
  });
});

describe('flows', () => {
  test('keep their final counts when they have closed', () => {
    const { tracker } = create();
    const flow = tracker.openFlow(info(), () => undefined);
    flow.addUp(10);
    flow.addDown(20);
    flow.close();
    const next = tracker.openFlow(info(), () => undefined);
    next.addUp(1);
    assert.deepEqual([flow.up, flow.down, next.up, next.down], [10, 20, 1, 0]);
    assert.equal(tracker.flow(flow.id), undefined);
  });

  test('a kill reaches the flow once and leaves it registered until it closes', () => {
    const { tracker } = create();
    let kills = 0;
    const flow = tracker.openFlow(info(), () => kills++);
    assert.equal(flow.kill(), true);
    assert.equal(flow.kill(), false);
    assert.equal(kills, 1);
    assert.equal(tracker.flow(flow.id), flow);
    flow.close();
    assert.equal(flow.kill(), false);
  });

  test('thousands are killed at once for the count, and end in turns', async () => {
    const { tracker } = create();
    let kills = 0;
    const flows = Array.from({ length: 1000 }, () => tracker.openFlow(info(), () => kills++));
    const first = tracker.killMatching({});
    assert.equal(first.count, 1000);
    assert.deepEqual([tracker.killMatching({}).count, flows[999]?.kill()], [0, false]);
    assert.ok(kills <= FLOWS_ENDED_A_TURN);
    // It has closed by itself meanwhile.
    flows[999]?.close();
    let turns = 0;
    for (; kills < 999; turns++) await nextTurn();
    await first.ended;
    assert.equal(kills, 999);
    assert.ok(turns >= 1000 / FLOWS_ENDED_A_TURN - 2, `${turns} turns`);
  });

  test('a selector matches when every given field does', () => {
    const { tracker } = create();
    const session = tracker.openSession('in', undefined, noWire);
    const open = (over: Partial<FlowInfo>) => tracker.openFlow(info(over), () => undefined);
    open({ outbound: 'a', inbound: 'x', user: 'ann', session });
    open({ outbound: 'a', inbound: 'y' });
    open({ outbound: '', inbound: 'y' });
    assert.equal(tracker.killMatching({ outbound: 'a', inbound: 'x', user: 'bob' }).count, 0);
    assert.equal(tracker.killMatching({ session: session.id }).count, 1);
    assert.equal(tracker.killMatching({ session: session.id }).count, 0);
    assert.equal(tracker.killMatching({ outbound: '' }).count, 1);
    assert.equal(tracker.killMatching({}).count, 1);
  });
});

describe('flow events', () => {
  test('begin at the subscription and come in order', () => {
    const { tracker } = create();
    const before = tracker.openFlow(info(), () => undefined);
    const reader = tracker.events.subscribe();
    const flow = tracker.openFlow(info(), () => undefined);
    before.close();
    flow.close();
    const seen = [reader.poll(), reader.poll(), reader.poll(), reader.poll()];
    assert.deepEqual(
      seen.map((notice) => (notice && 'flow' in notice ? [notice.kind, notice.flow.id] : notice)),
      [['opened', flow.id], ['closed', before.id], ['closed', flow.id], undefined],
    );
  });

  test('a reader that is too slow learns how many it missed and goes on from the oldest kept', () => {
    const { tracker } = create();
    const reader = tracker.events.subscribe();
    for (let i = 0; i < KEPT_EVENTS + 5; i++) tracker.openFlow(info(), () => undefined);
    assert.deepEqual(reader.poll(), { kind: 'lagged', missed: 5 });
    const next = reader.poll();
    assert.ok(next && 'flow' in next);
    assert.equal(next.flow.id, 6);
    for (let i = 1; i < KEPT_EVENTS; i++) assert.ok(reader.poll());
    assert.equal(reader.poll(), undefined);
  });

  test('as many events as are kept are no lag', () => {
    const { tracker } = create();
    const reader = tracker.events.subscribe();
    for (let i = 0; i < KEPT_EVENTS; i++) tracker.openFlow(info(), () => undefined);
    const first = reader.poll();
    assert.equal(first?.kind, 'opened');
  });

  test('a waiting reader is woken by an event and by closing', async () => {
    const { tracker } = create();
    const reader = tracker.events.subscribe();
    const first = reader.next();
    tracker.openFlow(info(), () => undefined);
    assert.equal((await first)?.kind, 'opened');
    const second = reader.next();
    reader.close();
    assert.equal(await second, undefined);
  });
});

describe('traffic samples', () => {
  test('give totals since start, rates over the tick, and every tag that carried a flow', async () => {
    const { clock, tracker } = create();
    tracker.traffic.start();
    const flow = tracker.openFlow(info({ outbound: 'b' }), () => undefined);
    const other = tracker.openFlow(info({ inbound: 'another', outbound: 'a' }), () => undefined);
    flow.addUp(1000);
    flow.addDown(3000);
    other.addDown(500);
    other.close();
    const start = tracker.traffic.latest;
    const waiting = tracker.traffic.newerThan(start);
    clock.advance(1000);
    const first = await waiting;
    assert.ok(first);
    assert.deepEqual(
      {
        ...first,
        inbounds: Object.fromEntries(first.inbounds),
        outbounds: [...first.outbounds.keys()],
      },
      {
        tick: 1,
        intervalMs: 1000,
        up: 1000,
        down: 3500,
        upRate: 1000,
        downRate: 3500,
        flows: 1,
        inbounds: {
          another: { up: 0, down: 500, upRate: 0, downRate: 500, flows: 0 },
          in: { up: 1000, down: 3000, upRate: 1000, downRate: 3000, flows: 1 },
        },
        outbounds: ['a', 'b'],
      },
    );
    clock.advance(1000);
    assert.equal(tracker.traffic.latest?.upRate, 0);
    assert.equal(tracker.traffic.latest?.up, 1000);
  });

  test('a slow reader skips samples, and the stop ends its wait', async () => {
    const { clock, tracker } = create();
    tracker.traffic.start();
    clock.advance(3000);
    const latest = await tracker.traffic.newerThan(undefined);
    assert.equal(latest?.tick, 3);
    const waiting = tracker.traffic.newerThan(latest);
    tracker.traffic.stop();
    assert.equal(await waiting, undefined);
  });
});

describe('the limits of a removed account', () => {
  const limited = limitsOf({ ann: { bytes: 100, up: 2000 } });

  test('still hold for its open flows when the limits file has them no more', async () => {
    const { clock, tracker } = create();
    void tracker.applyLimits(limited);
    const account = { isValid: true, name: 'ann' };
    let kills = 0;
    const flow = tracker.openFlow(info({ account }), () => kills++);
    flow.addUp(60);
    account.isValid = false;
    void tracker.applyLimits(NO_LIMITS);
    assert.equal(flow.upGate?.allowance(), 40);
    // A later user of the name is another one.
    const later = tracker.openFlow(
      info({ account: { isValid: true, name: 'ann' } }),
      () => kills++,
    );
    assert.equal(later.upGate, undefined);
    flow.addUp(40);
    clock.advance(0);
    await nextTurn();
    assert.equal(kills, 1);
    assert.equal(later.killed, false);
  });

  test('end with the limits of an account that exists', () => {
    const { tracker } = create();
    void tracker.applyLimits(limited);
    const flow = tracker.openFlow(
      info({ account: { isValid: true, name: 'ann' } }),
      () => undefined,
    );
    void tracker.applyLimits(NO_LIMITS);
    assert.equal(flow.upGate, undefined);
  });
});
