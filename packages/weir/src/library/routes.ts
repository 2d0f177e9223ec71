import { DEFAULT_GROUP } from '@weir/config';
import type { RouteGroupView, RoutesResult, RouteView } from '@weir/server/api/contract';

/** Whether a pick is in memory: it takes the place of the file's, and ends with the process. */
interface InMemory {
  readonly in_memory: boolean;
}

/** The routes in force, with the fields of the API and `in_memory` for each pick. */
export interface CurrentRoutesView extends RouteView {
  /** The default route. */
  readonly default: RouteView['default'] & InMemory;
  readonly groups: readonly (RouteGroupView & InMemory)[];
}

/** The result of `routes`. */
export interface Routes {
  readonly view: CurrentRoutesView;
  /** Entity tag of the configuration file, or of the text or object; quotes included. */
  readonly etag: string;
}

/** Marks the picks that are in memory. @param picks targets by group */
export function routesView({
  view,
  etag,
  picks,
}: RoutesResult & { readonly picks: ReadonlyMap<string, string> }): Routes {
  const marked = view.groups.map((group) => ({ ...group, in_memory: picks.has(group.name) }));
  const own = { ...view.default, in_memory: picks.has(DEFAULT_GROUP) };
  return { view: { ...view, default: own, groups: marked }, etag };
}
