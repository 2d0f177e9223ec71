import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KEPT_EVENTS } from '@weir/proxy/tracker';
import { eventually } from '../../../../test/support/wait.ts';
import type { SeenEvent } from './api-client.ts';
import { openFlow } from './api-fake.ts';
import { serve, type Carrier } from './api-harness.ts';

const PATH = '/v1/connections/events';

/** An event in short: its name and the flow's id. */
const brief = (event: SeenEvent | undefined): readonly [string, number | undefined] => [
  event?.name ?? 'end',
  (event?.data as { id?: number } | undefined)?.id,
];

const upOf = (event: SeenEvent | undefined): number | undefined =>
  (event?.data as { up?: number } | undefined)?.up;

export function eventsSuite(carrier: Carrier): void {
  describe('GET /v1/connections/events', () => {
    test('is an event stream that is not to be cached', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      assert.equal(events.contentType, 'text/event-stream');
      assert.equal(events.message.headers['cache-control'], 'no-cache');
    });

    test('reports openings and closings with the view of the flow', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      const flow = openFlow(api.app, { user: 'ann', rule: 2 });
      const opened = await events.next();
      const view = ((await api.client.json('GET', '/v1/connections')) as { flows: object[] })
        .flows[0];
      assert.deepEqual(opened, { name: 'opened', data: view });
      flow.addUp(5);
      flow.addDown(6);
      flow.close();
      assert.deepEqual(await events.next(), { name: 'closed', data: { ...view, up: 5, down: 6 } });
    });

    test('begins at the subscription: a closing may come without its opening', async () => {
      await using api = await serve(carrier);
      const early = openFlow(api.app);
      using events = await api.client.events(PATH);
      early.close();
      const late = openFlow(api.app);
      assert.deepEqual((await events.take(2)).map(brief), [
        ['closed', early.id],
        ['opened', late.id],
      ]);
    });

    test('an opening that is read late has the counts of that moment', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      const flow = openFlow(api.app);
      flow.addUp(1_000);
      flow.close();
      const [opened, closed] = await events.take(2);
      assert.deepEqual([upOf(opened), upOf(closed)], [1_000, 1_000]);
    });

    test('every client receives every event', async () => {
      await using api = await serve(carrier);
      using first = await api.client.events(PATH);
      const one = openFlow(api.app);
      using second = await api.client.events(PATH);
      const two = openFlow(api.app);
      assert.deepEqual((await first.take(2)).map(brief), [
        ['opened', one.id],
        ['opened', two.id],
      ]);
      assert.deepEqual(brief(await second.next()), ['opened', two.id]);
    });

    test('a kill by the API is seen as a closing', async () => {
      await using api = await serve(carrier);
      const flow = openFlow(api.app);
      using events = await api.client.events(PATH);
      await api.client.ask('DELETE', `/v1/connections/${flow.id}`);
      assert.deepEqual(brief(await events.next()), ['closed', flow.id]);
    });

    test(`${KEPT_EVENTS} events at once all arrive`, async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      const ids = Array.from({ length: KEPT_EVENTS }, () => openFlow(api.app).id);
      const seen = await events.take(KEPT_EVENTS);
      assert.deepEqual(
        seen.map(brief),
        ids.map((id) => ['opened', id]),
      );
    });

    test('of more, what was missed is counted, and the oldest kept come next', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      const ids = Array.from({ length: KEPT_EVENTS + 300 }, () => openFlow(api.app).id);
      const seen = await events.take(KEPT_EVENTS + 1);
      assert.deepEqual(seen[0], { name: 'lagged', data: { missed: 300 } });
      assert.deepEqual(
        seen.slice(1).map(brief),
        ids.slice(300).map((id) => ['opened', id]),
      );
      const next = openFlow(api.app);
      assert.deepEqual(brief(await events.next()), ['opened', next.id]);
    });

    test('a client that does not read for long receives the exact number of events that it missed', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      events.message.pause();
      let published = 0;
      const lagging = (): boolean => {
        // Far more than the sockets on the way can hold.
        for (let i = 0; i < 500; i++) {
          openFlow(api.app).close();
          published += 2;
        }
        return published > 60_000;
      };
      await eventually('enough events', lagging);
      events.message.resume();
      let [received, missed] = [0, 0];
      let last: SeenEvent | undefined;
      while (received + missed < published) {
        last = await events.next();
        if (last?.name === 'lagged') missed += (last.data as { missed: number }).missed;
        else if (last && last.name !== ':') received++;
      }
      assert.equal(received + missed, published);
      assert.ok(missed > 0);
      assert.deepEqual(brief(last), ['closed', published / 2]);
    });

    test('a client that never reads does not hold up the others', async () => {
      await using api = await serve(carrier);
      using deaf = await api.client.events(PATH);
      deaf.message.pause();
      using events = await api.client.events(PATH);
      for (let round = 0; round < 40; round++) {
        for (let i = 0; i < 400; i++) openFlow(api.app).close();
        const seen = await events.take(800);
        assert.deepEqual(brief(seen.at(-1)), ['closed', (round + 1) * 400]);
      }
    });

    test('15 seconds without an event bring a comment, an event postpones it', async () => {
      await using api = await serve(carrier);
      using events = await api.client.events(PATH);
      api.app.clock.advance(14_999);
      const flow = openFlow(api.app);
      assert.deepEqual(brief(await events.next()), ['opened', flow.id]);
      api.app.clock.advance(14_999);
      openFlow(api.app);
      assert.equal((await events.next())?.name, 'opened');
      api.app.clock.advance(15_000);
      assert.equal((await events.next())?.name, ':');
      api.app.clock.advance(15_000);
      assert.equal((await events.next())?.name, ':');
    });

    test('a dropped connection ends its subscription', async () => {
      await using api = await serve(carrier);
      const timers = api.app.clock.timers;
      for (let i = 0; i < 5; i++) {
        const events = await api.client.events(PATH);
        openFlow(api.app).close();
        await events.next();
        events[Symbol.dispose]();
      }
      await eventually('the subscriptions to go', () => api.app.clock.timers === timers);
      openFlow(api.app).close();
      assert.equal((await api.client.get('/v1/health')).status, 200);
    });

    test('a client that half-closes ends its subscription', async () => {
      await using api = await serve(carrier);
      const reply = await api.client.raw(`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`, {
        end: true,
      });
      assert.match(reply, /^HTTP\/1\.1 200 [^]*text\/event-stream/);
    });

    test('HTTP/1.0 gets the stream without chunks', async () => {
      await using api = await serve(carrier);
      const socket = await api.client.connect();
      socket.setEncoding('utf8').write(`GET ${PATH} HTTP/1.0\r\n\r\n`);
      let seen = '';
      socket.on('data', (text: string) => void (seen += text));
      await eventually('the head', () => seen.includes('\r\n\r\n'));
      openFlow(api.app);
      await eventually('an event', () => /\r\n\r\nevent: opened\ndata: \{.*\}\n\n$/.test(seen));
      socket.destroy();
    });
  });
}
