import { isAbsolute } from 'node:path';
import { requestLogFilter, type RunningStatus } from '@weir/server/control';
import { ApiClientError } from '@weir/client/api';
import { VERSION } from '@weir/base';
import { clashConfigs, LOG_FILTERS, MODE } from '../translate/configs.ts';
import { clashRules, clashSnapshot, type ClashTotals } from '../translate/connections.ts';
import {
  clashError,
  NO_CONTENT,
  ok,
  bodyInvalid,
  type ClashEndpoint,
  type ClashAnswer,
  type ClashContext,
  type ClashRequest,
} from './endpoint.ts';
import type { FlowView } from '@weir/server/api/views';
import type { ClashFacts } from '../translate/facts.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Reads the body. @throws {LocalHttpError} 400 unless it is an object */
async function objectOf({ readJson }: ClashRequest): Promise<JsonObject> {
  const body = await readJson();
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw bodyInvalid();
  return body as JsonObject;
}

async function getConfigs({ facts }: ClashContext): Promise<ClashAnswer> {
  return ok(clashConfigs(await facts.read()));
}

const MODES: ReadonlySet<string> = new Set([MODE, 'global', 'direct']);

/**
 * Changes settings at run time. Weir can change the level of the log; any other change is rejected, and nothing is
 * changed then.
 */
async function patchConfigs(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const wanted = await objectOf(request);
  const current = clashConfigs(await context.facts.read());
  const { mode = MODE, 'log-level': level } = wanted;
  const chosen = typeof mode === 'string' ? mode.toLowerCase() : undefined;
  if (chosen === undefined || !MODES.has(chosen)) throw bodyInvalid();
  const filter = typeof level === 'string' ? LOG_FILTERS.get(level.toLowerCase()) : undefined;
  if (level !== undefined && filter === undefined) throw bodyInvalid();
  for (const [key, value] of Object.entries(wanted)) {
    if (key !== 'log-level') refuseChange(key, current[key], key === 'mode' ? chosen : value);
  }
  if (filter !== undefined) await setLogFilter(context, filter);
  return NO_CONTENT;
}

/** Rejects a change of a setting. Unknown keys are ignored, as in mihomo. @throws {LocalHttpError} */
function refuseChange(key: string, current: unknown, wanted: unknown): void {
  if (current === undefined || isSame(current, wanted)) return;
  if (key === 'mode') {
    throw clashError(400, 'Weir has no modes: pick a target for the default route instead');
  }
  throw clashError(400, `${key} is part of Weir's configuration file, and not changed from here`);
}

/** Whether every requested key already has the requested value. */
function isSame(current: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return current === wanted;
  if (typeof current !== 'object' || current === null) return false;
  return Object.entries(wanted).every(([key, value]) => (current as JsonObject)[key] === value);
}

async function setLogFilter({ weir: { socket } }: ClashContext, filter: string): Promise<void> {
  if (socket === undefined) {
    throw clashError(400, 'Weir has no control socket, which the level of the log is set through');
  }
  const outcome = await requestLogFilter(socket, filter);
  if (outcome.kind === 'failed') throw clashError(400, outcome.line);
}

/** Reloads the file that Weir serves: another path, or a text, is rejected. */
async function putConfigs(context: ClashContext, request: ClashRequest): Promise<ClashAnswer> {
  const { path = '', payload = '' } = await objectOf(request);
  if (typeof path !== 'string' || typeof payload !== 'string') throw bodyInvalid();
  if (payload !== '') {
    throw clashError(400, 'Weir loads its configuration from its file alone, not from a payload');
  }
  if (path !== '') {
    if (!isAbsolute(path)) throw clashError(400, 'path is not a absolute path');
    if (path !== context.weir.config) {
      throw clashError(400, 'Weir serves another file: a reload reads it again, without a path');
    }
  }
  try {
    await context.weir.api.ask('POST', '/v1/reload');
  } catch (error) {
    if (!(error instanceof ApiClientError) || error.status === undefined) throw error;
    throw clashError(400, error.message);
  } finally {
    context.facts.forget();
  }
  return NO_CONTENT;
}

export const CONFIG_ENDPOINTS: readonly ClashEndpoint[] = [
  { method: 'GET', path: '/configs', answer: getConfigs },
  { method: 'PATCH', path: '/configs', answer: patchConfigs },
  { method: 'PUT', path: '/configs', answer: putConfigs },
];

/** An endpoint that Weir does not support: mihomo's status for a failure, and the reason. */
const refusal = (
  method: ClashEndpoint['method'],
  path: string,
  status: number,
  message: string,
): ClashEndpoint => ({
  method,
  path,
  answer: () => {
    throw clashError(status, message);
  },
});

const GEO = 'Weir reads geo files when it loads its configuration: replace the files, then reload';
const RESTART = 'Weir is restarted by what has started it; a reload reads its configuration again';
const UPGRADE = 'Weir is upgraded as it was installed';

/** Endpoints about the program as a whole, and those without an equivalent in Weir. */
export const GENERAL_ENDPOINTS: readonly ClashEndpoint[] = [
  // The path `/`: a slash at the end does not count.
  { method: 'GET', path: '', answer: () => ok({ hello: 'mihomo' }) },
  { method: 'GET', path: '/version', answer: () => ok({ meta: true, version: VERSION }) },
  {
    method: 'GET',
    path: '/rules',
    answer: async ({ facts }) => ok({ rules: clashRules(await facts.read()) }),
  },
  refusal('PATCH', '/rules/disable', 400, "rules are part of Weir's configuration file"),
  // Without fake IP addresses, mihomo has nothing to flush either.
  { method: 'POST', path: '/cache/fakeip/flush', answer: () => NO_CONTENT },
  refusal('POST', '/cache/dns/flush', 400, 'the DNS cache of Weir is not flushed from outside'),
  refusal('GET', '/dns/query', 500, 'DNS section is disabled'),
  // Dashboards store their settings in the browser when the controller has none.
  { method: 'GET', path: '/storage/{key?}', answer: () => ok(null) },
  { method: 'DELETE', path: '/storage/{key?}', answer: () => NO_CONTENT },
  refusal('PUT', '/storage/{key?}', 400, 'settings of dashboards are not stored here'),
  refusal('POST', '/configs/geo', 500, GEO),
  refusal('POST', '/upgrade/geo', 500, GEO),
  refusal('POST', '/upgrade/ui', 500, 'the files of --ui are replaced by hand'),
  refusal('POST', '/upgrade', 500, UPGRADE),
  refusal('POST', '/restart', 500, RESTART),
];

async function getConnections(context: ClashContext): Promise<ClashAnswer> {
  const [facts, list] = await Promise.all([
    context.facts.read(),
    context.weir.api.ask('GET', '/v1/connections'),
  ]);
  const { flows } = list as { readonly flows: readonly FlowView[] };
  return ok(clashSnapshot(facts, flows, await totalsNow(context, facts)));
}

/**
 * Current totals, from the control socket, or otherwise from the stream of traffic, which begins with the next second.
 */
async function totalsNow({ live }: ClashContext, { status }: ClashFacts): Promise<ClashTotals> {
  // An older Weir has no totals in its status.
  const { traffic, memory }: Partial<RunningStatus> = status ?? {};
  if (traffic && memory) {
    return { up: traffic.up, down: traffic.down, memory: memory.resident };
  }
  using _use = live.use();
  await live.sampled();
  const { up = 0, down = 0 } = live.monitor.traffic ?? {};
  return { up, down, memory: memory?.resident ?? 0 };
}

const FLOW_ID = /^\d{1,20}$/;

/** Closes a flow. Like mihomo, it does not report that a connection is unknown. */
async function deleteConnection(
  { weir: { api } }: ClashContext,
  { parameters }: ClashRequest,
): Promise<ClashAnswer> {
  const { id = '' } = parameters;
  if (!FLOW_ID.test(id)) return NO_CONTENT;
  try {
    await api.ask('DELETE', `/v1/connections/${id}`);
  } catch (error) {
    const isGone =
      error instanceof ApiClientError && (error.status === 404 || error.status === 400);
    if (!isGone) throw error;
  }
  return NO_CONTENT;
}

async function deleteConnections({ weir: { api } }: ClashContext): Promise<ClashAnswer> {
  await api.ask('DELETE', '/v1/connections');
  return NO_CONTENT;
}

export const CONNECTION_ENDPOINTS: readonly ClashEndpoint[] = [
  { method: 'GET', path: '/connections', answer: getConnections },
  { method: 'DELETE', path: '/connections', answer: deleteConnections },
  { method: 'DELETE', path: '/connections/{id?}', answer: deleteConnection },
];
