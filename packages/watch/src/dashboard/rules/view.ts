/*
 * Views for the page Rules, and the answer to "where would … go?", which Connections asks as "Why?". Texts come from
 * configurations and from the network: the page escapes them.
 */

/**
 * How the files on disk relate to what the running Weir has loaded.
 * - `loaded`: they are the same
 * - `changed`: the files have changed since; a reload would load them
 * - `refused`: the last reload failed, and Weir keeps its previous configuration
 * - `unknown`: the control socket does not respond
 */
export type FileFreshness = 'loaded' | 'changed' | 'refused' | 'unknown';

/** The configuration as this program has read it. */
export type FileState =
  /** The file is being read for the first time. */
  | { readonly kind: 'reading' }
  | {
      readonly kind: 'read';
      /** Path of the file; `null` for the built-in configuration. */
      readonly file: string | null;
      readonly freshness: FileFreshness;
      /** When it was read, in Unix milliseconds. */
      readonly readAt: number;
    }
  /** The file cannot be read, or is invalid. */
  | {
      readonly kind: 'invalid';
      readonly file: string | null;
      readonly message: string;
      readonly hints: readonly string[];
    }
  /** The file is not known: without the control socket, only `--config` names it. */
  | { readonly kind: 'unknown' };

/** The value of the topic `rules`. */
export type RulesView = {
  readonly file: FileState;
  readonly total: number;
  /** Number of rules that match the search. */
  readonly matching: number;
  readonly first: number;
  readonly rows: readonly RuleRow[];
  readonly fallback: DefaultRouteView | null;
  /** Number of rules with a warning, in the whole file. */
  readonly dead: number;
  /** Whether `rows` are still those of other parameters. */
  readonly pending: boolean;
  readonly hits: HitsState;
};

export type RuleRow = {
  /** Index of the rule, as in the API. */
  readonly id: number;
  /** The place without directories: `weir.toml:12`. */
  readonly place: string;
  readonly group: string | null;
  /** Empty for a rule that matches every flow. */
  readonly matchers: readonly MatcherText[];
  readonly target: TargetText;
  /** Number of open flows. */
  readonly open: number;
  /** Number of flows taken since `HitsState.since`. */
  readonly taken: number;
  /** Number of taken flows that were sent to a blackhole, and of those whose destination was not reached. */
  readonly blocked: number;
  readonly failed: number;
  /** Why the rule never matches. */
  readonly warning: string | null;
};

export type DefaultRouteView = {
  readonly place: string;
  readonly target: TargetText;
  readonly open: number;
  readonly taken: number;
  readonly blocked: number;
  readonly failed: number;
};

export type MatcherText = {
  /** The key of the configuration, such as `domain_suffix`. */
  readonly key: string;
  /** The first entries. */
  readonly entries: readonly string[];
  /** Number of further entries. */
  readonly more: number;
};

/** The target of a rule, described. */
export type TargetText = {
  readonly tag: string;
  /** The protocol of an outbound, `balancer` for a balancer. */
  readonly kind: string;
  /** Members of a balancer, at most 8; empty for an outbound. */
  readonly members: readonly string[];
};

/** How complete the hit counts are. */
export type HitsState = {
  /**
   * `weir`: Weir counts every flow since these rules are in force. `here`: this program counts the flows that it sees,
   * which blocked and failed flows are not among.
   */
  readonly by: 'weir' | 'here';
  /** When counting began, in Unix milliseconds. */
  readonly since: number;
  /** Number of flows counted since, and of those that were blocked or have failed. */
  readonly counted: number;
  readonly blocked: number;
  readonly failed: number;
  /** Number of flows that were opened meanwhile and not seen: while no page was open, or when events were lost. */
  readonly missed: number;
  /**
   * Whether the counted flows are known to belong to the file's rules: the control socket reports since when the rules
   * are in force.
   */
  readonly certain: boolean;
};

/** Parameters of the action `explain`. */
export type ExplainParameters = ExplainedByFlow | ExplainedByText;

/** A flow that is open, or was closed recently. */
export type ExplainedByFlow = { readonly flow: number; readonly first?: number };

/** Any flow, with its properties as on the command line. */
export type ExplainedByText = {
  /** The destination: `HOST:PORT`, IPv6 in brackets. */
  readonly to: string;
  readonly from?: string;
  readonly inbound?: string;
  readonly network?: 'tcp' | 'udp';
  readonly sniffed?: string;
  /** Index of the first of `passed.rows`; 0 by default. */
  readonly first?: number;
};

/** The result of the action `explain`. */
export type ExplainResult = {
  readonly file: FileState;
  /** `tcp example.com:443 from 10.1.2.3 through inbound socks`. */
  readonly flow: string;
  readonly target: TargetText;
  /** Index of the rule; `null` for the default route. */
  readonly rule: number | null;
  readonly place: string;
  readonly group: string | null;
  /**
   * The matchers of the rule with the entry that matched; `null` for the default route, empty for a rule that matches
   * everything.
   */
  readonly matched: readonly { readonly key: string; readonly entry: string }[] | null;
  readonly passed: {
    readonly total: number;
    readonly first: number;
    /** The skipped rules from `first` on, at most 60. */
    readonly rows: readonly PassedRow[];
  };
  readonly notes: readonly {
    readonly text: string;
    /** The property whose value would change the result. */
    readonly option: string | null;
  }[];
  /** How a flow of the running Weir was actually routed; `null` for any other flow. */
  readonly actual: {
    readonly outbound: string;
    readonly rule: number | null;
    /** Why the actual route may differ from the result; `null` where they are equal. */
    readonly difference: string | null;
  } | null;
  /** The equivalent command. */
  readonly command: string;
};

export type PassedRow = {
  readonly id: number;
  readonly place: string;
  readonly group: string | null;
  readonly outbound: string;
  readonly reason: string;
};
