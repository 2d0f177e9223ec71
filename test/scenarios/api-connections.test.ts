import assert from 'node:assert/strict';
import test from 'node:test';
import type { FlowView } from '@weir/server/api/views';
import { freedom, rule, socksIn, blackhole } from '../support/process/config.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { echoServer, udpEcho } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { eventually } from '../support/wait.ts';
import type { SeenEvent } from '../../packages/server/test/conformance/api-client.ts';
import { api, connections, editConfig, start } from './api-support.ts';

const ACCOUNTS = `[inbound.settings]
auth = "password"
accounts = [{ user = "ann", pass = "x" }, { user = "bob", pass = "y" }]`;

const CONFIG =
  socksIn('socks', ACCOUNTS) +
  freedom('out') +
  blackhole() +
  rule('out', 'port = ["1-65535"]') +
  api();

interface Figures {
  readonly up: number;
  readonly down: number;
  readonly flows: number;
}

interface Traffic extends Figures {
  readonly tick: number;
  readonly interval_ms: number;
  readonly inbounds: Readonly<Record<string, Figures>>;
  readonly outbounds: Readonly<Record<string, Figures>>;
}

const flowOf = (event: SeenEvent | undefined): FlowView => event?.data as FlowView;

test('a stream shows in the list with its session, and its events report its opening and closing', async () => {
  await using echo = await echoServer();
  await using running = await start(CONFIG);
  const { weir, client } = running;
  using events = await client.events('/v1/connections/events');
  const before = Date.now();
  const socket = await socksConnect(
    weir.address('socks'),
    { host: 'localhost', port: echo.port },
    { user: 'ann', pass: 'x' },
  );
  await roundTrip(socket, 'x'.repeat(1_000));

  const { sessions, flows } = await connections(client);
  assert.deepEqual([sessions.length, flows.length], [1, 1]);
  const [session] = sessions;
  const [flow] = flows;
  assert.ok(session && flow);
  const { id, started_at: startedAt, ...rest } = flow;
  assert.deepEqual(rest, {
    session: session.id,
    network: 'tcp',
    inbound: 'socks',
    user: 'ann',
    source: '127.0.0.1',
    host: 'localhost',
    port: echo.port,
    sniffed: null,
    outbound: 'out',
    outbound_version: 1,
    rule: 0,
    plane_epoch: 1,
    up: 1_000,
    down: 1_000,
  });
  assert.deepEqual([session.inbound, session.user, session.source], ['socks', 'ann', '127.0.0.1']);
  // The handshake is counted for the session and not for the flow.
  assert.ok(session.up > 1_000 && session.down > 1_000);
  assert.ok(session.up < 1_100 && session.down < 1_100);
  for (const started of [startedAt, session.started_at]) {
    assert.ok(started >= before - 1 && started <= Date.now(), String(started));
  }
  assert.ok(session.started_at <= startedAt);
  assert.equal((await connections(client)).flows[0]?.started_at, startedAt);

  const opened = await events.next();
  assert.equal(opened?.name, 'opened');
  assert.deepEqual([flowOf(opened).id, flowOf(opened).started_at], [id, startedAt]);
  socket.destroy();
  assert.deepEqual(await events.next(), { name: 'closed', data: flow });
  await eventually(
    'the session to go',
    async () => (await connections(client)).sessions.length === 0,
  );
});

test('a flow is closed by its id, and nothing else is', async () => {
  await using echo = await echoServer();
  await using running = await start(CONFIG);
  const { weir, client } = running;
  const open = (user: string, pass: string) =>
    socksConnect(weir.address('socks'), echo.target, { user, pass });
  const [first, second] = [await open('ann', 'x'), await open('bob', 'y')];
  const flows = await eventually('two flows', async () => {
    const list = (await connections(client)).flows;
    return list.length === 2 ? list : undefined;
  });
  const [flow] = flows;
  const ended = readAll(first);
  assert.equal((await client.ask('DELETE', `/v1/connections/${flow?.id}`)).status, 204);
  await ended;
  await eventually('the flow to go', async () => (await connections(client)).flows.length === 1);
  assert.equal((await client.ask('DELETE', `/v1/connections/${flow?.id}`)).status, 404);
  assert.equal(String(await roundTrip(second, 'still here')), 'still here');
  assert.deepEqual(await client.json('DELETE', '/v1/connections?user=ann'), { closed: 0 });
  assert.deepEqual(await client.json('DELETE', '/v1/connections?user=bob&outbound=out'), {
    closed: 1,
  });
  await readAll(second);
});

test('a UDP sub-link that is closed leaves its association, and the next datagram opens another', async () => {
  await using echo = await udpEcho();
  await using running = await start(socksIn() + freedom('out') + api());
  const { weir, client } = running;
  using association = await UdpAssociation.open(weir.address('socks'));
  const exchange = async (text: string): Promise<void> => {
    association.send(echo.target, text);
    assert.equal(String((await association.receive()).data), text);
  };
  await exchange('one');
  const [flow] = (await connections(client)).flows;
  assert.deepEqual(
    [flow?.network, flow?.sniffed, flow?.port, flow?.up],
    ['udp', null, echo.port, 3],
  );
  assert.equal((await client.ask('DELETE', `/v1/connections/${flow?.id}`)).status, 204);
  await eventually('the flow to go', async () => (await connections(client)).flows.length === 0);
  assert.equal((await connections(client)).sessions.length, 1);
  await exchange('two');
  const [next] = (await connections(client)).flows;
  assert.ok((next?.id ?? 0) > (flow?.id ?? 0));
  assert.equal(next?.session, flow?.session);
});

test('traffic is reported once a second, by inbound and by outbound', async () => {
  await using echo = await echoServer();
  await using running = await start(socksIn('entry') + freedom('out') + api());
  const { weir, client } = running;
  using events = await client.events('/v1/traffic');
  const socket = await socksConnect(weir.address('entry'), echo.target);
  await roundTrip(socket, 'x'.repeat(5_000));
  let last = 0;
  const total = await eventually('the bytes to be counted', async () => {
    const event = await events.next();
    assert.equal(event?.name, 'traffic');
    const data = event.data as Traffic;
    assert.ok(last === 0 || data.tick > last);
    last = data.tick;
    assert.ok(data.interval_ms > 0);
    // The second may have ended between both directions.
    return data.up === 5_000 && data.down === 5_000 ? data : undefined;
  });
  const figures = { up: 5_000, down: 5_000, flows: 1 };
  for (const one of [total, total.inbounds['entry'], total.outbounds['out']]) {
    const { up, down, flows } = one ?? {};
    assert.deepEqual({ up, down, flows }, figures);
  }
  socket.destroy();
});

test('flows keep their numbers across a reload, and an outbound that changes gets a new version', async () => {
  await using echo = await echoServer();
  await using running = await start(socksIn() + freedom('out') + api());
  const { weir, client } = running;
  const old = await socksConnect(weir.address('socks'), echo.target);
  await roundTrip(old, 'a');
  await editConfig(weir, (text) =>
    text.replace('protocol = "freedom"', 'protocol = "freedom"\naddress_family = "ipv4_only"'),
  );
  const report = (await client.json('POST', '/v1/reload')) as Record<string, readonly string[]>;
  assert.deepEqual(
    [report['built'], report['drained']],
    [['outbound out@v2', 'route'], ['out@v1']],
  );
  const young = await socksConnect(weir.address('socks'), echo.target);
  await roundTrip(young, 'b');
  const seen = (await connections(client)).flows.map((flow) => [
    flow.outbound_version,
    flow.plane_epoch,
  ]);
  assert.deepEqual(seen, [
    [1, 1],
    [2, 2],
  ]);
  assert.equal(String(await roundTrip(old, 'still')), 'still');
  old.destroy();
  young.destroy();
});
