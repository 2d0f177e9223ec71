import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestStatus } from '@weir/server/control';
import { findRunning, type RunningSearch } from '@weir/client/running';
import { type Reachability, HealthWatch } from '@weir/client/monitor';
import { RunningMonitor } from '@weir/client/monitor/running-monitor';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freePort } from '../support/ports.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';

const CONFIG = `${API}${socksIn()}${freedom()}`;

/** A monitor that is held until the end of the block. */
async function watch(search: Omit<RunningSearch, 'env'>) {
  const monitor = RunningMonitor.of(await findRunning({ env: {}, ...search }));
  const hold = monitor.hold();
  return { monitor, [Symbol.dispose]: () => hold[Symbol.dispose]() };
}

const lostAs = (state: Reachability): string | false => state.kind === 'lost' && state.cause;

test('a Weir that is started anew is found, with its flows, and without the old ones', async () => {
  await using folder = await scratch();
  await using echo = await echoServer();
  const socket = join(folder.path, 'control.sock');
  const start = async (): Promise<Weir> =>
    Weir.start(CONFIG, { args: ['--reload-socket', socket] });

  await using first = await start();
  await eventually('the control socket', () => requestStatus(socket).catch(() => undefined));
  using watched = await watch({ socket });
  const { monitor } = watched;
  const before = await socksConnect(first.address('socks'), echo.target);
  const { started_at: since } = (await eventually('the status', () => monitor.status)).value;
  await eventually('a flow', () => monitor.flows.size === 1 && monitor.traffic !== undefined);
  const old = [...monitor.flows.values()][0]?.view;

  await first.stop();
  before.destroy();
  await eventually('the loss', () => lostAs(monitor.api) === 'ended');
  // The last picture stays.
  assert.equal(monitor.flows.size, 1);
  assert.equal(new HealthWatch(monitor).at(Date.now()).word, 'API lost');

  await using second = await start();
  await eventually('the API', () => monitor.api.kind === 'reached');
  const client = await socksConnect(second.address('socks'), echo.target);
  await eventually('the new flow alone', () => {
    const open = [...monitor.flows.values()].filter(({ closedAt }) => closedAt === undefined);
    return open.length === 1 && open[0]?.view.started_at !== old?.started_at;
  });
  await eventually('the new status', () => (monitor.status?.value.started_at ?? since) > since);
  assert.equal(new HealthWatch(monitor).at(Date.now()).word, 'Serving');
  client.destroy();
});

test('an API that wants a secret is lost as unauthorized, until it has it', async () => {
  await using weir = await Weir.start(
    `[api]\nlisten = "127.0.0.1:0"\nsecret = "right secret"\n${socksIn()}${freedom()}`,
    { control: true },
  );
  const { api } = await eventually('the status', () =>
    requestStatus(weir.controlPath).catch(() => undefined),
  );
  const secretFile = join(weir.folder, 'secret');
  await writeFile(secretFile, 'wrong secret\n');
  using watched = await watch({ api: api ?? '', socket: weir.controlPath, secretFile });
  const { monitor } = watched;
  await eventually('the loss', () => lostAs(monitor.api) === 'unauthorized');
  // The socket needs no secret.
  await eventually('the status', () => monitor.socket.kind === 'reached');
  await writeFile(secretFile, 'right secret\n');
  await eventually('the API', () => monitor.api.kind === 'reached');
});

test('without an [api] it is absent, and not lost', async () => {
  await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
  const api = `127.0.0.1:${await freePort()}`;
  using watched = await watch({ api, socket: weir.controlPath });
  const { monitor } = watched;
  await eventually('the state', () => monitor.api.kind === 'absent');
  assert.equal(monitor.socket.kind, 'reached');
});
