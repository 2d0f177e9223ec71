import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FlowInfo } from '../../../proxy/src/tracker/flow.ts';
import { openFlow, openSlowFlow } from './api-fake.ts';
import { serve, type Carrier, type Served } from './api-harness.ts';

const NO_WIRE = { bytesRead: 0, bytesWritten: 0 };

interface View {
  readonly id: number;
  readonly started_at: number;
}

interface Connections {
  readonly sessions: readonly (View & Record<string, unknown>)[];
  readonly flows: readonly (View & Record<string, unknown>)[];
}

const list = async (api: Served): Promise<Connections> =>
  (await api.client.json('GET', '/v1/connections')) as Connections;

export function connectionsSuite(carrier: Carrier): void {
  describe('GET /v1/connections', () => {
    test('is two empty lists when nothing is live', async () => {
      await using api = await serve(carrier);
      const { text } = await api.client.get('/v1/connections');
      assert.equal(text, '{"sessions":[],"flows":[]}');
    });

    test('shows every field of a session and of its flow', async () => {
      await using api = await serve(carrier);
      const { tracker } = api.app;
      const session = tracker.openSession('socks', '10.1.2.3', {
        bytesRead: 120,
        bytesWritten: 4_000,
      });
      const flow = openFlow(api.app, {
        session,
        user: 'ann',
        source: '10.1.2.3',
        destination: { network: 'udp', host: 'xn--bcher-kva.example', port: 53 },
        sniffed: 'books.example',
        outbound: 'osaka "2"',
        outboundVersion: 3,
        rule: 0,
        routingEpoch: 7,
      });
      flow.addUp(11);
      flow.addDown(22);
      const started = api.app.clock.wall();
      assert.deepEqual(await list(api), {
        sessions: [
          {
            id: session.id,
            inbound: 'socks',
            source: '10.1.2.3',
            user: 'ann',
            up: 120,
            down: 4_000,
            started_at: started,
          },
        ],
        flows: [
          {
            id: flow.id,
            session: session.id,
            network: 'udp',
            inbound: 'socks',
            user: 'ann',
            source: '10.1.2.3',
            host: 'xn--bcher-kva.example',
            port: 53,
            sniffed: 'books.example',
            outbound: 'osaka "2"',
            outbound_version: 3,
            rule: 0,
            plane_epoch: 7,
            started_at: started,
            up: 11,
            down: 22,
          },
        ],
      });
    });

    test('writes null for what there is not', async () => {
      await using api = await serve(carrier);
      api.app.tracker.openSession('in', undefined, NO_WIRE);
      openFlow(api.app, { source: undefined, outbound: '', outboundVersion: 0 });
      const { sessions, flows } = await list(api);
      assert.deepEqual([sessions[0]?.['source'], sessions[0]?.['user']], [null, null]);
      const names = ['session', 'user', 'source', 'sniffed', 'rule', 'outbound'];
      const seen = names.map((name) => flows[0]?.[name]);
      assert.deepEqual(seen, [null, null, null, null, null, '']);
    });

    test('a session names its user once its first flow has bound it', async () => {
      await using api = await serve(carrier);
      const session = api.app.tracker.openSession('in', '::1', NO_WIRE);
      assert.equal((await list(api)).sessions[0]?.['user'], null);
      openFlow(api.app, { session, user: 'bob' });
      assert.equal((await list(api)).sessions[0]?.['user'], 'bob');
    });

    test('sorts both by id', async () => {
      await using api = await serve(carrier);
      const sessions = Array.from({ length: 12 }, () =>
        api.app.tracker.openSession('in', '::1', NO_WIRE),
      );
      const flows = Array.from({ length: 12 }, () => openFlow(api.app));
      sessions[4]?.close();
      flows[7]?.close();
      const seen = await list(api);
      const ids = (views: readonly View[]): number[] => views.map(({ id }) => id);
      assert.deepEqual(
        ids(seen.sessions),
        sessions.filter((_, i) => i !== 4).map(({ id }) => id),
      );
      assert.deepEqual(
        ids(seen.flows),
        flows.filter((_, i) => i !== 7).map(({ id }) => id),
      );
    });

    test('a session may have no flow, and a flow a session that is not listed', async () => {
      await using api = await serve(carrier);
      const gone = api.app.tracker.openSession('in', '::1', NO_WIRE);
      const flow = openFlow(api.app, { session: gone });
      const idle = api.app.tracker.openSession('in', '::1', NO_WIRE);
      gone.close();
      const seen = await list(api);
      assert.deepEqual(
        seen.sessions.map(({ id }) => id),
        [idle.id],
      );
      assert.deepEqual(
        seen.flows.map(({ id, session }) => [id, session]),
        [[flow.id, gone.id]],
      );
    });

    test('a start is now less what has passed, so a step of the wall clock moves it', async () => {
      await using api = await serve(carrier);
      const { clock } = api.app;
      const opened = clock.wall();
      openFlow(api.app);
      clock.advance(90_000);
      assert.equal((await list(api)).flows[0]?.started_at, opened);
      clock.stepWall(3_600_000);
      assert.equal((await list(api)).flows[0]?.started_at, opened + 3_600_000);
      clock.stepWall(-7_200_000);
      assert.equal((await list(api)).flows[0]?.started_at, opened - 3_600_000);
    });

    test('a start before 1970 is 0', async () => {
      await using api = await serve(carrier);
      openFlow(api.app);
      api.app.tracker.openSession('in', '::1', NO_WIRE);
      api.app.clock.stepWall(-api.app.clock.wall() - 1_000);
      const { flows, sessions } = await list(api);
      assert.deepEqual([flows[0]?.started_at, sessions[0]?.started_at], [0, 0]);
    });

    test('a start beyond 64 bits stays at their end', async () => {
      await using api = await serve(carrier);
      openFlow(api.app);
      api.app.clock.stepWall(1e30);
      const { text } = await api.client.get('/v1/connections');
      assert.match(text, /"started_at":18446744073709551615,/);
    });

    test('large counts are whole numbers', async () => {
      await using api = await serve(carrier);
      const flow = openFlow(api.app);
      flow.addUp(Number.MAX_SAFE_INTEGER);
      const { text } = await api.client.get('/v1/connections');
      assert.match(text, /"up":9007199254740991,/);
    });

    test('texts of clients are escaped', async () => {
      await using api = await serve(carrier);
      const user = '"\\\u0000\n<\u2028>\ud800';
      openFlow(api.app, { user, sniffed: user });
      assert.equal((await list(api)).flows[0]?.['sniffed'], user);
    });
  });

  describe('DELETE /v1/connections/{flow}', () => {
    test('closes that flow alone: 204 without a body, then 404', async () => {
      await using api = await serve(carrier);
      const [flow, other] = [openFlow(api.app), openFlow(api.app)];
      const first = await api.client.ask('DELETE', `/v1/connections/${flow.id}`);
      assert.deepEqual(
        [first.status, first.text, first.headers['content-type']],
        [204, '', undefined],
      );
      const second = await api.client.ask('DELETE', `/v1/connections/${flow.id}`);
      assert.equal(second.status, 404);
      assert.deepEqual(JSON.parse(second.text), { error: `no live flow ${flow.id}` });
      assert.deepEqual(
        (await list(api)).flows.map(({ id }) => id),
        [other.id],
      );
    });

    test('of a flow that was killed and still lives is 204 again', async () => {
      await using api = await serve(carrier);
      const flow = openSlowFlow(api.app);
      for (let i = 0; i < 3; i++) {
        assert.equal((await api.client.ask('DELETE', `/v1/connections/${flow.id}`)).status, 204);
      }
      flow.close();
      assert.equal((await api.client.ask('DELETE', `/v1/connections/${flow.id}`)).status, 404);
    });

    test('of a number that no flow has is 404', async () => {
      await using api = await serve(carrier);
      openFlow(api.app);
      for (const [path, shown] of [
        ['002', '2'],
        ['%32', '2'],
        ['18446744073709551615', '18446744073709551615'],
      ] as const) {
        const { status, text } = await api.client.ask('DELETE', `/v1/connections/${path}`);
        assert.equal(status, 404, path);
        assert.deepEqual(JSON.parse(text), { error: `no live flow ${shown}` });
      }
    });

    test('of what is no unsigned 64-bit number is 400 in plain text', async () => {
      await using api = await serve(carrier);
      for (const [path, shown] of [
        ['-1', '-1'],
        ['18446744073709551616', '18446744073709551616'],
        ['%C3%BC', 'ü'],
        ['1%2F2', '1/2'],
      ] as const) {
        const { status, headers, text } = await api.client.ask('DELETE', `/v1/connections/${path}`);
        assert.equal(status, 400, path);
        assert.match(headers['content-type'] ?? '', /^text\/plain/);
        assert.equal(text, `Invalid URL: Cannot parse \`${shown}\` to a \`u64\``);
      }
      const { status, text } = await api.client.ask('DELETE', '/v1/connections/%FF');
      assert.deepEqual([status, text], [400, 'Invalid URL: Invalid UTF-8 in `flow`']);
    });

    test('of the path of the events is 405', async () => {
      await using api = await serve(carrier);
      assert.equal((await api.client.ask('DELETE', '/v1/connections/events')).status, 405);
    });

    test('does not look at a query', async () => {
      await using api = await serve(carrier);
      const flow = openFlow(api.app);
      const { status } = await api.client.ask('DELETE', `/v1/connections/${flow.id}?nonsense=1`);
      assert.equal(status, 204);
    });
  });

  describe('DELETE /v1/connections', () => {
    const close = async (api: Served, query: string): Promise<unknown> =>
      api.client.json('DELETE', `/v1/connections${query}`);

    test('without a parameter closes every live flow and counts them', async () => {
      await using api = await serve(carrier);
      for (let i = 0; i < 5; i++) openFlow(api.app);
      assert.deepEqual(await close(api, ''), { closed: 5 });
      assert.deepEqual(await close(api, '?'), { closed: 0 });
      assert.deepEqual((await list(api)).flows, []);
    });

    test('flows already killed are skipped', async () => {
      await using api = await serve(carrier);
      openSlowFlow(api.app);
      openSlowFlow(api.app);
      assert.deepEqual(await close(api, ''), { closed: 2 });
      assert.deepEqual(await close(api, ''), { closed: 0 });
      assert.equal((await list(api)).flows.length, 2);
    });

    test('a flow matches when it matches every parameter', async () => {
      await using api = await serve(carrier);
      const { tracker } = api.app;
      const session = tracker.openSession('in', '::1', NO_WIRE);
      const make = (over: Partial<FlowInfo>): number => openSlowFlow(api.app, over).id;
      const all = [
        make({ outbound: 'a', inbound: 'x', user: 'ann', session }),
        make({ outbound: 'a', inbound: 'y', user: 'bob' }),
        make({ outbound: 'a', inbound: 'x', outboundVersion: 9 }),
        make({ outbound: '', inbound: 'dns' }),
        make({ outbound: 'b c&d=é', inbound: 'x', user: '' }),
      ];
      for (const [query, closed] of [
        ['?outbound=A', 0],
        ['?outbound=a&inbound=z', 0],
        ['?outbound=a&user=carol', 0],
        ['?outbound=a&inbound=x&user=ann&session=99', 0],
        [`?outbound=a&inbound=x&user=ann&session=${session.id}`, 1],
        ['?outbound=', 1],
        ['?user=', 1],
        ['?user', 0],
        ['?inbound=x&outbound=a', 1],
        ['?outbound=a', 1],
        ['', 0],
      ] as const) {
        assert.deepEqual(await close(api, query), { closed }, query);
      }
      assert.equal(all.length, 5);
    });

    test('anonymous flows never match a user, flows without a session never a session', async () => {
      await using api = await serve(carrier);
      openFlow(api.app);
      assert.deepEqual(await close(api, '?user='), { closed: 0 });
      assert.deepEqual(await close(api, '?session=0'), { closed: 0 });
      assert.deepEqual(await close(api, '?session=18446744073709551615'), { closed: 0 });
    });

    test('a parameter that is unknown, repeated or no number is 400, and closes nothing', async () => {
      await using api = await serve(carrier);
      openFlow(api.app, { outbound: 'a' });
      for (const query of ['x=1', 'outbound=a&outbound=b', 'session=abc', 'outbound=a&session=x']) {
        const { status, headers, text } = await api.client.ask(
          'DELETE',
          `/v1/connections?${query}`,
        );
        assert.equal(status, 400, query);
        assert.equal(headers['content-type'], 'application/json');
        const body = JSON.parse(text) as { error: string };
        assert.deepEqual(Object.keys(body), ['error']);
        assert.ok(body.error.startsWith('Failed to deserialize query string:'), text);
      }
      assert.equal((await list(api)).flows.length, 1);
    });
  });
}
