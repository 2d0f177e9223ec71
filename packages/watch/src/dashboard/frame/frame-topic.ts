import { basename } from 'node:path';
import type { CreatePageSource, DashboardContext, PageTopic } from '../contract.ts';
import { HealthWatch } from '@weir/client/monitor';
import { type Build, ownBuild } from '@weir/io/process';
import { VERSION } from '@weir/base';
import { apiState, differingVersions, emptyState, reloadState, socketState } from './states.ts';
import type { FrameState, FrameView } from './view.ts';

/** The frame of every page: header, states and health. */
export const createFrameSource: CreatePageSource = (context) => ({
  topics: [createFrameTopic(context)],
  actions: [],
});

/** Read at startup: the files of a checkout may change later. */
const OWN = ownBuild();

/** The topic `frame`. @param own the build of this process */
export function createFrameTopic(
  context: DashboardContext,
  own: Build | undefined = OWN,
): PageTopic {
  const { monitor, readOnly } = context;
  const healthWatch = new HealthWatch(monitor);
  let newest: number | null = null;

  const view = (): FrameView => {
    const now = context.now();
    const { api, socket, status, traffic, listedAt, missed } = monitor;
    const hasNoApi = api.kind === 'absent';
    const { word: health, why } = healthWatch.at(now);
    newest = Math.max(newest ?? 0, traffic?.at ?? 0, listedAt ?? 0) || null;
    const config = status?.value.config ?? context.config;
    const running = status?.value.version ?? monitor.version;
    const lost = apiState(monitor, config);
    const refused = reloadState(status?.value.last_reload, context.socket);
    const states: (FrameState | undefined)[] = [
      lost,
      // Weir as a whole does not run, which another state reports already.
      lost?.kind === 'restarting' || lost?.kind === 'nothing-there'
        ? undefined
        : socketState(socket),
      refused,
      health === 'Behind' ? { kind: 'behind', missed } : undefined,
      differingVersions(running, status?.value, own),
      api.kind === 'reached' ? emptyState(monitor) : undefined,
      readOnly ? { kind: 'read-only' } : undefined,
    ];
    return {
      name: config === undefined ? 'Weir' : basename(config),
      version: running ?? null,
      ownVersion: VERSION,
      health,
      why,
      states: states.filter((state) => state !== undefined),
      upRate: traffic ? Math.round(traffic.upRate) : null,
      downRate: traffic ? Math.round(traffic.downRate) : null,
      flows: traffic?.flows ?? (hasNoApi ? status?.value.flows : undefined) ?? null,
      at: newest,
      now: Math.floor(now / 1000) * 1000,
      readOnly,
      missed,
    };
  };
  return {
    name: 'frame',
    view,
  };
}
