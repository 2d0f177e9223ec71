import type { ApiClient } from '@weir/client/api';
import { DEFAULT_GROUP } from '@weir/config';
import type { RouteView } from '@weir/config/route-view';
import { ActionError } from '../action-error.ts';
import { routeIn, type PickState, type WantedPick } from './pick-state.ts';
import type { ConflictRoute, ConflictSide, ConflictView } from './view.ts';

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
