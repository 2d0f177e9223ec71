import type { LogStateView } from '../log/view.ts';

/* What the page Now gets. Names are as Weir has them: the page escapes them. */

/** The topic `rates`, without parameters: bytes per second up and down, and open flows, by Unix milliseconds. */
export type RatesView = {
  readonly now: RateView | null;
  /** Two minutes by the second. */
  readonly seconds: RatePoints;
  /** An hour by half minutes. */
  readonly halfMinutes: RatePoints;
};

export type RateView = { readonly up: number; readonly down: number; readonly flows: number };

export type RatePoints = {
  readonly [at: string]: readonly [up: number, down: number, flows: number];
};

/** What the largest are measured by: the parameter `by` of the topic `now`. */
export type SumOrder = 'rate' | 'bytes';

/** The topic `now`. */
export type NowView = {
  readonly largest: readonly LargestView[];
  /** How much the sums by host, source and user have. */
  readonly coverage: CoverageView;
  readonly failing: FailingView;
  readonly balancers: BalancersView;
  readonly reload: ReloadView;
};

export type LargestKind = 'hosts' | 'outbounds' | 'sources' | 'users';

export type LargestView = {
  readonly id: LargestKind;
  readonly rows: readonly LargestRow[];
  /** Sum of all that are not shown, in the unit of the order. */
  readonly others: number;
  /** What belongs to none of them: total − sum; `null` where the numbers are Weir's own and have all. */
  readonly unattributed: number | null;
};

export type LargestRow = {
  readonly id: string;
  /** `null` for a user without a label. */
  readonly name: string | null;
  /** The sessions of a user. */
  readonly inbound: string | null;
  readonly rate: number;
  readonly bytes: number;
  readonly flows: number;
};

export type CoverageView = {
  /** Unix milliseconds; `null` before the first list of flows. */
  readonly since: number | null;
  readonly total: number;
  readonly unattributed: number;
  readonly missed: number;
};

/** Outbounds by which flows failed in the last two minutes. */
export type FailingView = {
  readonly log: LogStateView;
  /** Why the log has no failures: its filter; `null` if it has them, or the filter is unknown. */
  readonly hiddenBy: string | null;
  readonly rows: readonly FailingRow[];
  /** Failures of which the log has only the number. */
  readonly others: number;
  /** Log lines that were lost, some of which may have been failures. */
  readonly lostLines: number;
};

export type FailingRow = {
  readonly id: string;
  readonly cause: string;
  readonly to: string | null;
  /** `null` for the default route. */
  readonly rule: number | null;
  readonly count: number;
  readonly since: number;
  readonly last: number;
  /** Flows by it that were opened after the last failure and are open. */
  readonly opened: number;
};

/** Members of balancers whose last probe failed. */
export type BalancersView = {
  /** Members in all; `null` where the status is not known. */
  readonly members: number | null;
  readonly down: readonly DownMember[];
  /** Further ones. */
  readonly more: number;
};

export type DownMember = {
  readonly id: string;
  readonly balancer: string;
  readonly outbound: string;
  readonly error: string | null;
  readonly probedAt: number | null;
};

export type ReloadView =
  /** The status is not known. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'applied' | 'unchanged' | 'failed';
      readonly at: number;
      /** What it did, or why it was refused; '' for `unchanged`. */
      readonly text: string;
      /** `FILE:LINE:COLUMN` of a refusal. */
      readonly place: string | null;
    };
