import type { GroupKey, SortKey } from '../shared/connection-keys.ts';
import type { FilterProblem } from '../../monitor/filter/terms.ts';

/** What a page shows of the connections: the parameters of the topic `connections`. */
export type ConnectionsParameters = {
  readonly filter?: string;
  readonly sort?: SortKey;
  readonly descending?: boolean;
  readonly group?: GroupKey | 'none';
  /** Names of the groups whose flows are listed. */
  readonly open?: readonly string[];
  /** The window. */
  readonly first?: number;
  readonly count?: number;
  /** Any word, chosen by the page: rows keep their order for as long as it is the same. Not with ''. */
  readonly freeze?: string;
};

/** The value of the topic `connections`. */
export type ConnectionListView = {
  /** The rows from `first` on; `total` counts headings too. */
  readonly rows: readonly ConnectionRow[];
  readonly first: number;
  readonly total: number;
  /** Open flows that match, and all open ones. */
  readonly matching: number;
  readonly flows: number;
  /** Flows that match and have appeared since the rows were frozen. */
  readonly fresh: number;
  /** What was asked for. */
  readonly filter: string;
  readonly problem: FilterProblem | null;
  /** Whether the list was complete at least once. */
  readonly listed: boolean;
};

export type ConnectionRow = FlowRow | GroupRow;

/** A flow. Texts come from the network. */
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
  /** Bytes per second, whole ones. */
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
  /** Other flows of its session: the first ones, and how many there are. */
  readonly others: readonly FlowRow[];
  readonly otherCount: number;
  /** Filters that select flows like it, with the number of open flows. */
  readonly alike: readonly LikeFilter[];
} | null;

export type LikeFilter = {
  /** `user` */
  readonly what: string;
  /** `user:ann` */
  readonly filter: string;
  readonly flows: number;
};

/** The result of the action `closing`: what `close` with the same filter would do now. */
export type ClosingPreview = {
  readonly flows: number;
  /** The same on the command line; `null` if that would be too long. */
  readonly command: string | null;
  /** Whether it is one request of the API; otherwise each flow is closed by its id. */
  readonly isSelector: boolean;
};

/** The result of the action `close`. */
export type CloseResult = {
  readonly closed: number;
};
