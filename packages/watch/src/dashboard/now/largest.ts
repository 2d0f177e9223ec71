import {
  type Monitor,
  type TrafficPart,
  type SumsByKey,
  userOfKey,
  type WatchedSums,
} from '@weir/client/monitor';
import type { LargestKind, LargestRow, LargestView, SumOrder } from './view.ts';

/** Maximum number of rows of each kind. */
const ROWS = 5;

/** The largest hosts, outbounds, sources and users. */
export const largestViews = (
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
