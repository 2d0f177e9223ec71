import type { RoutesStatus } from '@weir/server/control';
import { DEFAULT_GROUP } from '@weir/config';
import type { MonitoredFlow } from '@weir/client/monitor';

/** The open flows of a route and their rates, in bytes per second. */
export interface RouteFlows {
  flows: number;
  upRate: number;
  downRate: number;
}

/** Open flows, counted by the route that they took. */
export interface CountedFlows {
  /** Counts by group name, and `default`. Groups without a flow are left out. */
  readonly routes: ReadonlyMap<string, RouteFlows>;
  /** Number of open flows on each outbound. */
  readonly outbounds: ReadonlyMap<string, number>;
  /** Number of flows that were routed by earlier rules. */
  readonly earlier: number;
}

/**
 * Counts flows by route in one pass.
 * @param rules the route of each rule index; without them only the default route is counted
 */
export function countFlows(
  flows: Iterable<MonitoredFlow>,
  rules: RoutesStatus | undefined,
): CountedFlows {
  const groups: string[] = [];
  for (const { name, first_rule: first, rules: count } of rules?.groups ?? []) {
    for (let rule = first; rule < first + count; rule++) groups[rule] = name;
  }
  const routes = new Map<string, RouteFlows>();
  const outbounds = new Map<string, number>();
  let earlier = 0;
  for (const { view, upRate, downRate, closedAt } of flows) {
    if (closedAt !== undefined) continue;
    outbounds.set(view.outbound, (outbounds.get(view.outbound) ?? 0) + 1);
    if (view.rule !== null && view.plane_epoch < (rules?.rules_since ?? 0)) earlier++;
    else {
      const name = view.rule === null ? DEFAULT_GROUP : groups[view.rule];
      if (name === undefined) continue; // a rule of the configuration itself, in no group
      const counted = routes.get(name) ?? { flows: 0, upRate: 0, downRate: 0 };
      counted.flows++;
      counted.upRate += upRate;
      counted.downRate += downRate;
      routes.set(name, counted);
    }
  }
  return { routes, outbounds, earlier };
}
