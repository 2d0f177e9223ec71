import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Tracker, type UsageReport } from '@weir/proxy/tracker';
import { followUsage, requestUsage } from '../../../../src/app/control/control-client.ts';
import type { ControlHandlers } from '../../../../src/app/control/control-handlers.ts';
import { ControlSocket } from '../../../../src/app/control/control-socket.ts';
import {
  ENTRIES_A_LINE,
  usageLines,
  UsageReader,
} from '../../../../src/app/control/usage-messages.ts';
import { UsageReporter } from '../../../../src/app/control/usage-reporter.ts';
import { flowInfo } from '../../../conformance/api-fake.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';
import { eventually } from '../../../../../../test/support/wait.ts';

/** A control socket that reports the usage of a tracker. */
async function reporting() {
  const folder = await scratch();
  const path = join(folder.path, 's');
  const clock = new ManualClock();
  const tracker = new Tracker(clock);
  const reporter = new UsageReporter(tracker, clock);
  const handlers: Pick<ControlHandlers, 'usage' | 'followsUsage'> = {
    usage: (request, client, gone) => reporter.serve(request, client, gone),
    followsUsage: (client) => reporter.isFollower(client),
  };
  const socket = await ControlSocket.open(path, handlers as ControlHandlers);
  return {
    path,
    clock,
    tracker,
    reporter,
    socket,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await reporter.end();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const namesOf = ({ dimensions }: UsageReport, by: string): readonly (string | undefined)[] =>
  dimensions.find((each) => each.by === by)?.entries.map(({ name }) => name) ?? [];

describe('the usage of a running Weir', () => {
  test('is reported in full, and then what has changed since', async () => {
    await using weir = await reporting();
    const { tracker, path } = weir;
    const flow = tracker.openFlow(flowInfo({ inbound: 'a' }), () => undefined);
    tracker.openFlow(flowInfo({ inbound: 'b' }), () => undefined);
    flow.addDown(10);
    const first = await requestUsage(path);
    assert.equal(first.isComplete, true);
    assert.deepEqual(namesOf(first, 'inbound'), ['a', 'b']);
    assert.deepEqual(first.total, { up: 0, down: 10, flows: 2 });
    flow.addUp(5);
    const since = { instance: first.instance, since: first.sequence };
    const second = await requestUsage(path, since);
    assert.equal(second.isComplete, false);
    assert.deepEqual(namesOf(second, 'inbound'), [undefined], 'the first has its name');
    assert.deepEqual(second.total, { up: 5, down: 10, flows: 2 });
  });

  test('is complete for a reader of another process, whose sequence means nothing here', async () => {
    await using weir = await reporting();
    weir.tracker.openFlow(flowInfo(), () => undefined);
    const { sequence } = await requestUsage(weir.path);
    const other = await requestUsage(weir.path, { instance: 'another', since: sequence });
    assert.equal(other.isComplete, true);
    assert.equal(namesOf(other, 'inbound').length, 1);
  });

  test('is that of the wanted dimensions', async () => {
    await using weir = await reporting();
    weir.tracker.openFlow(flowInfo(), () => undefined);
    const { dimensions } = await requestUsage(weir.path, { by: ['user'] });
    assert.deepEqual(
      dimensions.map(({ by }) => by),
      ['user'],
    );
  });

  test('is followed, also after the control socket has closed, until the end', async () => {
    await using weir = await reporting();
    const { tracker, path } = weir;
    const flow = tracker.openFlow(flowInfo(), () => undefined);
    const reports = followUsage(path, { every: 3_600_000 }, new AbortController().signal);
    const next = async () => (await reports.next()).value ?? assert.fail('no report');
    assert.deepEqual((await next()).total, { up: 0, down: 0, flows: 1 });
    weir.socket.close();
    flow.addUp(7);
    flow.close();
    const last = next();
    await weir.reporter.end();
    assert.deepEqual((await last).total, { up: 7, down: 0, flows: 1 });
    assert.equal((await reports.next()).done, true);
  });

  test('is followed at the wanted interval, however late one is, in reports of what has changed', async () => {
    await using weir = await reporting();
    const { clock, tracker, path } = weir;
    tracker.openFlow(flowInfo({ inbound: 'a' }), () => undefined);
    const reports = followUsage(path, { every: 1000 }, new AbortController().signal);
    const sizes: number[] = [];
    // The time at which the next report is due, after one that came late.
    for (const [late, due] of [
      [0, 1000],
      [70, 2000],
      [990, 3000],
      [2500, 6500],
    ] as const) {
      if (sizes.length > 0) clock.advance(clock.next + late - clock.now());
      const { value } = await reports.next();
      sizes.push(value?.dimensions.find(({ by }) => by === 'inbound')?.entries.length ?? -1);
      await eventually('the wait for the next report', () => clock.timers === 1);
      assert.equal(clock.next, due);
    }
    assert.deepEqual(sizes, [1, 0, 0, 0]);
    await reports.return();
  });

  test('is followed without a listener more for each report', async () => {
    await using weir = await reporting();
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const reports = followUsage(weir.path, { every: 100 }, new AbortController().signal);
    for (let count = 0; count < 20; count++) {
      await reports.next();
      await eventually('the wait for the next report', () => weir.clock.timers === 1);
      weir.clock.advance(100);
    }
    await reports.return();
    assert.equal(await Promise.race([warned, Promise.resolve('none')]), 'none');
  });

  test('is followed by a bounded number of clients', async () => {
    await using weir = await reporting();
    const ended = new AbortController();
    const following = Array.from({ length: 16 }, () =>
      followUsage(weir.path, { every: 100 }, ended.signal),
    );
    for (const each of following) await each.next();
    const more = followUsage(weir.path, { every: 100 }, ended.signal);
    await assert.rejects(more.next(), /16 clients follow the usage already/);
    for (const each of following) await each.return();
    await eventually('a place', () =>
      followUsage(weir.path, { every: 100 }, ended.signal)
        .next()
        .then(
          () => true,
          () => false,
        ),
    );
    ended.abort();
  });

  test('is not reported for an invalid request', async () => {
    await using weir = await reporting();
    const follow = followUsage(weir.path, { every: 1 }, new AbortController().signal);
    await assert.rejects(follow.next(), /expected {"instance":TEXT/);
    await assert.rejects(requestUsage(weir.path, { since: -1 }), /expected {"instance":TEXT/);
  });
});

describe('the lines of a report', () => {
  const counts = { up: 1, down: 2, flows: 3 };
  const entries = Array.from({ length: 2 * ENTRIES_A_LINE + 1 }, (_, index) => ({
    id: index + 1,
    name: index % 2 === 0 ? `n${index}` : undefined,
    ...counts,
  }));
  const report = {
    instance: 'i',
    sequence: 4,
    isComplete: false,
    total: counts,
    removed: [7],
    dimensions: [
      { by: 'user' as const, other: counts, entries },
      { by: 'host' as const, other: counts, entries: [] },
    ],
  };

  test('are put together as they were', () => {
    const reader = new UsageReader();
    const lines = [...usageLines(report)];
    assert.equal(lines.length, 1 + 3 + 1 + 1);
    for (const line of lines) assert.equal(reader.add(JSON.parse(line)), true);
    assert.deepEqual(reader.result, report);
  });

  test('are a report only with the last one', () => {
    const reader = new UsageReader();
    for (const line of [...usageLines(report)].slice(0, -1)) reader.add(JSON.parse(line));
    assert.equal(reader.result, undefined);
  });

  for (const line of [
    null,
    {},
    { end: false },
    { by: 'colour', other: counts, counts: [], names: [] },
    { by: 'user', other: counts, counts: [1, 2, 3], names: [] },
    { by: 'user', other: counts, counts: [], names: [[1]] },
  ]) {
    test(`are nothing like ${JSON.stringify(line)}`, () => {
      const reader = new UsageReader();
      assert.equal(reader.add(line), false);
      const [head = ''] = usageLines(report);
      assert.equal(reader.add(JSON.parse(head)), true);
      assert.equal(reader.add(line), false);
    });
  }

  test('have no counts that are negative or broken', () => {
    const reader = new UsageReader();
    const [head = ''] = usageLines(report);
    const line = JSON.parse(head) as object;
    for (const up of [-1, 0.5, 2 ** 60]) {
      assert.equal(reader.add({ ...line, total: { ...counts, up } }), false);
    }
    assert.equal(reader.add(line), true);
  });
});
