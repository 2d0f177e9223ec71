import {
  type NamedUsage,
  usageByName,
  USAGE_DIMENSIONS,
  type UsageCounts,
  type UsageDimension,
  type UsageReport,
} from '@weir/proxy/tracker';

/** Bytes and flows since the start, open flows included. */
export interface UsageView {
  readonly total: UsageCounts;
  /** In each of these, the names and `other`, which sums up names that were not kept, make up the total. */
  readonly by: Readonly<
    Record<UsageDimension, { readonly names: readonly NamedUsage[]; readonly other: UsageCounts }>
  >;
}

export function usageView(report: UsageReport): UsageView {
  const of = (by: UsageDimension): UsageView['by'][UsageDimension] => ({
    names: usageByName(report, by),
    other: report.dimensions.find((each) => each.by === by)?.other ?? { up: 0, down: 0, flows: 0 },
  });
  const dimensions = USAGE_DIMENSIONS.map((by) => [by, of(by)] as const);
  return { total: report.total, by: Object.fromEntries(dimensions) as UsageView['by'] };
}
