import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  StartTimes,
  flowView,
  sessionView,
  trafficJson,
  trafficView,
} from '@weir/server/api/views';
import { callbackLogger, type LogLine } from '../../../src/library/weir.ts';
import { flowEvents, trafficSamples } from '../../../src/library/streams.ts';
import { chooseFilter } from '@weir/base/log';
import { KEPT_EVENTS, Tracker } from '@weir/proxy/tracker';
import type { Flow, FlowInfo } from '../../../../proxy/src/tracker/flow.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

const NO_WIRE = { bytesRead: 12, bytesWritten: 34 };

function subject() {
  const clock = new ManualClock(5_000.25);
  const tracker = new Tracker(clock);
  const ending = new AbortController();
  const times = new StartTimes(clock);
  return {
    clock,
    tracker,
    times,
    ending,
    open: (over: Partial<FlowInfo> = {}): Flow =>
      tracker.openFlow(
        {
          session: undefined,
          inbound: 'in',
          user: undefined,
          source: undefined,
          destination: { network: 'tcp', host: 'a.example', port: 443 },
          sniffed: undefined,
          outbound: 'out',
          outboundVersion: 3,
          rule: undefined,
          routingEpoch: 7,
          ...over,
        },
        () => undefined,
      ),
    events: () => flowEvents(tracker.events.subscribe(), times, ending.signal),
    samples: () => trafficSamples(tracker.traffic, ending.signal),
  };
}

describe('views', () => {
  test('have the fields of the API in its order', () => {
    const { tracker, open } = subject();
    const session = tracker.openSession('in', '192.0.2.1', NO_WIRE);
    const full = open({
      session,
      user: 'ann',
      source: '192.0.2.1',
      sniffed: 'b.example',
      rule: 0,
      destination: { network: 'udp', host: '::1', port: 53 },
    });
    full.addUp(5);
    assert.equal(
      JSON.stringify(flowView(full, 1_700_000_000_000.9)),
      '{"id":1,"session":1,"network":"udp","inbound":"in","user":"ann","source":"192.0.2.1",' +
        '"host":"::1","port":53,"sniffed":"b.example","outbound":"out","outbound_version":3,"rule":0,' +
        '"plane_epoch":7,"started_at":1700000005001,"up":5,"down":0}',
    );
    const { session: none, user, source, sniffed, rule, started_at } = flowView(open(), -1e9);
    assert.deepEqual(
      [none, user, source, sniffed, rule, started_at],
      [null, null, null, null, null, 0],
    );
    const [one] = tracker.sessions().map((each) => JSON.stringify(sessionView(each, 0)));
    assert.equal(
      one,
      '{"id":1,"inbound":"in","source":"192.0.2.1","user":"ann","up":12,"down":34,"started_at":5000}',
    );
  });

  test('of traffic are what the API writes, but for the order of tags that look like numbers', () => {
    const { tracker, clock, open } = subject();
    tracker.traffic.start();
    open({ inbound: 'b' }).addUp(1500);
    open({ inbound: '7' });
    clock.advance(1000);
    const { latest } = tracker.traffic;
    assert.ok(latest?.tick === 1);
    const written = trafficJson(latest);
    assert.deepEqual(JSON.parse(written), trafficView(latest));
    assert.match(written, /^\{"tick":1,"interval_ms":1000,"up":1500,"down":0,"up_rate":1500,/);
    assert.ok(latest.inbounds.size === 2);
    for (const [a, b] of [[...latest.inbounds.keys()]]) {
      assert.ok(written.indexOf(`"${a}":{`) < written.indexOf(`"${b}":{`));
    }
    tracker.traffic.stop();
  });

  test('show a tag that is the name of a prototype as any other', () => {
    const { tracker, clock, open } = subject();
    tracker.traffic.start();
    open({ inbound: '__proto__' });
    clock.advance(1000);
    const { latest } = tracker.traffic;
    assert.ok(latest);
    assert.deepEqual(Object.keys(trafficView(latest).inbounds), ['__proto__']);
    tracker.traffic.stop();
  });
});

describe('a stream of flow events', () => {
  test('begins with the call and tells of counts as they are when it is read', async () => {
    const { open, events } = subject();
    open();
    const stream = events();
    const flow = open();
    flow.addUp(3);
    const opened = await stream.next();
    flow.addDown(4);
    flow.close();
    const closed = await stream.next();
    assert.ok(opened.value?.event === 'opened' && closed.value?.event === 'closed');
    assert.deepEqual([opened.value.flow.id, opened.value.flow.up], [2, 3]);
    assert.deepEqual([closed.value.flow.up, closed.value.flow.down], [3, 4]);
    stream.close();
  });

  test('tells a reader that fell behind how many it missed', async () => {
    const { open, events } = subject();
    await using stream = events();
    for (let count = 0; count < KEPT_EVENTS + 5; count++) open();
    assert.deepEqual((await stream.next()).value, { event: 'lagged', missed: 5 });
    const next = await stream.next();
    assert.ok(next.value?.event === 'opened' && next.value.flow.id === 6);
  });

  test('answers reads that were begun together each with what comes next', async () => {
    const { open, events } = subject();
    await using stream = events();
    const reads = [stream.next(), stream.next(), stream.next()];
    for (let count = 0; count < 3; count++) open();
    const ids = (await Promise.all(reads)).map(({ value }) =>
      value && value.event !== 'lagged' ? value.flow.id : undefined,
    );
    assert.deepEqual(ids, [1, 2, 3]);
  });

  test('ends with its close, with a break, and with the end of everything', async () => {
    const { open, events, ending } = subject();
    const closing = events();
    const waiting = closing.next();
    closing.close();
    assert.equal((await waiting).done, true);
    open();
    assert.equal((await closing.next()).done, true);

    const broken = events();
    open();
    for await (const event of broken) {
      assert.equal(event.event, 'opened');
      break;
    }
    assert.equal((await broken.next()).done, true);

    const last = events();
    const read = last.next();
    ending.abort();
    assert.equal((await read).done, true);
    assert.equal((await events().next()).done, true);
  });
});

describe('a stream of traffic', () => {
  test('skips the sample of the call, and those that were not read in time', async () => {
    const { tracker, clock, samples } = subject();
    tracker.traffic.start();
    await using stream = samples();
    clock.advance(1000);
    assert.equal((await stream.next()).value?.tick, 1);
    const waiting = stream.next();
    await turn();
    clock.advance(1000);
    assert.equal((await waiting).value?.tick, 2);
    clock.advance(3000);
    assert.equal((await stream.next()).value?.tick, 5);
    tracker.traffic.stop();
    assert.equal((await stream.next()).done, true);
  });
});

describe('a logger that calls back', () => {
  const lines: LogLine[] = [];
  const log = callbackLogger(chooseFilter(undefined, 'warn,a::b=trace'), (l) => lines.push(l), 'a');

  test('gives lines in their parts, as far as the filter lets them through', () => {
    log.info('not this');
    log.warn('this');
    log.target('a::b').trace(['and this', 'with more']);
    assert.deepEqual(
      lines.map(({ level, target, message }) => [level, target, message]),
      [
        ['warn', 'a', 'this'],
        ['trace', 'a::b', 'and this'],
        ['trace', 'a::b', 'with more'],
      ],
    );
    assert.ok(lines.every(({ time }) => time instanceof Date));
    assert.deepEqual([log.enabled('info'), log.target('a::b').enabled('info')], [false, true]);
  });
});
