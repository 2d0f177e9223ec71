import type { RouteView } from '@weir/config/route-view';
import type { Clock } from '@weir/io/time';
import type { ReloadReport } from '../supervisor/reload-report.ts';
import {
  empty,
  json,
  jsonText,
  NotFound,
  withEtag,
  type ApiResponse,
  type Streaming,
} from './http/response.ts';
import {
  requireJson,
  parseIfMatch,
  parseSelector,
  textParameter,
  u64Parameter,
  parsePickBody,
} from './requests.ts';
import type { ControlledApp } from './contract.ts';
import type { FlowFeed, TrafficFeed } from './feeds/feeds.ts';
import type { RouteKey } from '../local-http/router.ts';
import {
  type StartTimes,
  REPORT_LISTS,
  defaultJson,
  flowView,
  groupJson,
  sessionView,
  viewJson,
  targetJson,
} from './views.ts';
import { writeList } from './feeds/slices.ts';

/** The services that handlers use. */
export interface Services {
  readonly app: ControlledApp;
  readonly clock: Clock;
  readonly times: StartTimes;
  readonly flows: FlowFeed;
  readonly traffic: TrafficFeed;
}

/** A request to a handler. */
export interface ApiCall {
  /** The named segments of the path, undecoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: string;
  readonly headers: {
    readonly contentType: string | undefined;
    readonly ifMatch: string | undefined;
  };
  /** @throws {BadRequest} */
  readonly readBody: () => Promise<Buffer>;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

export type Handler = (
  call: ApiCall,
  services: Services,
) => ApiResponse | Streaming | Promise<ApiResponse>;

export interface ApiRoute extends RouteKey {
  readonly handler: Handler;
  /** Whether requests are cancelled when the client disconnects: an edit that has not begun, a stream of events. */
  readonly abandonable?: true;
}

/** Every route of the API. */
export const ROUTES: readonly ApiRoute[] = [
  { method: 'GET', path: '/v1/routes', handler: getRoutes },
  { method: 'PUT', path: '/v1/routes/{group}', handler: putRoute, abandonable: true },
  { method: 'POST', path: '/v1/reload', handler: reload },
  { method: 'GET', path: '/v1/connections', handler: getConnections },
  { method: 'DELETE', path: '/v1/connections', handler: closeConnections },
  {
    method: 'GET',
    path: '/v1/connections/events',
    handler: (_, { flows }) => ({ open: flows.join }),
    abandonable: true,
  },
  { method: 'DELETE', path: '/v1/connections/{flow}', handler: closeConnection },
  {
    method: 'GET',
    path: '/v1/traffic',
    handler: (_, { traffic }) => ({ open: traffic.join }),
    abandonable: true,
  },
  {
    method: 'GET',
    path: '/v1/version',
    handler: (_, { app }) => json(200, { version: app.version }),
  },
  { method: 'GET', path: '/v1/health', handler: () => json(200, { status: 'ok' }) },
];

async function getRoutes(_: ApiCall, { app }: Services): Promise<ApiResponse> {
  const { view, etag } = await app.routes();
  return jsonText(200, await routesBody(view), withEtag(etag));
}

async function putRoute(call: ApiCall, { app }: Services): Promise<ApiResponse> {
  const group = textParameter('group', call.parameters['group'] ?? '');
  requireJson(call.headers.contentType);
  const target = parsePickBody(await call.readBody());
  const ifMatch = parseIfMatch(call.headers.ifMatch);
  const { report, etag } = await app.pick(group, target, ifMatch, call.signal);
  return jsonText(200, await reportBody(report), withEtag(etag));
}

async function reload(_: ApiCall, { app }: Services): Promise<ApiResponse> {
  return jsonText(200, await reportBody(await app.reload()));
}

/** Serialises the routes. Yields to other work, since there may be thousands of groups and targets. */
async function routesBody(view: RouteView): Promise<Buffer> {
  return Buffer.concat([
    Buffer.from(`{"default":${defaultJson(view.default)},"groups":[`),
    ...(await writeList(view.groups, groupJson)),
    Buffer.from('],"targets":['),
    ...(await writeList(view.targets, targetJson)),
    Buffer.from(']}'),
  ]);
}

/** Serialises a report. Yields to other work, since there may be thousands of names. */
async function reportBody(report: ReloadReport): Promise<Buffer> {
  const { status } = report;
  const parts: Buffer[] = [Buffer.from(`{"status":"${status}"`)];
  if (status === 'applied') {
    for (const list of REPORT_LISTS) {
      const names = await writeList(report[list], JSON.stringify);
      parts.push(Buffer.from(`,"${list}":[`), ...names, Buffer.from(']'));
    }
  }
  return Buffer.concat([...parts, Buffer.from('}')]);
}

/** Lists flows, then sessions: if a session ends in between, its flows are still listed. */
async function getConnections(_: ApiCall, { app, times }: Services): Promise<ApiResponse> {
  const offset = times.read();
  const flows = await writeList(app.tracker.flows(), (flow) => viewJson(flowView(flow, offset)));
  const live = app.tracker.sessions();
  const sessions = await writeList(live, (session) => viewJson(sessionView(session, offset)));
  const parts = [Buffer.from('{"sessions":['), ...sessions, Buffer.from('],"flows":['), ...flows];
  return jsonText(200, Buffer.concat([...parts, Buffer.from(']}')]));
}

async function closeConnections(
  { query }: ApiCall,
  { app: { tracker } }: Services,
): Promise<ApiResponse> {
  const { count, ended } = tracker.killMatching(parseSelector(query));
  await ended;
  return json(200, { closed: count });
}

function closeConnection({ parameters }: ApiCall, { app: { tracker } }: Services): ApiResponse {
  const id = u64Parameter('flow', parameters['flow'] ?? '');
  // Ids never reach 2^53, so a rounded larger number matches none.
  const flow = tracker.flow(Number(id));
  if (!flow) throw new NotFound(`no live flow ${id}`);
  flow.kill();
  return empty(204);
}
