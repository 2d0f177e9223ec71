import type { FileState } from '../rules/view.ts';

/*
 * What the page Nodes shows. Texts come from configurations, providers and the network: the page escapes them.
 */

export type NodeSort = 'file' | 'tag' | 'protocol' | 'flows' | 'rate' | 'total' | 'second';

/** Parameters of the topic `nodes`. */
export type NodesParameters = {
  /** Only the row with this id. */
  readonly id: string;
  /** Words; a row has them all in its tag, protocol, carrier, server or subscription. `is:down` is one with a problem, `is:insecure` one that accepts any certificate. */
  readonly search: string;
  readonly sort: NodeSort;
  readonly descending: boolean;
  /** Rows keep the order of the last view. */
  readonly held: boolean;
  readonly first: number;
  /** At most 60. */
  readonly count: number;
};

/** The topic `nodes`. */
export type NodesView = {
  readonly file: FileState;
  /** Rows without a search. */
  readonly total: number;
  readonly matching: number;
  /** Those of them that can be probed. */
  readonly probable: number;
  /** Outbounds that are not listed, since there are too many. */
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
  /** The strategy of a balancer. */
  readonly protocol: string;
  readonly carrier: string;
  readonly server: string | null;
  readonly origin: 'config' | 'subscribe' | 'builtin';
  /** The subscription that gave it. */
  readonly source: string | null;
  /** Since when its subscription has it no more; an ISO 8601 time. */
  readonly goneSince: string | null;
  readonly flows: number;
  /** Bytes per second. */
  readonly up: number;
  readonly down: number;
  /** Bytes since the start of Weir. */
  readonly upTotal: number;
  readonly downTotal: number;
  /** Whether it accepts any certificate of its server. */
  readonly acceptsAny: boolean;
  /** The subscriptions that have none of the nodes of a balancer any more. */
  readonly lostFrom: readonly string[];
  /** Flows by version, the latest first, if there is more than one: older ones end with their flows. */
  readonly versions: readonly { readonly version: number; readonly flows: number }[];
  /** The last probes by its balancers, for a member of any. */
  readonly health: NodeHealth | null;
  /** None but for a balancer. */
  readonly members: readonly { readonly tag: string; readonly health: NodeHealth }[];
  /** Members beyond those. */
  readonly moreMembers: number;
  readonly probe: NodeProbe | null;
};

export type NodeHealth = {
  readonly state: 'unknown' | 'available' | 'unavailable';
  /** Unix milliseconds. */
  readonly probedAt: number | null;
  readonly error: string | null;
};

/** A probe that was asked for here. */
export type NodeProbe = {
  readonly state: 'waiting' | 'running' | 'done' | 'cancelled';
  /** The end of it, or the start while it runs; Unix milliseconds. */
  readonly at: number;
  readonly url: string;
  readonly tries: number;
  readonly succeeded: number;
  /** Medians in milliseconds; `null` where there is no such part. */
  readonly dial: number | null;
  readonly handshake: number | null;
  readonly firstByte: number | null;
  readonly second: number | null;
  /** Whether a connection was used that was there before. */
  readonly reused: boolean;
  /** Why the last failed try did: `dial: connection refused`. */
  readonly error: string | null;
};

export type ProbingState = {
  /** Outbounds of the last run; 0 before the first. */
  readonly total: number;
  readonly done: number;
  readonly isRunning: boolean;
  /** What is asked for unless a page says otherwise. */
  readonly url: string;
  readonly tries: number;
  /** Whether probes are possible: they go through the control socket. */
  readonly isPossible: boolean;
};

/** Parameters of the action `probe`: one outbound or balancer, or all that match a search. */
export type ProbeParameters = {
  readonly tag?: string;
  readonly search?: string;
  /** The search is for names of targets. */
  readonly byTarget?: boolean;
  /** `http:` or `https:`; refused with `--read-only`, unless it is the one of `ProbingState`. */
  readonly url?: string;
  readonly tries?: number;
};

/** The result of the action `probe-preview`: what `probe` with the same parameters would do. */
export type ProbePreview = {
  readonly outbounds: number;
  /** The command that does the same; `null` if it would be too long. */
  readonly command: string | null;
};

/** The result of the action `probe`, which does not wait for it. */
export type ProbeStarted = { readonly started: number };

/** The topic `lost-balancers`, without parameters: balancers none of whose nodes is in its subscription any more. */
export type LostBalancersView = {
  readonly rows: readonly { readonly id: string; readonly sources: readonly string[] }[];
  /** Further ones. */
  readonly more: number;
};

/** The topic `subscriptions`, without parameters. */
export type SubscriptionsView = {
  readonly rows: readonly SubscriptionRow[];
  /** Why they cannot be listed. */
  readonly error: string | null;
  /** What is being done: `compare`, `update` or nothing. */
  readonly busy: 'compare' | 'update' | null;
};

export type SubscriptionRow = {
  /** Its name. */
  readonly id: string;
  readonly host: string;
  /** What it is fetched through. */
  readonly outbound: string | null;
  readonly nodes: number;
  /** Nodes that it has no more, kept because they are in use. */
  readonly kept: number;
  /** Unix milliseconds; `null` if it never was. */
  readonly updated: number | null;
  readonly due: number;
  /** Bytes used, and that may be; `null` if the provider does not say. */
  readonly used: number | null;
  readonly total: number | null;
  /** Unix milliseconds. */
  readonly expires: number | null;
  readonly failure: { readonly at: number; readonly message: string } | null;
};

/** Parameters of the actions `subscription-compare` and `subscription-update`. */
export type UpdateParameters = {
  /** All of them without a name. */
  readonly name?: string;
  /** Accepts the loss of most nodes. */
  readonly force?: boolean;
};

/** The result of both: of the first, what the second would do. */
export type UpdateReport = {
  readonly sources: readonly SourceReport[];
  /** What became of the edit; empty without one. */
  readonly applied: string;
  /** Sources that were fetched again, since what was shown was too old. */
  readonly fetchedAgain: readonly string[];
  /** The command that does it. */
  readonly command: string;
};

export type SourceReport = {
  readonly id: string;
  readonly kind: 'updated' | 'unchanged' | 'refused' | 'not_due';
  /** `+3 −1 ~2 =40`. */
  readonly line: string;
  readonly added: ListedNames;
  readonly removed: ListedNames;
  readonly changed: ListedNames;
  readonly kept: ListedNames;
  /** What changes in balancers, a line each: `balancer "Auto" +3 −1`. */
  readonly balancers: readonly string[];
  /** What else there is to say. */
  readonly notes: readonly string[];
  readonly information: readonly string[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
  readonly error: { readonly message: string; readonly hints: readonly string[] } | null;
};

/** At most 200 names, and how many there are beyond. */
export type ListedNames = { readonly names: readonly string[]; readonly more: number };
