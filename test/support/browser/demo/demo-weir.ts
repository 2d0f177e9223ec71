import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { requestStatus } from '@weir/server/control';
import { ApiClient, parsePlace } from '@weir/client/api';
import type { RouteView } from '@weir/config/route-view';
import type { DashboardContext } from '@weir/watch/dashboard';
import type { Monitor } from '@weir/client/monitor';
import { hostPort } from '../../data/address.ts';
import type { FakeMonitor } from '../../dashboard/fake-monitor.ts';
import { socksReply } from '../../peers/socks-client.ts';
import { SocksServer } from '../../peers/socks-server.ts';
import { Control } from '../../process/control.ts';
import { runWeir, Weir } from '../../process/weir.ts';
import { writeDemoUsage } from './demo-usage.ts';
import { startProvider } from '../../subscribe/provider.ts';
import { demoConfig, GROUPS, PICKS, SUBSCRIPTION } from './demo-config.ts';
import { demoFlows, demoHistory, demoSessions, demoTraffic, later } from './demo-flows.ts';

const MINUTE = 60_000;

/** What a dashboard shows of a Weir with users, traffic and one outbound that fails. */
export interface DemoWeir extends AsyncDisposable {
  readonly context: Partial<DashboardContext>;
  readonly monitor: Partial<Monitor>;
  /** Has the traffic of a monitor go on until it is disposed of. */
  readonly play: (monitor: FakeMonitor) => Disposable;
}

/**
 * Starts a Weir whose files, log, status and API are real. Its flows and rates are made up, so that they are those of
 * an office, and the same each time.
 */
export async function startDemoWeir(): Promise<DemoWeir> {
  await using started = new AsyncDisposableStack();
  const provider = started.use(
    await startProvider((response) => {
      response.setHeader(
        'subscription-userinfo',
        'upload=3200000000; download=61800000000; total=200000000000; expire=1900000000',
      );
      response.end(SUBSCRIPTION);
    }),
  );
  const live = started.use(await SocksServer.start());
  const dead = await SocksServer.start();
  await dead[Symbol.asyncDispose]();
  const files = { 'nodes.toml': GROUPS };
  const weir = started.use(await Weir.start(demoConfig(dead, live), { control: true, files }));
  const control = await Control.of(weir);
  const places = ['--config', control.file, '--socket', weir.controlPath];
  const added = await runWeir(['subscribe', 'add', 'provider', provider.url, ...places]);
  if ((await added.exited).code !== 0) throw new Error(added.stderr);
  await control.apply((await readFile(control.file, 'utf8')) + PICKS);
  for (const host of ['photos.archive.example', 'www.archive.example', 'beacon.example']) {
    await socksReply(weir.address('office'), { host, port: 443 });
  }

  const now = Date.now();
  const usage = join(weir.folder, 'usage.db');
  writeDemoUsage(usage, now);
  const api = new ApiClient(parsePlace(hostPort(control.api.address)), undefined);
  const status = await requestStatus(weir.controlPath);
  const { body, etag = '' } = await api.askTagged('GET', '/v1/routes');
  const flows = demoFlows(now, status.plane_epoch);
  const sessions = demoSessions(flows);
  const traffic = demoTraffic(flows, now);
  let tick = 1;
  const play = (monitor: FakeMonitor): Disposable => {
    const timer = setInterval(() => {
      const at = Date.now();
      const moved = later(flows, at - now);
      monitor.list(at, moved, demoTraffic(moved, at, ++tick));
      monitor.history = {
        ...monitor.history,
        seconds: demoHistory({ ...traffic, at }, 1000),
      };
      monitor.changed();
    }, 500);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  };
  const ended = started.move();
  return {
    context: { api, config: control.file, socket: weir.controlPath, usage },
    monitor: {
      flows: new Map(flows.map((flow) => [flow.view.id, flow])),
      sessions,
      traffic,
      history: {
        seconds: demoHistory(traffic, 1000),
        halfMinutes: demoHistory(traffic, MINUTE / 2),
      },
      listedAt: now,
      routes: { value: { view: body as RouteView, etag }, at: now },
      status: {
        value: {
          ...status,
          started_at: now - 3 * 24 * 60 * MINUTE,
          sessions: sessions.size,
          flows: traffic.flows,
        },
        at: now,
      },
      version: status.version,
    },
    play,
    [Symbol.asyncDispose]: () => ended.disposeAsync(),
  };
}
