import { buildText, type Build, ownBuild } from '@weir/io/process';
import { VERSION, hintsOf } from '@weir/base';
import { apiSocketFor } from '@weir/server/app/control/control-folder';
import type { InboundStatus, LastReload, RunningStatus } from '@weir/server/control';
import { type LostCause, type Monitor, type Reachability, HealthWatch } from '@weir/client/monitor';
import { commandLine } from '../shared/texts.ts';
import type { FrameState, FrameView } from './view.ts';
import { basename } from 'node:path';
import type { CreatePageSource, DashboardContext, PageTopic } from '../contract.ts';

type Lost = Extract<Reachability, { kind: 'lost' }>;

/** The state of an API that cannot be used; `undefined` if it can, or is still being tried. */
function apiState(
  { api, listedAt }: Pick<Monitor, 'api' | 'listedAt'>,
  config: string | undefined,
): FrameState | undefined {
  switch (api.kind) {
    case 'connecting':
    case 'reached':
      return undefined;
    case 'absent':
      return {
        kind: 'no-api',
        config: config ?? null,
        listen: (config === undefined ? undefined : apiSocketFor(config)) ?? null,
        isOld: listedAt !== undefined,
      };
    case 'lost':
      return lostState(api);
    default:
      return api satisfies never;
  }
}

function lostState(lost: Lost): FrameState {
  const failure = failureOf(lost);
  if (lost.cause === 'ended') return { kind: 'restarting', since: lost.since };
  if (lost.cause === 'forbidden') return { kind: 'forbidden', what: 'api', ...failure };
  return { kind: KINDS[lost.cause], ...failure };
}

const KINDS = {
  refused: 'nothing-there',
  'other-server': 'other-server',
  unauthorized: 'unauthorized',
  other: 'lost',
} as const satisfies Record<Exclude<LostCause, 'ended' | 'forbidden'>, FrameState['kind']>;

/** The state of a control socket that cannot be used; `undefined` if it can, or is still being tried. */
function socketState(socket: Reachability): FrameState | undefined {
  switch (socket.kind) {
    case 'connecting':
    case 'reached':
      return undefined;
    case 'absent':
      return { kind: 'no-socket', message: 'No control socket was found.', hint: null };
    case 'lost': {
      const failure = failureOf(socket);
      return socket.cause === 'forbidden'
        ? { kind: 'forbidden', what: 'socket', ...failure }
        : { kind: 'no-socket', ...failure };
    }
    default:
      return socket satisfies never;
  }
}

const failureOf = ({ error }: Lost) => ({
  message: error.message,
  hint: hintsOf(error)[0] ?? null,
});

/** The state after a failed reload; `undefined` after a successful one. */
function reloadState(
  last: LastReload | null | undefined,
  socket: string | undefined,
): FrameState | undefined {
  if (last?.outcome.kind !== 'failed') return undefined;
  const { place } = last;
  return {
    kind: 'reload-refused',
    line: last.outcome.line,
    place: place && `${place.file ?? 'line'}:${place.line}:${place.column}`,
    command: commandLine(['weir', 'reload', ...(socket === undefined ? [] : [socket])]),
  };
}

/** The state before the first flow; `undefined` if there are flows, or the list is not known. */
function emptyState({ flows, listedAt, status }: Monitor): FrameState | undefined {
  if (listedAt === undefined || flows.size > 0) return undefined;
  return { kind: 'no-flows', example: exampleOf(status?.value) };
}

/** Proxy schemes of curl for the protocols that it speaks without credentials. */
const SCHEMES: Readonly<Record<string, string>> = {
  socks: 'socks5h',
  http: 'http',
};

function exampleOf(status: RunningStatus | undefined): string | null {
  const inbound = status?.inbounds.find(({ protocol }) => Object.hasOwn(SCHEMES, protocol));
  return inbound
    ? commandLine(['curl', '--proxy', proxyOf(inbound), 'https://example.com/'])
    : null;
}

const proxyOf = ({ protocol, address }: InboundStatus): string =>
  `${SCHEMES[protocol]}://${address.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:')}`;

/**
 * The state in which the running Weir and this process differ in version, or in commit where the versions are equal. A
 * running Weir that reports no build is too old to report one.
 *
 * @param status `undefined` without a control socket
 */
export function differingVersions(
  running: string | undefined,
  status: { readonly build?: Build | null } | undefined,
  ownBuild: Build | undefined,
): FrameState | undefined {
  if (running === undefined) return undefined;
  if (running !== VERSION) return { kind: 'versions-differ', running, own: VERSION };
  if (!status || !ownBuild || status.build === null) return undefined;
  if (status.build?.commit === ownBuild.commit) return undefined;
  const of = (text: string): string => `${VERSION} (${text})`;
  return {
    kind: 'versions-differ',
    running: of(status.build ? buildText(status.build) : 'an earlier build'),
    own: of(buildText(ownBuild)),
  };
}

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
