import type { FlowView } from '@weir/server/api/views';
import { requestStatus, type RunningStatus } from '@weir/server/control';
import { DEFAULT_GROUP } from '@weir/config';
import type { RouteView } from '@weir/config/route-view';
import { meantHint } from '@weir/proxy/schema';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import { type ApiClient, ApiClientError } from './api-client.ts';

/** A group, or `default`, and its new target. */
export interface RoutePick {
  readonly group: string;
  readonly target: string;
}

/** The routes before a pick, and the changes that it makes. */
export interface PickPlan {
  readonly view: RouteView;
  /** The entity tag of the version that `view` describes. */
  readonly etag: string | undefined;
  readonly change: RouteSwitch;
}

/**
 * Sets a pick.
 *
 * @param ifMatch sets it only if the file has this entity tag
 * @throws {ApiClientError} with the entity tag of the file if that has changed: by another writer (409), or by this
 * pick, which was written and could not be loaded
 */
export async function putPick(
  api: ApiClient,
  { group, target }: RoutePick,
  ifMatch: string | undefined,
): Promise<{ readonly report: ReloadReport; readonly etag: string | undefined }> {
  const path = `/v1/routes/${encodeURIComponent(group)}`;
  try {
    const { body, etag } = await api.askTagged('PUT', path, { body: { target }, ifMatch });
    return { report: body as ReloadReport, etag };
  } catch (error) {
    throw await withMeantName(error, api, { group, target });
  }
}

/** The error of a pick, with a hint at the group or the target that was probably meant. */
async function withMeantName(error: unknown, api: ApiClient, pick: RoutePick): Promise<unknown> {
  if (!(error instanceof ApiClientError)) return error;
  const { status, etag, message } = error;
  if (status !== 404 && status !== 422) return error;
  try {
    const hint = meantIn((await api.ask('GET', '/v1/routes')) as RouteView, pick);
    if (hint === undefined) return error;
    return new ApiClientError(message, { status, etag, hint, cause: error.cause });
  } catch {
    return error; // report the error of the pick
  }
}

/** A hint for a group or a target that is not in the view; `undefined` if both are, or nothing is similar. */
function meantIn({ groups, targets }: RouteView, { group, target }: RoutePick): string | undefined {
  const known = [DEFAULT_GROUP, ...groups.map(({ name }) => name)];
  if (!known.includes(group)) return meantHint(group, known);
  const names = targets.map(({ name }) => name);
  return names.includes(target) ? undefined : meantHint(target, names);
}

/**
 * Plans a pick without setting it.
 * @throws {ApiClientError} also for an unknown group or target
 */
export async function planPick(api: ApiClient, { group, target }: RoutePick): Promise<PickPlan> {
  const { body, etag } = await api.askTagged('GET', '/v1/routes');
  const view = body as RouteView;
  const route =
    group === DEFAULT_GROUP ? view.default : view.groups.find(({ name }) => name === group);
  const hint = meantIn(view, { group, target });
  if (!route) throw new ApiClientError(`no route group named ${JSON.stringify(group)}`, { hint });
  if (!view.targets.some(({ name }) => name === target)) {
    throw new ApiClientError(
      `no node, outbound or balancer is named ${JSON.stringify(target)}; the route view lists them`,
      { hint },
    );
  }
  const change: RouteSwitch = {
    group: group === DEFAULT_GROUP ? undefined : group,
    // A route without a target has no flows to close.
    from: route.target ?? target,
    to: target,
  };
  return { view, etag, change };
}

/**
 * The flows that a switch leaves open on the old target.
 *
 * @param socket the control socket: the API does not report the rules of a group
 * @throws {ApiClientError} also for a group that the running configuration does not have yet
 * @throws {WeirError} when the socket does not respond
 */
export async function flowsLeft(
  api: ApiClient,
  socket: string,
  change: RouteSwitch,
): Promise<readonly FlowView[]> {
  const status = await requestStatus(socket);
  const { flows } = (await api.ask('GET', '/v1/connections')) as { flows: readonly FlowView[] };
  const stale = staleFlows(flows, change, status);
  if (stale) return stale;
  throw new ApiClientError(
    `the running Weir has no route group named ${JSON.stringify(change.group)} yet: reload it first`,
  );
}

/** Maximum number of concurrent requests that close flows. */
const CLOSING = 16;

/** Closes flows by id; returns how many were still open. @throws {ApiClientError} */
export async function closeFlows(
  api: ApiClient,
  flows: readonly Pick<FlowView, 'id'>[],
): Promise<number> {
  const waiting = flows.values();
  let closed = 0;
  const closeSome = async (): Promise<void> => {
    for (const { id } of waiting) {
      try {
        await api.ask('DELETE', `/v1/connections/${id}`);
        closed++;
      } catch (error) {
        if (!(error instanceof ApiClientError) || error.status !== 404) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: CLOSING }, closeSome));
  return closed;
}

/** A switch of a route from one target to another. */
export interface RouteSwitch {
  /** Name of the group; `undefined` for the default route. */
  readonly group: string | undefined;
  readonly from: string;
  readonly to: string;
}

/**
 * The flows of a route that were opened on its old target and would not be opened there again. Flows that were routed
 * by other rules than those in force belong to no known group, and are left out.
 *
 * @param status has what the API does not report: the rules of groups, and the members of balancers
 * @returns `undefined` if the status does not have the group
 */
export function staleFlows(
  flows: readonly FlowView[],
  { group, from, to }: RouteSwitch,
  { routes, balancers }: Pick<RunningStatus, 'routes' | 'balancers'>,
): readonly FlowView[] | undefined {
  const outboundsOf = (target: string): ReadonlySet<string> => {
    const balancer = balancers.find(({ tag }) => tag === target);
    return new Set(balancer?.members.map(({ outbound }) => outbound) ?? [target]);
  };
  const left = outboundsOf(from).difference(outboundsOf(to));
  const onOldTarget = flows.filter(({ outbound }) => left.has(outbound));
  if (group === undefined) return onOldTarget.filter(({ rule }) => rule === null);
  const range = routes.groups.find(({ name }) => name === group);
  if (!range) return undefined;
  const end = range.first_rule + range.rules;
  return onOldTarget.filter(
    ({ rule, plane_epoch: epoch }) =>
      rule !== null && rule >= range.first_rule && rule < end && epoch >= routes.rules_since,
  );
}
