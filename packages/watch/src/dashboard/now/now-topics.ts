import type { BalancerStatus, LastReload } from '@weir/server/control';
import type {
  Monitor,
  RatePoint,
  SharedLog,
  WatchedSums,
  FailingOutbounds,
} from '@weir/client/monitor';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { logStateView } from '../log/state-view.ts';
import { Parameters } from '../parameters.ts';
import { hidesFailures } from './hidden-failures.ts';
import { largestViews } from './largest.ts';
import type {
  BalancersView,
  DownMember,
  FailingView,
  NowView,
  RatePoints,
  RatesView,
  ReloadView,
} from './view.ts';

/** Maximum number of rows of each list of failures. */
const MAX_ROWS = 20;

export interface NowParts {
  readonly context: Pick<DashboardContext, 'monitor' | 'now' | 'socket'>;
  readonly sums: WatchedSums;
  readonly failing: FailingOutbounds;
  readonly log: SharedLog;
}

/**
 * The topic `rates`: rates of two minutes and of an hour. Points are keyed by their time, so that only new ones are
 * sent.
 */
export const ratesTopic = ({ monitor }: Pick<DashboardContext, 'monitor'>): PageTopic => ({
  name: 'rates',
  view: (): RatesView => {
    const { traffic, history } = monitor;
    return {
      now: traffic ? { up: traffic.upRate, down: traffic.downRate, flows: traffic.flows } : null,
      seconds: pointsView(history.seconds),
      halfMinutes: pointsView(history.halfMinutes),
    };
  },
});

const pointsView = (points: readonly RatePoint[]): RatePoints =>
  Object.fromEntries(points.map(({ at, up, down, flows }) => [at, [up, down, flows]]));

export function nowTopic(parts: NowParts): PageTopic {
  const { context, sums, log } = parts;
  const { monitor } = context;
  return {
    name: 'now',
    view: (parameters): NowView => {
      const by = new Parameters(parameters).choice('by', ['rate', 'bytes'], 'rate');
      const { since = null, total, unattributed, missed } = sums.coverage;
      return {
        largest: largestViews(sums, monitor.traffic, by),
        coverage: { since, total, unattributed, missed },
        failing: failingView(parts),
        balancers: balancersView(monitor.status?.value.balancers),
        reload: reloadView(monitor.status),
      };
    },
    hold: () => log.hold(),
    onChange: (listener) => log.onChange(listener),
  };
}

function failingView({ context, failing, log }: NowParts): FailingView {
  const { monitor, now } = context;
  const found = failing.at(now()).slice(0, MAX_ROWS);
  const last = new Map(found.map(({ outbound, last: at }) => [outbound, at]));
  const opened = new Map<string, number>();
  for (const { view, closedAt } of found.length === 0 ? [] : monitor.flows.values()) {
    const failedAt = last.get(view.outbound);
    if (closedAt !== undefined || failedAt === undefined || view.started_at <= failedAt) continue;
    opened.set(view.outbound, (opened.get(view.outbound) ?? 0) + 1);
  }
  const filter = monitor.status?.value.log_filter;
  return {
    log: logStateView(context, log),
    hiddenBy: filter !== undefined && hidesFailures(filter) ? filter : null,
    rows: found.map(({ outbound, to = null, rule = null, ...more }) => ({
      id: outbound,
      to,
      rule,
      cause: more.cause,
      count: more.count,
      since: Math.round(more.since),
      last: Math.round(more.last),
      opened: opened.get(outbound) ?? 0,
    })),
    others: failing.othersAt(now()),
    lostLines: log.store.lost,
  };
}

function balancersView(balancers: readonly BalancerStatus[] | undefined): BalancersView {
  if (!balancers) return { members: null, down: [], more: 0 };
  const down = balancers.flatMap(({ tag, members }) =>
    members
      .filter(({ health }) => health === 'unavailable')
      .map(({ outbound, error, probed_at: probedAt }): DownMember => ({
        id: JSON.stringify([tag, outbound]),
        balancer: tag,
        outbound,
        error,
        probedAt,
      })),
  );
  return {
    members: balancers.reduce((sum, { members }) => sum + members.length, 0),
    down: down.slice(0, MAX_ROWS),
    more: Math.max(0, down.length - MAX_ROWS),
  };
}

function reloadView(status: Monitor['status']): ReloadView {
  if (!status) return { kind: 'unknown' };
  const last: LastReload | null = status.value.last_reload;
  if (!last) return { kind: 'none' };
  const { at, outcome, place } = last;
  return {
    kind: outcome.kind,
    at,
    text:
      outcome.kind === 'applied' ? outcome.summary : outcome.kind === 'failed' ? outcome.line : '',
    place: place && `${place.file ?? 'the configuration'}:${place.line}:${place.column}`,
  };
}
