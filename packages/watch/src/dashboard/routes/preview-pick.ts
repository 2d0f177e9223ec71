import { type ApiClient, flowsLeft, planPick } from '@weir/client/api';
import { DEFAULT_GROUP } from '@weir/config';
import type { RouteView } from '@weir/config/route-view';
import { messageOf, WeirError } from '@weir/base';
import { ActionError } from '../parameters.ts';
import type { ConfigState } from '../config/config-state.ts';
import type { DashboardContext } from '../contract.ts';
import { meantWeir } from '../meant-weir.ts';
import { routeIn, type PickState, type WantedPick } from './pick-state.ts';
import { resolveRoutes, type ResolvedRoute } from './resolve-routes.ts';
import type { PickPreview, ConflictRoute, ConflictSide, ConflictView } from './view.ts';

/** Maximum number of groups that a preview lists. */
const MAX_FOLLOWERS = 20;

/** Why flows cannot be counted without the control socket. */
export const NO_SOCKET =
  'the rules of a group are known only from the control socket, and there is none';

/** The routes of a version of the file, and the routes after a change. */
interface RoutePlan {
  readonly view: RouteView;
  readonly etag: string;
  readonly after: readonly ResolvedRoute[];
  readonly line: number | null;
}

/** Previews a pick, or the removal of one. @throws {WeirError} also for an unknown group or target */
export async function previewPick(
  context: DashboardContext,
  state: ConfigState,
  picks: PickState,
  wanted: WantedPick,
): Promise<PickPreview> {
  const { group, target } = wanted;
  const plan =
    target === null
      ? await planRemoval(context.api, state, group)
      : await planOf(context.api, { group, target });
  const { view, etag, line } = plan;
  picks.see(etag, view);
  await state.watched.look();
  const after = new Map(plan.after.map((route) => [route.name, route.target]));
  const followers = resolveRoutes(view)
    .filter(({ name, target: before }) => name !== group && after.get(name) !== before)
    .map(({ name }) => name);
  const route = routeIn(view, group);
  const [from, to] = [route?.target ?? null, after.get(group) ?? null];
  return {
    group,
    target,
    etag,
    pick: route?.pick ?? null,
    from,
    to,
    ...(await openFlows(context, { group, from, to })),
    followers: followers.slice(0, MAX_FOLLOWERS),
    moreFollowers: Math.max(0, followers.length - MAX_FOLLOWERS),
    others: state.watched.changedFiles,
    command: target === null ? null : ['weir', 'ctl', 'pick', group, target, ...meantWeir(context)],
    line,
  };
}

async function planOf(
  api: ApiClient,
  pick: WantedPick & { readonly target: string },
): Promise<RoutePlan> {
  const { view, etag } = await planPick(api, pick);
  if (etag === undefined) throw new ActionError('no-etag', 'the API has sent no entity tag');
  return { view, etag, after: resolveRoutes(view, pick), line: null };
}

async function planRemoval(api: ApiClient, state: ConfigState, group: string): Promise<RoutePlan> {
  const { files, ofFile } = state;
  if (!ofFile) throw NOT_HERE();
  const { etag, line, ...after } = await files.ask('unpick-plan', { ...ofFile, group });
  if (line === null) {
    throw new ActionError('no-pick', 'the file has no pick of this route where picks are written');
  }
  const { body, etag: current } = await api.askTagged('GET', '/v1/routes');
  const view = body as RouteView;
  if (current !== etag) {
    throw new ActionError('busy', 'the file is not the one that Weir reads, or just being changed');
  }
  return { view, etag, after: resolveRoutes({ ...after, targets: view.targets }), line };
}

/** The error where the file is not on this machine: only the API can edit it then, and it removes no picks. */
export const NOT_HERE = (): ActionError =>
  new ActionError('no-file', 'a pick is removed in the file, which is not on this machine', {
    hint: 'weir dashboard --config FILE names it; otherwise the control socket of Weir does',
  });

async function openFlows(
  { api, socket }: DashboardContext,
  { group, from, to }: Pick<PickPreview, 'group' | 'from' | 'to'>,
): Promise<Pick<PickPreview, 'open' | 'uncounted'>> {
  if (from === null || to === null || from === to) return { open: 0, uncounted: null };
  if (socket === undefined) return { open: null, uncounted: NO_SOCKET };
  try {
    const change = { group: group === DEFAULT_GROUP ? undefined : group, from, to };
    return { open: (await flowsLeft(api, socket, change)).length, uncounted: null };
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    return { open: null, uncounted: messageOf(error) };
  }
}

/** Maximum number of other routes that are listed. */
const MAX_OTHERS = 20;

/** Describes how another writer has changed the routes. @param seen the routes as the page had them, if still known */
export async function conflictOf(
  api: ApiClient,
  { group, target }: WantedPick,
  seen: RouteView | undefined,
  picks: PickState,
): Promise<ConflictView> {
  const { body, etag } = await api.askTagged('GET', '/v1/routes');
  const view = body as RouteView;
  if (etag === undefined) throw new ActionError('no-etag', 'the API has sent no entity tag');
  picks.see(etag, view);
  const theirs = routeIn(view, group);
  const others = seen ? changedRoutes(seen, view).filter(({ name }) => name !== group) : [];
  return {
    kind: 'conflict',
    etag,
    group,
    target,
    seen: sideOf(seen && routeIn(seen, group)),
    theirs: sideOf(theirs),
    others: others.slice(0, MAX_OTHERS),
    moreOthers: Math.max(0, others.length - MAX_OTHERS),
    possible:
      theirs !== undefined &&
      (target === null ? theirs.pick !== null : view.targets.some(({ name }) => name === target)),
  };
}

function changedRoutes(seen: RouteView, now: RouteView): readonly ConflictRoute[] {
  const names = new Set([
    DEFAULT_GROUP,
    ...now.groups.map(({ name }) => name),
    ...seen.groups.map(({ name }) => name),
  ]);
  const before = sidesOf(seen);
  const after = sidesOf(now);
  return Array.from(names, (name) => ({
    name,
    seen: before.get(name) ?? null,
    theirs: after.get(name) ?? null,
  })).filter(
    (route) =>
      route.seen?.pick !== route.theirs?.pick || route.seen?.target !== route.theirs?.target,
  );
}

const sidesOf = (view: RouteView): ReadonlyMap<string, ConflictSide | null> =>
  new Map([
    ...view.groups.toReversed().map((route) => [route.name, sideOf(route)] as const),
    [DEFAULT_GROUP, sideOf(view.default)] as const,
  ]);

const sideOf = (route: ConflictSide | undefined): ConflictSide | null =>
  route ? { pick: route.pick, target: route.target } : null;
