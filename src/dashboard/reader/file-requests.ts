import type { RoutePick } from '../../client/pick-route.ts';
import type { RouteView } from '../../config/route-view.ts';
import type { ProbedSpec } from '../../probe/contract.ts';
import type { BalancerChange, Difference } from '../../subscribe/nodes/difference.ts';
import type { ListedSource } from '../../subscribe/update/list-sources.ts';
import type { LeftOut } from '../../subscribe/answer/source-nodes.ts';
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
  /** The process of the running Weir, whose folder relative paths start from; `null` if it is not known. */
  readonly pid: number | null;
}

/** A configuration, as it is or as a pick would have it. */
export interface OfPick extends OfFile {
  readonly pick: RoutePick | null;
}

/** A route of a file. */
export interface OfGroup extends OfFile {
  readonly path: string;
  /** A group, or `default`. */
  readonly group: string;
}

/** What is asked about a configuration, and the answers: plain data, without secrets. */
export interface FileRequests {
  /** What it has; files that have changed are read again. */
  readonly facts: { readonly parameters: OfFile; readonly result: ConfigFacts };
  readonly rules: { readonly parameters: OfFile & RulesWanted; readonly result: RulesFound };
  /** Whether it would be loaded. */
  readonly check: { readonly parameters: OfPick; readonly result: CheckFound };
  /** The lines around a place of it. */
  readonly lines: {
    readonly parameters: OfPick & { readonly place: PlaceView };
    readonly result: readonly LineView[];
  };
  /** What is in force of a valid one. */
  readonly text: { readonly parameters: OfFile & TextWanted; readonly result: ConfigTextView };
  /** How one document differs from another. */
  readonly difference: {
    readonly parameters: { readonly before: Uint8Array; readonly after: Uint8Array };
    readonly result: ChangedLines;
  };
  /** What the routes would be without a pick. */
  readonly 'unpick-plan': { readonly parameters: OfGroup; readonly result: UnpickPlan };
  /** Removes a pick from the file of this entity tag. */
  readonly unpick: {
    readonly parameters: OfGroup & { readonly etag: string };
    readonly result: UnpickDone;
  };
  readonly explain: { readonly parameters: OfFile & FlowWanted; readonly result: FlowExplained };
  /** The subscriptions of a file that has any. */
  readonly sources: {
    readonly parameters: { readonly path: string };
    readonly result: readonly ListedSource[];
  };
  readonly update: { readonly parameters: UpdateWanted; readonly result: UpdateDone };
}

export type FileRequestName = keyof FileRequests;
export type ParametersOf<K extends FileRequestName> = FileRequests[K]['parameters'];
export type FileResult<K extends FileRequestName> = FileRequests[K]['result'];

/** Answers requests about files: in another thread, or in this one. */
export interface FileWorker {
  /** @throws {WeirError} usually a ConfigError */
  ask<K extends FileRequestName>(
    name: K,
    parameters: ParametersOf<K>,
    signal?: AbortSignal,
  ): Promise<FileResult<K>>;
}

export interface ConfigFacts {
  /** Another one each time that the files were read, also by the next thread. */
  readonly version: string;
  /** Unix milliseconds. */
  readonly readAt: number;
  readonly nodes: readonly NodeFacts[];
  /** Outbounds beyond `MOST_NODE_FACTS`. */
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
  /** The subscription that gave it. */
  readonly source: string | null;
  /** Since when its subscription has it no more; an ISO 8601 time. */
  readonly goneSince: string | null;
  readonly protocol: string;
  /** `tcp`, `tls`, `ws`, `ws + tls`, `grpc + tls`, `quic`, `udp`; empty without a server. */
  readonly carrier: string;
  /** `HOST:PORT`; `null` for one without a server. */
  readonly server: string | null;
  /** Whether it accepts any certificate of its server. */
  readonly acceptsAny: boolean;
  /** Without anything secret. */
  readonly probed: ProbedSpec;
}

export interface BalancerFacts {
  readonly tag: string;
  readonly strategy: 'failover' | 'round_robin';
  /** Distinct. */
  readonly members: readonly string[];
  /** See `lostSources`. */
  readonly lostFrom: readonly string[];
}

/** What a check of the files has found. */
export type CheckFound = ValidFiles | { readonly kind: 'invalid'; readonly error: FoundError };

/** An error of a configuration; of another failure it has only the message. */
export interface FoundError {
  readonly message: string;
  readonly place: PlaceView | null;
  readonly hints: readonly string[];
}

/** The routes without a pick. */
export interface UnpickPlan extends Pick<RouteView, 'default' | 'groups'> {
  /** The version of the file that has the pick. */
  readonly etag: string;
  /** The line of the pick; `null` if the file does not have it where picks are written. */
  readonly line: number | null;
}

export type UnpickDone =
  | {
      readonly kind: 'written';
      /** The file before, which is secret. */
      readonly before: Uint8Array;
      readonly etag: string;
    }
  /** Another writer came first, and the file was left alone. */
  | { readonly kind: 'stale' }
  /** Without the pick it would not be loaded, and was left alone. */
  | { readonly kind: 'invalid'; readonly error: FoundError; readonly lines: readonly LineView[] };

export interface TextWanted {
  /** What lines have to contain. */
  readonly find: string;
  readonly first: number;
  readonly count: number;
}

/** A window of the rules that match a search: the parameters of the topic `rules`. */
export interface RulesWanted {
  /** Words; a rule matches that contains them all, in its matchers, group, target or place. `rule:12` is rule 12. */
  readonly search: string;
  /** Index of the first row among those that match. */
  readonly first: number;
  /** Rows, at most `MAX_ROWS`. */
  readonly count: number;
  /** Those with a warning alone. */
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
  /** Index of the first passed rule. */
  readonly first: number;
}

export type FlowExplained = Omit<ExplainResult, 'file' | 'actual' | 'command'>;

export interface UpdateWanted {
  readonly path: string;
  /** All sources when empty. */
  readonly names: readonly string[];
  /** Only fetches and compares. The next update of these sources takes what was fetched, for a while. */
  readonly dryRun: boolean;
  /** Accepts the loss of most nodes. */
  readonly force: boolean;
  readonly socket: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface UpdateDone {
  readonly outcomes: readonly UpdateOutcome[];
  /** What became of the edit: `written; applied, built outbound One`. Empty for a dry run and without an edit. */
  readonly applied: string;
  /** Sources that were fetched again, since what a dry run has fetched is not kept any more. */
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
