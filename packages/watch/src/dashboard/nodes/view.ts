import type { FileState } from '../rules/view.ts';

/* Views for the page Nodes. Texts come from configurations, providers and the network: the page escapes them. */

export type NodeSort = 'file' | 'tag' | 'protocol' | 'flows' | 'rate' | 'total' | 'second';

/** Parameters of the topic `nodes`. */
export type NodesParameters = {
  /** Shows only the row with this id. */
  readonly id: string;
  /**
   * Search terms, all of which a row must have in its tag, protocol, carrier, server or subscription. `is:down` matches
   * rows with a problem, `is:insecure` rows that accept any certificate.
   */
  readonly search: string;
  readonly sort: NodeSort;
  readonly descending: boolean;
  /** Whether rows keep the order of the last view. */
  readonly held: boolean;
  readonly first: number;
  /** Maximum number of rows to return, at most 60. */
  readonly count: number;
};

/** The value of the topic `nodes`. */
export type NodesView = {
  readonly file: FileState;
  /** Number of rows without a search. */
  readonly total: number;
  readonly matching: number;
  /** Number of matching rows that can be probed. */
  readonly probable: number;
  /** Number of outbounds that are not listed, since there are too many. */
  readonly more: number;
  readonly first: number;
  readonly rows: readonly NodeRow[];
  readonly probing: ProbingState;
};

export type NodeRow = {
  /** Unique among outbounds and balancers. */
  readonly id: string;
  readonly tag: string;
  /** `gone`: no longer in the file, while flows are still open on it. */
  readonly kind: 'outbound' | 'balancer' | 'gone';
  /** The protocol of an outbound, or the strategy of a balancer. */
  readonly protocol: string;
  readonly carrier: string;
  readonly server: string | null;
  readonly origin: 'config' | 'subscribe' | 'builtin';
  /** The subscription that the node comes from. */
  readonly source: string | null;
  /** When the node disappeared from its subscription, as an ISO 8601 time. */
  readonly goneSince: string | null;
  readonly flows: number;
  /** Bytes per second. */
  readonly up: number;
  readonly down: number;
  /** Bytes since the start of Weir. */
  readonly upTotal: number;
  readonly downTotal: number;
  /** Whether the outbound accepts any certificate of its server. */
  readonly acceptsAny: boolean;
  /** Subscriptions that no longer have any of the nodes of a balancer. */
  readonly lostFrom: readonly string[];
  /** Flows by version, the latest first, if there are several: older versions end with their flows. */
  readonly versions: readonly { readonly version: number; readonly flows: number }[];
  /** For a member of any balancer, the last probes by its balancers. */
  readonly health: NodeHealth | null;
  /** Empty except for a balancer. */
  readonly members: readonly { readonly tag: string; readonly health: NodeHealth }[];
  /** Number of members beyond those listed. */
  readonly moreMembers: number;
  readonly probe: NodeProbe | null;
};

export type NodeHealth = {
  readonly state: 'unknown' | 'available' | 'unavailable';
  /** Unix milliseconds. */
  readonly probedAt: number | null;
  readonly error: string | null;
};

/** A probe that the dashboard ran. */
export type NodeProbe = {
  readonly state: 'waiting' | 'running' | 'done' | 'cancelled';
  /** When it ended, or started if it is running; Unix milliseconds. */
  readonly at: number;
  readonly url: string;
  readonly tries: number;
  readonly succeeded: number;
  /** Medians in milliseconds; `null` where the connection has no such step. */
  readonly dial: number | null;
  readonly handshake: number | null;
  readonly firstByte: number | null;
  readonly second: number | null;
  /** Whether an existing connection was reused. */
  readonly reused: boolean;
  /** Why the last failed try failed: `dial: connection refused`. */
  readonly error: string | null;
};

export type ProbingState = {
  /** Number of outbounds of the last run; 0 before the first. */
  readonly total: number;
  readonly done: number;
  readonly isRunning: boolean;
  /** The URL that is probed unless a page chooses another. */
  readonly url: string;
  readonly tries: number;
  /** Whether probes are possible: they need the control socket. */
  readonly isPossible: boolean;
};

/** Parameters of the action `probe`: one outbound or balancer, or all that match a search. */
export type ProbeParameters = {
  readonly tag?: string;
  readonly search?: string;
  /** Whether the search is over names of targets. */
  readonly byTarget?: boolean;
  /** `http:` or `https:`; with `--read-only` any but the one of `ProbingState` is refused. */
  readonly url?: string;
  readonly tries?: number;
};

/** The result of the action `probe-preview`: the effect that `probe` with the same parameters would have. */
export type ProbePreview = {
  readonly outbounds: number;
  /** The equivalent command; `null` if it would be too long. */
  readonly command: string | null;
};

/** The result of the action `probe`, which returns before the run ends. */
export type ProbeStarted = { readonly started: number };

/** The topic `lost-balancers`, without parameters: balancers whose subscriptions no longer have any of their nodes. */
export type LostBalancersView = {
  readonly rows: readonly { readonly id: string; readonly sources: readonly string[] }[];
  /** Number of further rows. */
  readonly more: number;
};

/** The value of the topic `subscriptions`, which has no parameters. */
export type SubscriptionsView = {
  readonly rows: readonly SubscriptionRow[];
  /** Why the subscriptions cannot be listed. */
  readonly error: string | null;
  /** The operation in progress. */
  readonly busy: 'compare' | 'update' | null;
};

export type SubscriptionRow = {
  /** The name of the subscription. */
  readonly id: string;
  readonly host: string;
  /** The outbound that it is fetched through. */
  readonly outbound: string | null;
  readonly nodes: number;
  /** Number of nodes that the subscription no longer has, kept because they are in use. */
  readonly kept: number;
  /** When it was last updated, in Unix milliseconds; `null` if never. */
  readonly updated: number | null;
  readonly due: number;
  /** Bytes used, and the quota; `null` if the provider does not report them. */
  readonly used: number | null;
  readonly total: number | null;
  /** Unix milliseconds. */
  readonly expires: number | null;
  readonly failure: { readonly at: number; readonly message: string } | null;
};

/** Parameters of the actions `subscription-compare` and `subscription-update`. */
export type UpdateParameters = {
  /** Name of the source; all sources without one. */
  readonly name?: string;
  /** Whether to accept the loss of most nodes. */
  readonly force?: boolean;
};

/** The result of `subscription-compare` and `subscription-update`; the former previews the latter. */
export type UpdateReport = {
  readonly sources: readonly SourceReport[];
  /** Outcome of the edit; empty without one. */
  readonly applied: string;
  /** Sources that were fetched again, since the previewed content had expired. */
  readonly fetchedAgain: readonly string[];
  /** The equivalent command. */
  readonly command: string;
};

export type SourceReport = {
  readonly id: string;
  readonly kind: 'updated' | 'unchanged' | 'refused' | 'not_due';
  /** Summary of the changes: `+3 −1 ~2 =40`. */
  readonly line: string;
  readonly added: ListedNames;
  readonly removed: ListedNames;
  readonly changed: ListedNames;
  readonly kept: ListedNames;
  /** Changes of balancers, a line each: `balancer "Auto" +3 −1`. */
  readonly balancers: readonly string[];
  /** Further remarks. */
  readonly notes: readonly string[];
  readonly information: readonly string[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
  readonly error: { readonly message: string; readonly hints: readonly string[] } | null;
};

/** At most 200 names, and the number of further ones. */
export type ListedNames = { readonly names: readonly string[]; readonly more: number };
