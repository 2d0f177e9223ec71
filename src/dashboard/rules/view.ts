/*
 * What the page Rules shows, and the answer to "where would … go?", which Connections asks as "Why?". Texts come
 * from configurations and from the network: the page escapes them.
 */

/**
 * How the files on disk relate to what the running Weir has loaded.
 * - `loaded`: they are the same
 * - `changed`: the files have changed since; a reload would load them
 * - `refused`: the last reload failed, and Weir keeps what it had before
 * - `unknown`: the control socket does not respond
 */
export type FileFreshness = 'loaded' | 'changed' | 'refused' | 'unknown';

/** The configuration as this program has read it. */
export type FileState =
  /** It is being read for the first time. */
  | { readonly kind: 'reading' }
  | {
      readonly kind: 'read';
      /** Its path; `null` for the built-in configuration. */
      readonly file: string | null;
      readonly freshness: FileFreshness;
      /** When it was read, in Unix milliseconds. */
      readonly readAt: number;
    }
  /** It cannot be read, or is invalid. */
  | {
      readonly kind: 'invalid';
      readonly file: string | null;
      readonly message: string;
      readonly hints: readonly string[];
    }
  /** Which file it is is not known: without the control socket, only `--config` names it. */
  | { readonly kind: 'unknown' };

/** The topic `rules`. */
export type RulesView = {
  readonly file: FileState;
  readonly total: number;
  /** Rules that match the search. */
  readonly matching: number;
  readonly first: number;
  readonly rows: readonly RuleRow[];
  readonly fallback: DefaultRouteView | null;
  /** Rules with a warning, in the whole file. */
  readonly dead: number;
  /** Whether `rows` are still those of other parameters. */
  readonly pending: boolean;
  readonly hits: HitsState;
};

export type RuleRow = {
  /** Its index, as in the API. */
  readonly id: number;
  /** `weir.toml:12`, without folders. */
  readonly place: string;
  readonly group: string | null;
  /** None for a rule that matches every flow. */
  readonly matchers: readonly MatcherText[];
  readonly target: TargetText;
  /** Flows that it has now. */
  readonly open: number;
  /** Flows that it took since `HitsState.since`. */
  readonly taken: number;
  /** Those of them that were sent to a blackhole, and those whose destination was not reached. */
  readonly blocked: number;
  readonly failed: number;
  /** Why it never matches. */
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
  /** `domain_suffix`. */
  readonly key: string;
  /** The first entries. */
  readonly entries: readonly string[];
  /** How many entries there are beyond those. */
  readonly more: number;
};

/** What a rule names, and what it is. */
export type TargetText = {
  readonly tag: string;
  /** The protocol of an outbound, `balancer` for a balancer. */
  readonly kind: string;
  /** Members of a balancer, at most 8; none of an outbound. */
  readonly members: readonly string[];
};

/** How complete the numbers of hits are. */
export type HitsState = {
  /**
   * `weir`: Weir counts, since these rules are in force and whatever has become of a flow. `here`: this program counts
   * the flows that it sees, which blocked and failed ones are not.
   */
  readonly by: 'weir' | 'here';
  /** When counting began, in Unix milliseconds. */
  readonly since: number;
  /** Flows that were counted since, and how many of them were blocked or have failed. */
  readonly counted: number;
  readonly blocked: number;
  readonly failed: number;
  /** Flows that were opened meanwhile and not seen: while no page was open, or when events were lost. */
  readonly missed: number;
  /** Whether the rules of flows are known to be those of the file: the control socket says since when they are in force. */
  readonly certain: boolean;
};

/** Parameters of the action `explain`. */
export type ExplainParameters = ExplainedByFlow | ExplainedByText;

/** A flow that is open, or closed not long ago. */
export type ExplainedByFlow = { readonly flow: number; readonly first?: number };

/** Any flow, as its properties are written on a command line. */
export type ExplainedByText = {
  /** `HOST:PORT`, IPv6 in brackets. */
  readonly to: string;
  readonly from?: string;
  readonly inbound?: string;
  readonly network?: 'tcp' | 'udp';
  readonly sniffed?: string;
  /** Index of the first of `passed.rows`; 0 unless given. */
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
  /** Its matchers with the entry that matched; `null` for the default route, empty for a rule that matches everything. */
  readonly matched: readonly { readonly key: string; readonly entry: string }[] | null;
  readonly passed: {
    readonly total: number;
    readonly first: number;
    /** At most 60. */
    readonly rows: readonly PassedRow[];
  };
  readonly notes: readonly {
    readonly text: string;
    /** The property whose value would change the answer. */
    readonly option: string | null;
  }[];
  /** For a flow of the running Weir: how it was routed in fact; `null` for any other. */
  readonly actual: {
    readonly outbound: string;
    readonly rule: number | null;
    /** Why that may differ from the answer; `null` where it is the same. */
    readonly difference: string | null;
  } | null;
  /** The command that gives the same answer. */
  readonly command: string;
};

export type PassedRow = {
  readonly id: number;
  readonly place: string;
  readonly group: string | null;
  readonly outbound: string;
  readonly reason: string;
};
