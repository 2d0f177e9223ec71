import type { ImportedEntry, Settings, SettingValue, StreamDraft } from './draft.ts';

/*
 * The intermediate form of a document: what the readers of Clash, sing-box, Xray and share links fill,
 * and what `write/` turns into a configuration or a subscribe file.
 *
 * Readers resolve names to indexes (`TargetNames`), keep the order of rules, and account for every key
 * of the document: as an entry, a group, a rule, an inbound, DNS, or as a `DocumentKey`. They decide
 * nothing that depends on what can be written. Writers give names, leave out what Weir's own checks
 * refuse, and drop flows whose target cannot be written, never sending them directly.
 */

/** Where a rule, a group or the default of a document sends flows. */
export type Target =
  | { readonly kind: 'direct' }
  | { readonly kind: 'blackhole' }
  /** A server: an index in `entries`. */
  | { readonly kind: 'entry'; readonly index: number }
  /** An index in `groups`. */
  | { readonly kind: 'group'; readonly index: number }
  /** A name that the document has no server or group for, or a target that Weir lacks. */
  | { readonly kind: 'missing'; readonly name: string };

/** The servers that a group takes without naming them. */
export interface TakenServers {
  /** Names of providers; those of the document, or those of the document and of all providers. */
  readonly from: readonly string[] | 'document' | 'all';
  /** Whether the group has members by name as well. */
  readonly isListing: boolean;
  /** Expressions of Rust's regex, one of which a name matches; all servers without any. */
  readonly filters: readonly string[];
  /** Expressions whose servers are left out, and protocols of Weir. */
  readonly excluded: readonly string[];
  readonly excludedProtocols: readonly string[];
}

/** A group of targets. */
export interface ForeignGroup {
  /** As in the document; may be empty or not unique. */
  readonly name: string;
  /**
   * `select`: the user's choice, at first `chosen`; `failover`: the first member that works;
   * `round_robin`: all in turn.
   */
  readonly strategy: 'select' | 'failover' | 'round_robin';
  readonly members: readonly Target[];
  /** An index in `members`: 0 unless the document says otherwise. */
  readonly chosen?: number | undefined;
  /** Seconds between health probes, where the document says so. */
  readonly interval?: number | undefined;
  /** What it takes beside members that it lists by name; absent where it lists all of them. */
  readonly takes?: TakenServers | undefined;
  /** What differs from the document: `fastest becomes first that works`. */
  readonly notes: readonly string[];
  /** Why it cannot be used at all, so that its flows are dropped. */
  readonly skipped?: string | undefined;
}

/**
 * The matchers of a rule, under the keys of `[[route.rule]]`. A flow matches when each of them does; a
 * list holds alternatives. Without any key every flow matches. Values are in Weir's syntax: networks
 * without host bits, ports as `"80"` or `"80-90"`, expressions of Rust's regex.
 */
export interface Matchers {
  readonly domain_full?: readonly string[];
  readonly domain_suffix?: readonly string[];
  readonly domain_keyword?: readonly string[];
  readonly domain_regex?: readonly string[];
  readonly geosite?: readonly string[];
  readonly cidr?: readonly string[];
  readonly geoip?: readonly string[];
  readonly source_cidr?: readonly string[];
  readonly port?: readonly string[];
  readonly network?: 'tcp' | 'udp';
  /** Names of inbounds in the document (`InboundDraft.name`); writers replace them by tags. */
  readonly inbound_tag?: readonly string[];
}

/** A rule of the document, in its order. */
export type RuleEntry =
  | {
      /** How the document writes it, on one line: `DOMAIN-SUFFIX,example.com,Proxy`, `route.rules[3]`. */
      readonly source: string;
      /**
       * A flow that any of these matches goes to `target`. Several only where the document joins
       * matchers of different kinds by "or", which one rule of Weir cannot.
       */
      readonly any: readonly Matchers[];
      readonly target: Target;
      /** What differs from the document. */
      readonly notes: readonly string[];
      /** Whether some of its alternatives are left out, so that it takes fewer flows. */
      readonly isPartial?: boolean;
    }
  | {
      readonly source: string;
      /** Why it is not imported. */
      readonly skipped: string;
      /** Where it would send flows; `undefined` when that is unknown. */
      readonly target: Target | undefined;
    }
  | {
      readonly source: string;
      /** Why nothing is lost without it: Weir does so anyway, or it can never match. */
      readonly needless: string;
    };

/** The value of a setting of an inbound; lists of tables hold accounts. */
export type InboundValue = SettingValue | readonly Settings[];

/** An `[[inbound]]`. */
export interface InboundDraft {
  /** What rules of the document call it; two drafts may have one name (`mixed`). */
  readonly name: string;
  /** The tag that it should have, where that is not its name. */
  readonly tag?: string | undefined;
  readonly protocol: string;
  /** An address, or the default (loopback). */
  readonly listen?: string | undefined;
  readonly port?: number | undefined;
  readonly sniffing?: boolean | undefined;
  readonly stream?: StreamDraft | undefined;
  readonly settings: Readonly<Record<string, InboundValue | undefined>>;
  /** Names of `settings.users`, by index, where a user of the protocol has no key for one. */
  readonly userNames?: readonly (string | undefined)[];
}

/** An inbound of the document. */
export type InboundEntry =
  | {
      /** `mixed-port`, `inbounds[0]`. */
      readonly source: string;
      /** More than one where Weir needs several listeners for it. */
      readonly drafts: readonly InboundDraft[];
      readonly notes: readonly string[];
    }
  | { readonly source: string; readonly skipped: string };

/** `[dns]`: one server, by its address. */
export interface DnsDraft {
  /** The server of the document that it stands for, without secrets. */
  readonly source: string;
  readonly settings: Settings & { readonly backend: 'udp' | 'tls' | 'https' };
}

/** A key of the document that is none of the other parts. */
export interface DocumentKey {
  /** `dns.fake-ip-filter`; at most `MAX_KEYS` of them are listed. */
  readonly path: string;
  /** `same`: Weir does so anyway, or the key changes nothing. */
  readonly status: 'imported' | 'same' | 'skipped';
  /** Required for `skipped`. */
  readonly reason?: string | undefined;
}

/** Where flows go that no rule matches: a target, or any server of a mere list. */
export type DefaultRoute = Target | { readonly kind: 'unstated' };

/** A document of another program. */
export interface Routing {
  readonly entries: readonly ImportedEntry[];
  readonly groups: readonly ForeignGroup[];
  readonly rules: readonly RuleEntry[];
  readonly standard: DefaultRoute;
  readonly inbounds: readonly InboundEntry[];
  /** The first server that Weir can use; the others are in `keys`. */
  readonly dns?: DnsDraft | undefined;
  /** `[log].level`. */
  readonly logLevel?: string | undefined;
  readonly keys: readonly DocumentKey[];
}

/** A document that is a list of servers. */
export const serversAlone = (entries: readonly ImportedEntry[]): Routing => ({
  entries,
  groups: [],
  rules: [],
  standard: { kind: 'unstated' },
  inbounds: [],
  keys: [],
});
