import { DEFAULT_GROUP } from '@weir/config';
import type { RouteView } from '@weir/config/route-view';

/** A route with its target and the chain that leads to it. */
export interface ResolvedRoute {
  readonly name: string;
  /** Names that the target is inherited from: groups, and `default` for the default route. */
  readonly chain: readonly string[];
  readonly target: string | null;
}

/** Maximum number of steps of a chain that are shown. */
const MAX_CHAIN = 16;

/**
 * Resolves the targets of the default route and of all groups. Takes time linear in the number of groups, but for
 * chains, whose length is bounded.
 *
 * @param changed a pick that the view does not have yet
 */
export function resolveRoutes(
  view: RouteView,
  changed?: { readonly group: string; readonly target: string },
): readonly ResolvedRoute[] {
  const isChanged = (name: string): boolean => changed?.group === name;
  const fallback = isChanged(DEFAULT_GROUP) ? (changed?.target ?? null) : view.default.target;
  const byName = new Map(view.groups.toReversed().map((group) => [group.name, group]));
  const known = new Map<string, string | null>();

  const pickOf = (name: string): string | null =>
    isChanged(name) ? (changed?.target ?? null) : (byName.get(name)?.pick ?? null);

  /** One step of a chain: a target, or the group to inherit from. */
  const step = (name: string): { readonly end: string | null } | { readonly next: string } => {
    const inherit = byName.get(name)?.inherit;
    const pick = pickOf(name);
    // A group that does not exist has no target.
    if (pick !== null || inherit === undefined) return { end: pick };
    if (inherit === 'default') return { end: fallback };
    return typeof inherit === 'string' ? { end: inherit } : { next: inherit.group };
  };

  const targetOf = (from: string): string | null => {
    const way = new Set<string>();
    let at = from;
    for (;;) {
      const found = known.get(at);
      const taken = found === undefined ? step(at) : { end: found };
      const end = 'end' in taken ? taken.end : way.has(at) ? null : undefined;
      way.add(at);
      if (end !== undefined) {
        for (const passed of way) known.set(passed, end);
        return end;
      }
      if ('next' in taken) at = taken.next;
    }
  };

  const chainOf = (name: string): readonly string[] => {
    const chain: string[] = [];
    let at = byName.get(name);
    while (at && pickOf(at.name) === null && chain.length < MAX_CHAIN) {
      if (at.inherit === 'default') chain.push(DEFAULT_GROUP);
      if (typeof at.inherit === 'string') break;
      chain.push(at.inherit.group);
      at = byName.get(at.inherit.group);
    }
    return chain;
  };

  return [
    { name: DEFAULT_GROUP, chain: [], target: fallback },
    ...view.groups.map(({ name }) => ({ name, chain: chainOf(name), target: targetOf(name) })),
  ];
}
