import type { LogStateView } from '../log/view.ts';

/* Views for the page Now. Names are as Weir has them: the page escapes them. */

/** The topic `rates`, without parameters: bytes per second up and down, and open flows, by Unix milliseconds. */
export type RatesView = {
  readonly now: RateView | null;
  /** The last two minutes, a point per second. */
  readonly seconds: RatePoints;
  /** The last hour, a point per 30 seconds. */
  readonly halfMinutes: RatePoints;
};

export type RateView = { readonly up: number; readonly down: number; readonly flows: number };

export type RatePoints = {
  readonly [at: string]: readonly [up: number, down: number, flows: number];
};

/** The order of the largest views: the parameter `by` of the topic `now`. */
export type SumOrder = 'rate' | 'bytes';

/** The value of the topic `now`. */
export type NowView = {
  readonly largest: readonly LargestView[];
  /** How complete the sums by host, source and user are. */
  readonly coverage: CoverageView;
  readonly failing: FailingView;
  readonly balancers: BalancersView;
  readonly reload: ReloadView;
};

export type LargestKind = 'hosts' | 'outbounds' | 'sources' | 'users';

export type LargestView = {
  readonly id: LargestKind;
  readonly rows: readonly LargestRow[];
  /** Sum of all rows that are not shown, in the unit of the order. */
  readonly others: number;
  /** The amount that belongs to no row: total − sum; `null` where Weir itself counts, and so has all. */
  readonly unattributed: number | null;
};

export type LargestRow = {
  readonly id: string;
  /** `null` for a user without a label. */
  readonly name: string | null;
  /** The inbound of a user's sessions. */
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

/** The outbounds on which flows failed in the last two minutes. */
export type FailingView = {
  readonly log: LogStateView;
  /** The log filter that suppresses failures; `null` if it does not, or is unknown. */
  readonly hiddenBy: string | null;
  readonly rows: readonly FailingRow[];
  /** Number of failures that the log only counts. */
  readonly others: number;
  /** Number of lost log lines, some of which may have been failures. */
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
  /** Number of open flows of the outbound that were opened after the last failure. */
  readonly opened: number;
};

/** Members of balancers whose last probe failed. */
export type BalancersView = {
  /** Number of all members; `null` where the status is not known. */
  readonly members: number | null;
  readonly down: readonly DownMember[];
  /** Number of further rows. */
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
      /** The outcome, or why it was refused; '' for `unchanged`. */
      readonly text: string;
      /** `FILE:LINE:COLUMN` of a refusal. */
      readonly place: string | null;
    };
