import type { Monitor, MonitoredFlow } from '../monitor/contract.ts';
import type { FailingOutbound } from '../monitor/log/failing-outbounds.ts';
import type { HealthReport } from '../monitor/health.ts';
import type { RouteView } from '../config/route-view.ts';

/** The data that the screen shows, at one moment. */
export interface Snapshot {
  /** Unix milliseconds. */
  readonly now: number;
  readonly health: HealthReport;
  readonly monitor: Monitor;
  /** Flows that match the filter, in order. */
  readonly flows: readonly MonitoredFlow[];
  readonly failing: readonly FailingOutbound[];
  readonly readOnly: boolean;
  /** The name of the configuration file. */
  readonly name: string;
  readonly size: ScreenSize;
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** A route in the list of routes. */
export interface ShownRoute {
  readonly name: string;
  readonly pick: string | null;
  readonly target: string | null;
  readonly inherits: string;
}

/** The groups in matching order, then the default route. */
export function routeRows(view: RouteView | undefined): readonly ShownRoute[] {
  if (!view) return [];
  const groups = view.groups.map(({ name, pick, target, inherit }) => ({
    name,
    pick,
    target,
    inherits: typeof inherit === 'string' ? inherit : inherit.group,
  }));
  return [...groups, { name: 'default', ...view.default, inherits: '' }];
}

/** The targets whose name contains a text, in any case. */
export function targetsWith(view: RouteView | undefined, find: string): RouteView['targets'] {
  const word = find.toLowerCase();
  return (view?.targets ?? []).filter(({ name }) => name.toLowerCase().includes(word));
}
