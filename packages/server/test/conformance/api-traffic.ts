import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { eventually } from '../../../../test/support/wait.ts';
import type { SeenEvent } from './api-client.ts';
import { openFlow } from './api-fake.ts';
import { serve, type Carrier, type Served } from './api-harness.ts';

const PATH = '/v1/traffic';

/** One tick of the sampler, and time for the feeds to see it. */
async function tick(api: Served): Promise<void> {
  api.app.clock.advance(1_000);
  await turn();
}

const tickOf = (event: SeenEvent | undefined): number | undefined =>
  (event?.data as { tick?: number } | undefined)?.tick;

export function trafficSuite(carrier: Carrier): void {
  describe('GET /v1/traffic', () => {
    test('is an event stream that is not to be cached', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      assert.equal(events.contentType, 'text/event-stream');
      assert.equal(events.message.headers['cache-control'], 'no-cache');
    });

    test('sends one event a second with totals, rates, flows and both maps', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      const flow = openFlow(api.app, { inbound: 'socks', outbound: 'b', user: 'ann' });
      const other = openFlow(api.app, { inbound: '10', outbound: 'a' });
      flow.addUp(1_000);
      flow.addDown(2_000);
      other.addUp(10);
      other.close();
      await tick(api);
      const idle = { up: 0, down: 0, up_rate: 0, down_rate: 0, flows: 0 };
      const busy = { up: 1_000, down: 2_000, up_rate: 1_000, down_rate: 2_000, flows: 1 };
      const past = { ...idle, up: 10, up_rate: 10 };
      assert.deepEqual(await events.next(), {
        name: 'traffic',
        data: {
          tick: 1,
          interval_ms: 1_000,
          up: 1_010,
          down: 2_000,
          up_rate: 1_010,
          down_rate: 2_000,
          flows: 1,
          inbounds: { 10: past, socks: busy },
          outbounds: { a: past, b: busy },
        },
      });
      await tick(api);
      const next = (await events.next())?.data as Record<string, unknown>;
      assert.deepEqual(
        [next['tick'], next['up'], next['up_rate'], next['flows']],
        [2, 1_010, 0, 1],
      );
      assert.deepEqual(next['inbounds'], {
        10: { ...past, up_rate: 0 },
        socks: { ...busy, up_rate: 0, down_rate: 0 },
      });
    });

    test('fields come in their order, tags sorted, also those that look like numbers', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      for (const inbound of ['z', '9', '10', '__proto__', 'A']) openFlow(api.app, { inbound });
      let text = '';
      events.message.on('data', (chunk: string) => void (text += chunk));
      await tick(api);
      await eventually('an event', () => text.includes('\n\n'));
      assert.match(
        text,
        /\{"tick":1,"interval_ms":1000,"up":0,"down":0,"up_rate":0,"down_rate":0,"flows":5,"inbounds":\{"10":\{"up":0,"down":0,"up_rate":0,"down_rate":0,"flows":1\},"9":.*,"A":.*,"__proto__":.*,"z":.*\},"outbounds":\{"tokyo":/,
      );
    });

    test('users are not listed', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      openFlow(api.app, { user: 'ann' });
      await tick(api);
      assert.doesNotMatch(JSON.stringify(await events.next()), /user|ann/);
    });

    test('skips the sample of the moment it begins', async () => {
      await using api = await serve(carrier);
      await tick(api);
      await tick(api);
      using events = await api.client.events(PATH);
      await tick(api);
      assert.equal(tickOf(await events.next()), 3);
    });

    test('counts ticks from the start, with or without clients', async () => {
      await using api = await serve(carrier);
      for (let i = 0; i < 5; i++) await tick(api);
      using first = await api.client.events(PATH);
      await tick(api);
      using second = await api.client.events(PATH);
      await tick(api);
      assert.deepEqual((await first.take(2)).map(tickOf), [6, 7]);
      assert.equal(tickOf(await second.next()), 7);
    });

    test('a client that is slower than the tick misses ticks, without a backlog', async () => {
      await using api = await serve(carrier);
      // Many tags make a sample large, so that a client that does not read is soon behind.
      for (let i = 0; i < 3_000; i++) openFlow(api.app, { outbound: `outbound-${i}` }).close();
      using events = await api.client.events(PATH);
      events.message.pause();
      for (let i = 0; i < 60; i++) await tick(api);
      events.message.resume();
      const ticks: number[] = [];
      while (ticks.at(-1) !== 60) {
        const event = await events.next();
        if (event?.name === 'traffic') ticks.push(tickOf(event) ?? 0);
      }
      assert.ok(ticks.length < 60, `${ticks.length} of 60 ticks`);
      assert.deepEqual(
        ticks,
        ticks.toSorted((a, b) => a - b),
      );
    });

    test('ends when the sampler stops', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      api.app.tracker.traffic.stop();
      assert.equal(await events.next(), undefined);
      using late = await api.client.events(PATH);
      assert.equal(await late.next(), undefined);
    });

    test('a dropped connection ends its subscription', async () => {
      await using api = await serve(carrier);
      const timers = api.app.clock.timers;
      for (let i = 0; i < 3; i++) {
        const events = await api.client.events(PATH);
        events[Symbol.dispose]();
      }
      await eventually('the subscriptions to go', () => api.app.clock.timers === timers);
    });
  });
}
