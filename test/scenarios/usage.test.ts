import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestReload, requestUsage } from '@weir/server/control';
import type { UsageDimension } from '@weir/proxy/tracker';
import { UsageDatabase, UsageWriter } from '@weir/watch/usage';
import { KnownRandom } from '../support/known-random.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { Weir } from '../support/process/weir.ts';
import { readAll } from '../support/read.ts';
import { UsageRig } from '../support/usage/usage-rig.ts';
import { eventually } from '../support/wait.ts';

/** Numbers from 0 to 1, the same in every run. */
function numbers(): () => number {
  const random = new KnownRandom('usage');
  return () => random.below(1 << 30) / (1 << 30);
}

test('a recorder that is killed, and reloads, lose nothing and count nothing twice', async () => {
  await using rig = await UsageRig.start(20, numbers());
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const before = rig.recordedByUser();
    rig.moved = new Map();
    rig.startClients(4);
    await eventually('some flows', () => rig.moved.size > 3);
    await rig.end('recorder', signal);
    await rig.reload();
    await rig.startRecorder();
    await rig.stopClients();
    await rig.untilAllRecorded(before);
  }
});

test('a Weir that is killed loses what was not read, and the next one is recorded', async () => {
  await using rig = await UsageRig.start(20, numbers());
  rig.startClients(4);
  await eventually('some usage', () => rig.recorded().flows > 3);
  await rig.end('weir', 'SIGKILL');
  await rig.stopClients();
  const { up, down } = rig.recorded();
  assert.ok(up <= rig.sent && down <= rig.sent, `${up} and ${down} of ${rig.sent}`);
  await rig.startWeir();
  await rig.recording();
  const before = rig.recordedByUser();
  rig.moved = new Map();
  rig.startClients(2);
  await eventually('more flows', () => rig.moved.size > 3);
  await rig.stopClients();
  await rig.untilAllRecorded(before);
});

const IDS = ['b831381d-6324-4d53-ad4f-8cda48b30811', 'c831381d-6324-4d53-ad4f-8cda48b30811'];

const vlessIn = (name: string): string => `[[inbound]]
tag = "vless"
protocol = "vless"
port = 0
[inbound.settings]
users = [
  { id = "${IDS[0]}" }, # name: ${name}
  { id = "${IDS[1]}" },
]
`;

test('users of VLESS have the name in their comment, also a new one after a reload, and none in the API', async () => {
  await using origin = await echoServer();
  const api = API + vlessIn('ann') + freedom();
  await using server = await Weir.start(api, { control: true });
  const vless = server.address('vless');
  const outbounds = IDS.map((id, index) => proxyOut(`o${index}`, 'vless', vless, `id = "${id}"`));
  const config = [
    socksIn('s0'),
    socksIn('s1'),
    ...outbounds,
    rule('o1', 'inbound_tag = ["s1"]'),
    rule('o0', 'inbound_tag = ["s0"]'),
  ];
  await using client = await Weir.start(config.join(''));
  const flow = async (inbound: string): Promise<void> => {
    const socket = await socksConnect(client.address(inbound), origin.target);
    socket.end('hello');
    assert.equal((await readAll(socket)).data.toString(), 'hello');
  };
  const usageOf = async (by: UsageDimension) => {
    const { dimensions } = await requestUsage(server.controlPath, { by: [by] });
    const entries = dimensions.flatMap((each) => each.entries);
    return entries.map(({ name, up, down }) => `${name} ${up} ${down}`).toSorted();
  };
  await flow('s0');
  await flow('s1');
  await eventually('both', async () => (await usageOf('user')).join() === 'ann 5 5,c831381d 5 5');
  assert.deepEqual(await usageOf('outbound'), ['direct 10 10']);
  assert.deepEqual(await usageOf('source'), ['127.0.0.1 10 10']);

  const open = await socksConnect(client.address('s0'), origin.target);
  open.write('x');
  await eventually('the flow', async () => (await usageOf('user')).includes('ann 6 6'));
  const { flows } = await (await Control.of(server)).connections();
  assert.deepEqual(
    flows.map(({ user }) => user),
    [null],
  );

  const file = join(server.folder, 'weir.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('name: ann', 'name: bob'));
  assert.equal((await requestReload(server.controlPath)).kind, 'applied');
  await flow('s0');
  open.end();
  await eventually('the new name', async () => (await usageOf('user')).includes('bob 5 5'));
  assert.ok(
    (await usageOf('user')).includes('ann 6 6'),
    'the flow keeps the name that it began with',
  );
});

test('a command that reads while a recorder writes sees whole readings', async () => {
  await using rig = await UsageRig.start(5, numbers());
  rig.startClients(2);
  for (let reading = 0; reading < 50; reading++) rig.recorded();
  await rig.stopClients();
});

test('two recorders of one database record everything once', async () => {
  await using rig = await UsageRig.start(5, numbers());
  using second = new UsageWriter(rig.database);
  const { position } = second;
  rig.moved = new Map();
  rig.startClients(2);
  await eventually('some flows', () => rig.moved.size > 2);
  await rig.stopClients();
  await rig.untilAllRecorded(new Map());
  using database = new UsageDatabase(rig.database);
  const { total } = database.sums({ by: 'user', since: 0, until: Date.now() });
  const report = await requestUsage(rig.control, {
    instance: position.instance,
    since: position.sequence,
  });
  assert.equal(second.record(report, position, 0), false);
  assert.deepEqual(database.sums({ by: 'user', since: 0, until: Date.now() }).total, total);
});
