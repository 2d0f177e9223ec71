import type { NamedUsage, UsageCounts } from '@weir/proxy/tracker';

/** Sums of usage. */

export const NOTHING: UsageCounts = { up: 0, down: 0, flows: 0 };

/** Whether anything was used. */
export const isSome = ({ up, down, flows }: UsageCounts): boolean =>
  up > 0 || down > 0 || flows > 0;

export const plus = (a: UsageCounts, b: UsageCounts): UsageCounts => ({
  up: a.up + b.up,
  down: a.down + b.down,
  flows: a.flows + b.flows,
});

export const minus = (a: UsageCounts, b: UsageCounts): UsageCounts => ({
  up: a.up - b.up,
  down: a.down - b.down,
  flows: a.flows - b.flows,
});

/** Compares by bytes, the most first, and then by name. */
export const byUse = (a: NamedUsage, b: NamedUsage): number =>
  b.up + b.down - (a.up + a.down) || (a.name < b.name ? -1 : 1);
