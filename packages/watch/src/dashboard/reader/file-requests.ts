import type { RoutePick } from '@weir/client/api';
import type { RouteView } from '@weir/config/route-view';
import type { ProbedSpec } from '@weir/nodes/probe';
import type { BalancerChange, Difference } from '@weir/nodes/subscribe/nodes/difference';
import type { ListedSource, LeftOut } from '@weir/nodes/subscribe';
import type {
  ChangedLines,
  ConfigTextView,
  LineView,
  PlaceView,
  ValidFiles,
} from '../config/view.ts';
import type { ExplainResult, MatcherText, TargetText } from '../rules/view.ts';

export interface OfFile {
  /** The file of a configuration; `null` for the built-in one. */
  readonly path: string | null;
  /** Process id of the running Weir, from whose working directory relative paths start; `null` if it is not known. */
  readonly pid: number | null;
}

/** A configuration, optionally with a pick applied. */
export interface OfPick extends OfFile {
  readonly pick: RoutePick | null;
}

/** A route in a configuration file. */
export interface OfGroup extends OfFile {
  readonly path: string;
  /** A group, or `default`. */
  readonly group: string;
}

/** Parameters and results of requests about a configuration: plain data, without secrets. */
export interface FileRequests {
  /** The facts of a configuration; files that have changed are read again. */
  readonly facts: { readonly parameters: OfFile; readonly result: ConfigFacts };
  readonly rules: { readonly parameters: OfFile & RulesWanted; readonly result: RulesFound };
  /** Whether a configuration is valid, so that a reload would load it. */
  readonly check: { readonly parameters: OfPick; readonly result: CheckFound };
  /** The lines around a place in one of the files. */
  readonly lines: {
    readonly parameters: OfPick & { readonly place: PlaceView };
    readonly result: readonly LineView[];
  };
  /** A window of the effective text of a valid configuration. */
  readonly text: { readonly parameters: OfFile & TextWanted; readonly result: ConfigTextView };
  /** The lines in which two documents differ. */
  readonly difference: {
    readonly parameters: { readonly before: Uint8Array; readonly after: Uint8Array };
    readonly result: ChangedLines;
  };
  /** The routes as they would be without a pick. */
  readonly 'unpick-plan': { readonly parameters: OfGroup; readonly result: UnpickPlan };
  /** Removes a pick from the file, if that still has this entity tag. */
  readonly unpick: {
    readonly parameters: OfGroup & { readonly etag: string };
    readonly result: UnpickDone;
  };
  readonly explain: { readonly parameters: OfFile & FlowWanted; readonly result: FlowExplained };
  /** The subscriptions of a file with a subscribe file. */
  readonly sources: {
    readonly parameters: { readonly path: string };
    readonly result: readonly ListedSource[];
  };
  readonly update: { readonly parameters: UpdateWanted; readonly result: UpdateDone };
}

export type FileRequestName = keyof FileRequests;
export type ParametersOf<K extends FileRequestName> = FileRequests[K]['parameters'];
export type FileResult<K extends FileRequestName> = FileRequests[K]['result'];

/** Runs requests about files, in another thread or in this one. */
export interface FileWorker {
  /** @throws {WeirError} usually a ConfigError */
  ask<K extends FileRequestName>(
    name: K,
    parameters: ParametersOf<K>,
    signal?: AbortSignal,
  ): Promise<FileResult<K>>;
}

export interface ConfigFacts {
  /** Changes each time the files are read, also across threads. */
  readonly version: string;
  /** Unix milliseconds. */
  readonly readAt: number;
  readonly nodes: readonly NodeFacts[];
  /** Number of outbounds beyond `MOST_NODE_FACTS`. */
  readonly moreNodes: number;
  readonly balancers: readonly BalancerFacts[];
  readonly inbounds: readonly string[];
  readonly rules: number;
  readonly hasSubscriptions: boolean;
}

/** An outbound, or a node of the subscribe file. */
export interface NodeFacts {
  readonly tag: string;
  readonly origin: 'config' | 'subscribe' | 'builtin';
  /** The subscription that the node comes from. */
  readonly source: string | null;
  /** When the node disappeared from its subscription, as an ISO 8601 time. */
  readonly goneSince: string | null;
  readonly protocol: string;
  /** `tcp`, `tls`, `ws`, `ws + tls`, `grpc + tls`, `quic`, `udp`; empty without a server. */
  readonly carrier: string;
  /** `HOST:PORT`; `null` for an outbound without a server. */
  readonly server: string | null;
  /** Whether the outbound accepts any certificate of its server. */
  readonly acceptsAny: boolean;
  /** The spec for probes, without secrets. */
  readonly probed: ProbedSpec;
}

export interface BalancerFacts {
  readonly tag: string;
  readonly strategy: 'failover' | 'round_robin';
  /** Tags of its members, without duplicates. */
  readonly members: readonly string[];
  /** See `lostSources`. */
  readonly lostFrom: readonly string[];
}

/** The result of checking the files. */
export type CheckFound = ValidFiles | { readonly kind: 'invalid'; readonly error: FoundError };

/** An error of a configuration; other failures have only the message. */
export interface FoundError {
  readonly message: string;
  readonly place: PlaceView | null;
  readonly hints: readonly string[];
}

/** The routes as they would be without a pick. */
export interface UnpickPlan extends Pick<RouteView, 'default' | 'groups'> {
  /** The version of the file that has the pick. */
  readonly etag: string;
  /** The line of the pick; `null` if it is not where Weir writes picks. */
  readonly line: number | null;
}

export type UnpickDone =
  | {
      readonly kind: 'written';
      /** The previous contents of the file, which are secret. */
      readonly before: Uint8Array;
      readonly etag: string;
    }
  /** Another writer has changed the file, which was left alone. */
  | { readonly kind: 'stale' }
  /** The file would be invalid without the pick, and was left alone. */
  | { readonly kind: 'invalid'; readonly error: FoundError; readonly lines: readonly LineView[] };

export interface TextWanted {
  /** Text that lines must contain. */
  readonly find: string;
  readonly first: number;
  readonly count: number;
}

/** A window of the rules that match a search: the parameters of the topic `rules`. */
export interface RulesWanted {
  /** Search terms, all of which a rule must contain in its matchers, group, target or place. `rule:12` is rule 12. */
  readonly search: string;
  /** Index of the first row among those that match. */
  readonly first: number;
  /** Number of rows, at most `MAX_ROWS`. */
  readonly count: number;
  /** Whether only rules with a warning match. */
  readonly dead: boolean;
}

export interface RulesFound {
  readonly version: string;
  readonly total: number;
  readonly matching: number;
  readonly first: number;
  readonly rows: readonly RuleFacts[];
  readonly fallback: { readonly place: string; readonly target: TargetText };
  readonly dead: number;
}

export interface RuleFacts {
  readonly id: number;
  readonly place: string;
  readonly group: string | null;
  readonly matchers: readonly MatcherText[];
  readonly target: TargetText;
  readonly warning: string | null;
}

/** A flow as text: see `parseFlow`. */
export interface FlowWanted {
  readonly to: string;
  readonly from: string | undefined;
  readonly inbound: string | undefined;
  readonly network: string | undefined;
  readonly sniffed: string | undefined;
  /** Index of the first skipped rule to return. */
  readonly first: number;
}

export type FlowExplained = Omit<ExplainResult, 'file' | 'actual' | 'command'>;

export interface UpdateWanted {
  readonly path: string;
  /** Names of the sources; all sources when empty. */
  readonly names: readonly string[];
  /**
   * Whether to only fetch and compare. The next update of these sources uses the fetched content, for a limited time.
   */
  readonly dryRun: boolean;
  /** Whether to accept the loss of most nodes. */
  readonly force: boolean;
  readonly socket: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface UpdateDone {
  readonly outcomes: readonly UpdateOutcome[];
  /** Outcome of the edit: `written; applied, built outbound One`. Empty for a dry run and without an edit. */
  readonly applied: string;
  /** Sources that were fetched again, since the content fetched by the dry run had expired. */
  readonly fetchedAgain: readonly string[];
}

export interface UpdateOutcome {
  readonly source: string;
  readonly kind: 'updated' | 'unchanged' | 'refused' | 'not_due';
  readonly difference: Difference;
  readonly balancers: readonly BalancerChange[];
  readonly notes: readonly string[];
  readonly information: readonly string[];
  readonly leftOut: readonly LeftOut[];
  readonly error: { readonly message: string; readonly hints: readonly string[] } | null;
}
