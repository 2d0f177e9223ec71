import type { GroupKey, SortKey } from '../shared/connection-keys.ts';
import type { FilterProblem } from '@weir/client/filter/terms';

/** The parameters of the topic `connections`: what a page shows of the list. */
export type ConnectionsParameters = {
  readonly filter?: string;
  readonly sort?: SortKey;
  readonly descending?: boolean;
  readonly group?: GroupKey | 'none';
  /** Names of the groups whose flows are listed. */
  readonly open?: readonly string[];
  /** Index of the first row of the window. */
  readonly first?: number;
  readonly count?: number;
  /** Any text, chosen by the page: rows keep their order while it stays the same; '' for no freeze. */
  readonly freeze?: string;
};

/** The value of the topic `connections`. */
export type ConnectionListView = {
  /** The rows from `first` on; `total` counts headings too. */
  readonly rows: readonly ConnectionRow[];
  readonly first: number;
  readonly total: number;
  /** The number of open flows that match, and of all open flows. */
  readonly matching: number;
  readonly flows: number;
  /** Number of matching flows that have appeared since the rows were frozen. */
  readonly fresh: number;
  /** The filter of the parameters. */
  readonly filter: string;
  readonly problem: FilterProblem | null;
  /** Whether the list of flows has been complete at least once. */
  readonly listed: boolean;
};

export type ConnectionRow = FlowRow | GroupRow;

/** The row of a flow. Its texts come from the network. */
export type FlowRow = {
  readonly id: number;
  readonly session: number | null;
  readonly network: string;
  readonly inbound: string;
  readonly user: string | null;
  readonly source: string | null;
  readonly host: string;
  readonly port: number;
  readonly sniffed: string | null;
  readonly outbound: string;
  readonly version: number;
  readonly rule: number | null;
  /** Unix milliseconds of the dashboard. */
  readonly startedAt: number;
  readonly closedAt: number | null;
  readonly up: number;
  readonly down: number;
  /** Bytes per second, rounded. */
  readonly upRate: number;
  readonly downRate: number;
};

/** The heading of a group, and the sums of its open flows. */
export type GroupRow = {
  readonly id: string;
  /** '' for flows without a value. */
  readonly group: string;
  readonly isOpen: boolean;
  readonly flows: number;
  readonly up: number;
  readonly down: number;
  readonly upRate: number;
  readonly downRate: number;
};

/** The value of the topic `connection`, whose parameter is `{ id }`; `null` once the flow is forgotten. */
export type ConnectionDetails = {
  readonly flow: FlowRow;
  /** The group of the subscribe file that the rule belongs to. */
  readonly routeGroup: string | null;
  /** Other flows of the same session: the first ones, and the total number. */
  readonly others: readonly FlowRow[];
  readonly otherCount: number;
  /** Filters that select similar flows, with the number of open flows each matches. */
  readonly alike: readonly LikeFilter[];
} | null;

export type LikeFilter = {
  /** The property, such as `user`. */
  readonly what: string;
  /** The filter, such as `user:ann`. */
  readonly filter: string;
  readonly flows: number;
};

/** The result of the action `closing`: the effect that `close` with the same filter would have now. */
export type ClosingPreview = {
  readonly flows: number;
  /** The equivalent command line; `null` if it would be too long. */
  readonly command: string | null;
  /** Whether one request of the API suffices; otherwise each flow is closed by its id. */
  readonly isSelector: boolean;
};

/** The result of the action `close`. */
export type CloseResult = {
  readonly closed: number;
};
