import { parseFilter, passes } from '@weir/base/log';
import { APP_TARGET } from '@weir/server/app/log/process-log';
import {
  type Monitor,
  type TrafficPart,
  type SumsByKey,
  userOfKey,
  WatchedSums,
  type RatePoint,
  SharedLog,
  FailingOutbounds,
} from '@weir/client/monitor';
import type {
  LargestKind,
  LargestRow,
  LargestView,
  SumOrder,
  BalancersView,
  DownMember,
  FailingView,
  NowView,
  RatePoints,
  RatesView,
  ReloadView,
} from './view.ts';
import { type BalancerStatus, type LastReload, followLog } from '@weir/server/control';
import type { DashboardContext, PageTopic, CreatePageSource } from '../contract.ts';
import { logStateView, logFilter, logFilterPreview, logTopic } from '../log/log-page.ts';
import { Parameters } from '../parameters.ts';
import { WeirError } from '@weir/base';
import { systemClock } from '@weir/io/time';
import {
  addAccount,
  additionPreview,
  removalPreview,
  removeAccount,
} from '../users/user-actions.ts';
import { UsersInFile } from '../users/users-in-file.ts';
import { usersTopic } from '../users/users-topic.ts';

/** Whether a log filter suppresses the lines of failed flows, which are logged at `info`. */
function hidesFailures(filter: string): boolean {
  try {
    return !passes(parseFilter(filter), APP_TARGET, 'info');
  } catch {
    return false; // the syntax of another version of Weir: nothing is known
  }
}

/** Maximum number of rows of each kind. */
const ROWS = 5;

/** The largest hosts, outbounds, sources and users. */
const largestViews = (
  sums: WatchedSums,
  traffic: Monitor['traffic'],
  by: SumOrder,
): readonly LargestView[] => [
  ofKeys('hosts', sums, sums.hosts, by),
  outbounds(traffic?.outbounds ?? new Map(), by),
  ofKeys('sources', sums, sums.sources, by),
  ofKeys('users', sums, sums.users, by),
];

function ofKeys(
  id: LargestKind,
  { coverage }: WatchedSums,
  keys: SumsByKey,
  by: SumOrder,
): LargestView {
  const rows = keys.largest(by, ROWS).map(({ key, rate, bytes, flows }): LargestRow => {
    const { inbound, user } = id === 'users' ? userOfKey(key) : { inbound: null, user: key };
    return { id: key, name: user, inbound, rate, bytes, flows };
  });
  const missing = by === 'bytes' ? coverage.unattributed : coverage.unattributedRate;
  return {
    id,
    rows,
    others: Math.max(0, keys.total(by) - sumOf(rows, by)),
    unattributed: missing + keys.without(by),
  };
}

/** The largest outbounds. Weir counts their bytes itself, since its start. The one without a tag is its resolver. */
function outbounds(parts: ReadonlyMap<string, TrafficPart>, by: SumOrder): LargestView {
  const all = Array.from(parts, ([tag, { up, down, upRate, downRate, flows }]): LargestRow => {
    const sums = { rate: upRate + downRate, bytes: up + down };
    return { id: tag, name: tag === '' ? 'DNS of Weir' : tag, inbound: null, ...sums, flows };
  });
  const rows = all
    .filter((row) => row[by] > 0)
    .sort((a, b) => b[by] - a[by])
    .slice(0, ROWS);
  return { id: 'outbounds', rows, others: sumOf(all, by) - sumOf(rows, by), unattributed: null };
}

const sumOf = (rows: readonly LargestRow[], by: SumOrder): number =>
  rows.reduce((sum, row) => sum + row[by], 0);

/** Maximum number of rows of each list of failures. */
const MAX_ROWS = 20;

interface NowParts {
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

/** The pages Now, Users and Log, which share the sums of flows and the log. */
export const createNowSource: CreatePageSource = (context) => {
  const { monitor } = context;
  const sums = new WatchedSums();
  // For as long as the process runs: pages come and go, and the sums continue.
  monitor.onChange(() => sums.update(monitor));
  const failing = new FailingOutbounds();
  const log = new SharedLog(
    (signal) => {
      const { socket } = context;
      if (socket === undefined) throw new WeirError('no_socket', 'there is no control socket');
      return followLog(socket, { tail: true, signal });
    },
    systemClock,
    (entry) => failing.note(entry),
  );
  const file = new UsersInFile(() => context.config, systemClock);
  const users = { context, sums, file, stderr: process.stderr };
  return {
    topics: [
      ratesTopic(context),
      nowTopic({ context, sums, failing, log }),
      usersTopic(users),
      logTopic(context, log),
    ],
    actions: [
      logFilterPreview(context),
      logFilter(context),
      removalPreview(users),
      removeAccount(users),
      additionPreview(users),
      addAccount(users),
    ],
  };
};
