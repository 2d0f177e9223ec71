import {
  type Draft,
  ImportError,
  type Settings,
  type SettingValue,
  type StreamDraft,
} from '@weir/proxy/protocols/forms';

/*
 * The intermediate form of a document: the readers of Clash, sing-box, Xray and share links create it, and `write/`
 * turns it into a configuration or a subscribe file.
 *
 * Readers resolve names to indexes (`TargetNames`), keep the order of rules, and account for every key of the document:
 * as an entry, a group, a rule, an inbound, DNS, or as a `DocumentKey`. They make no decision that depends on what can
 * be written. Writers choose names, leave out parts that Weir's own checks reject, and drop flows whose target cannot
 * be written, never sending them directly.
 */

/** An entry of a document: a draft with notes on settings that it lacks, or the reason why it is skipped. */
export type ImportedEntry =
  | { readonly draft: Draft; readonly notes: readonly string[]; readonly skipped?: undefined }
  | { readonly draft?: undefined; readonly name: string; readonly skipped: string };

/** Whether an entry is a server, and not one of the outbounds that every configuration has. */
export const isServer = ({ draft }: ImportedEntry): boolean =>
  draft?.protocol !== 'freedom' && draft?.protocol !== 'blackhole';

/** Whether a target is a direct connection. */
export const isDirect = (target: Target, entries: readonly ImportedEntry[]): boolean =>
  target.kind === 'direct' ||
  (target.kind === 'entry' && entries[target.index]?.draft?.protocol === 'freedom');

/** The target of a rule, a group or the default of a document. */
export type Target =
  | { readonly kind: 'direct' }
  | { readonly kind: 'blackhole' }
  /** A server: an index in `entries`. */
  | { readonly kind: 'entry'; readonly index: number }
  /** An index in `groups`. */
  | { readonly kind: 'group'; readonly index: number }
  /** A name without a server or group in the document, or a target that Weir lacks. */
  | { readonly kind: 'missing'; readonly name: string };

/** The servers that a group includes without naming them. */
export interface TakenServers {
  /**
   * Names of providers; `document` for the servers of the document, `all` for those and the servers of all providers.
   */
  readonly from: readonly string[] | 'document' | 'all';
  /** Whether the group also has members by name. */
  readonly isListing: boolean;
  /** Expressions of Rust's regex, one of which a name must match; empty for all servers. */
  readonly filters: readonly string[];
  /** Expressions whose servers are excluded, and protocols of Weir. */
  readonly excluded: readonly string[];
  readonly excludedProtocols: readonly string[];
}

/** A group of targets. */
export interface ForeignGroup {
  /** Name in the document; may be empty or not unique. */
  readonly name: string;
  /**
   * `select`: the user's choice, at first `chosen`; `failover`: the first member that works;
   * `round_robin`: all in turn.
   */
  readonly strategy: 'select' | 'failover' | 'round_robin';
  readonly members: readonly Target[];
  /** Index in `members` of the initial choice; 0 unless the document specifies it. */
  readonly chosen?: number | undefined;
  /** Seconds between health probes, if the document specifies them. */
  readonly interval?: number | undefined;
  /** Servers included in addition to the listed members; absent if all members are listed. */
  readonly takes?: TakenServers | undefined;
  /** Differences from the document: `fastest becomes first that works`. */
  readonly notes: readonly string[];
  /** Why the group cannot be used at all, so that its flows are dropped. */
  readonly skipped?: string | undefined;
}

/**
 * The matchers of a rule, under the keys of `[[route.rule]]`. A flow matches when each of them does; a list has
 * alternatives. Without any key every flow matches. Values are in Weir's syntax: networks without host bits, ports as
 * `"80"` or `"80-90"`, expressions of Rust's regex.
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
      /** The rule as in the document, on one line: `DOMAIN-SUFFIX,example.com,Proxy`, `route.rules[3]`. */
      readonly source: string;
      /**
       * Alternatives: a flow that any of them matches goes to `target`. There are several only where the document joins
       * matchers of different kinds by "or", which one rule of Weir cannot.
       */
      readonly any: readonly Matchers[];
      readonly target: Target;
      /** Differences from the document. */
      readonly notes: readonly string[];
      /** Whether some of its alternatives are left out, so that it matches fewer flows. */
      readonly isPartial?: boolean;
    }
  | {
      readonly source: string;
      /** Whether it is a key of the document that has the effect of a rule. */
      readonly isKey?: boolean;
      /** Why the rule is not imported. */
      readonly skipped: string;
      /** The target that it would have; `undefined` if unknown. */
      readonly target: Target | undefined;
    }
  | {
      readonly source: string;
      /** Why nothing is lost without the rule: Weir does so anyway, or it can never match. */
      readonly needless: string;
    };

/** The value of a setting of an inbound; lists of tables hold accounts. */
export type InboundValue = SettingValue | readonly Settings[];

/** An `[[inbound]]` to write. */
export interface InboundDraft {
  /** Name that rules of the document use; two drafts may share one (`mixed`). */
  readonly name: string;
  /** The preferred tag, if it differs from the name. */
  readonly tag?: string | undefined;
  readonly protocol: string;
  /** An address; loopback by default. */
  readonly listen?: string | undefined;
  readonly port?: number | undefined;
  readonly sniffing?: boolean | undefined;
  readonly stream?: StreamDraft | undefined;
  readonly settings: Readonly<Record<string, InboundValue | undefined>>;
  /** Names of `settings.users` by index, for protocols whose users have no key for one. */
  readonly userNames?: readonly (string | undefined)[];
}

/** An inbound of the document. */
export type InboundEntry =
  | {
      /** The inbound as in the document: `mixed-port`, `inbounds[0]`. */
      readonly source: string;
      /** Several drafts if Weir needs several listeners for it. */
      readonly drafts: readonly InboundDraft[];
      readonly notes: readonly string[];
    }
  | { readonly source: string; readonly skipped: string };

/** The table `[dns]`: one server, by its address. */
export interface DnsDraft {
  /** The corresponding server of the document, without secrets. */
  readonly source: string;
  readonly settings: Settings & { readonly backend: 'udp' | 'tls' | 'https' };
}

/** A key of the document that belongs to none of the other parts. */
export interface DocumentKey {
  /** Path such as `dns.fake-ip-filter`; at most `MAX_KEYS` are listed. */
  readonly path: string;
  /** `same`: Weir does so anyway, or the key changes nothing. */
  readonly status: 'imported' | 'same' | 'skipped';
  /** Required for `skipped`. */
  readonly reason?: string | undefined;
}

/** The target of flows that no rule matches; `unstated` for any server of a mere list. */
export type DefaultRoute = Target | { readonly kind: 'unstated' };

/** A document of another program. */
export interface Routing {
  readonly entries: readonly ImportedEntry[];
  readonly groups: readonly ForeignGroup[];
  readonly rules: readonly RuleEntry[];
  readonly standard: DefaultRoute;
  readonly inbounds: readonly InboundEntry[];
  /** The first server that Weir supports; the others are in `keys`. */
  readonly dns?: DnsDraft | undefined;
  /** `[log].level`. */
  readonly logLevel?: string | undefined;
  readonly keys: readonly DocumentKey[];
}

/** The intermediate form of a document that is only a list of servers. */
export const serversAlone = (entries: readonly ImportedEntry[]): Routing => ({
  entries,
  groups: [],
  rules: [],
  standard: { kind: 'unstated' },
  inbounds: [],
  keys: [],
});

/** Maximum number of alternatives of one rule. */
const MAX_ALTERNATIVES = 64;

/**
 * The conjunction of two lists of alternatives: every pair of one from each. Pairs that no flow can match are left out.
 * @throws {ImportError} when a pair has two conditions of the same kind, which a rule of Weir cannot express, or there
 * are too many pairs
 */
export function both(left: readonly Matchers[], right: readonly Matchers[]): readonly Matchers[] {
  if (left.length * right.length > MAX_ALTERNATIVES) {
    throw new ImportError(`it would become more than ${MAX_ALTERNATIVES} rules`);
  }
  return left.flatMap((one) => right.flatMap((other) => joined(one, other)));
}

function joined(one: Matchers, other: Matchers): readonly Matchers[] {
  for (const [key, value] of Object.entries(other)) {
    const own: unknown = Object.hasOwn(one, key) ? one[key as keyof Matchers] : undefined;
    if (own === undefined || JSON.stringify(own) === JSON.stringify(value)) continue;
    if (key === 'network') return [];
    throw new ImportError(`it has two conditions on "${key}", of which both would have to hold`);
  }
  return [{ ...one, ...other }];
}

/** Levels of `[log].level` by those of other programs, in lower case. */
const LOG_LEVELS: ReadonlyMap<string, string> = new Map([
  ['none', 'off'],
  ['silent', 'off'],
  ['panic', 'error'],
  ['fatal', 'error'],
  ['error', 'error'],
  ['warn', 'warn'],
  ['warning', 'warn'],
  ['info', 'info'],
  ['debug', 'debug'],
  ['trace', 'trace'],
]);

/** Weir's level for the name of another program's level; `undefined` for an unknown name. */
export const levelOf = (name: string): string | undefined => LOG_LEVELS.get(name.toLowerCase());

/** Why flows to names may be routed differently than by a program that resolves them first. */
export const NOT_RESOLVED =
  'names are not resolved to match rules: `cidr` and `geoip` match addresses alone';

/** The treatment of queries that another program answers itself. */
export const NOT_ANSWERED =
  'Weir answers queries to the addresses of a TUN device alone; others go where other flows go';

/** Maximum number of servers, left out or not. */
export const MOST_SERVERS = 50_000;

/** Maximum numbers of each kind of part in a document. */
const BOUNDS = {
  servers: MOST_SERVERS,
  groups: 10_000,
  rules: 300_000,
  inbounds: 1000,
} as const;

/** Maximum number of members of all groups of a document together. */
const MOST_MEMBERS = 500_000;

/** The groups of a document have too many members. */
class TooManyMembersError extends ImportError {}

/**
 * The remaining number of members for the groups of a document: a group may include whole lists by a single key, and
 * the work must stay linear in the size of the document.
 */
export class MemberBudget {
  #left = MOST_MEMBERS;

  /** Deducts members. @throws {TooManyMembersError} if none are left */
  spend(members: number): void {
    this.#left -= members;
    if (this.#left >= 0) return;
    throw new TooManyMembersError(`the document's groups have more than ${MOST_MEMBERS} members`);
  }
}

/**
 * Reads a group; an ImportError becomes the reason for leaving it out.
 * @throws {TooManyMembersError}
 */
export function groupOrReason(name: string, read: () => ForeignGroup): ForeignGroup {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ImportError) || error instanceof TooManyMembersError) throw error;
    return { name, strategy: 'select', members: [], notes: [], skipped: error.message };
  }
}

/** A kind of part that has a maximum number. */
export type BoundedPart = keyof typeof BOUNDS;

/**
 * Checks the length of a list, of which an iterator is read up to its limit.
 * @throws {ImportError} for a list that is longer than in any real document
 */
export function bounded<T>(
  what: BoundedPart,
  list: readonly T[] | IteratorObject<T>,
): readonly T[] {
  const items = 'take' in list ? list.take(BOUNDS[what] + 1).toArray() : list;
  refuseMany(what, items.length);
  return items;
}

/** @throws {ImportError} for more parts than in any real document */
export function refuseMany(what: BoundedPart, count: number): void {
  if (count > BOUNDS[what]) {
    throw new ImportError(`the document has more than ${BOUNDS[what]} ${what}`);
  }
}

/** Resolves the names of a document to targets. */
export class TargetNames {
  readonly #targets = new Map<string, Target>();

  /** The first of several names counts. Servers take precedence over groups, and both over built-in outbounds. */
  constructor(names: {
    /** Names of `entries`, in order. */
    readonly entries: readonly string[];
    /** Names of `groups`, in order. */
    readonly groups: readonly string[];
    readonly builtIn?: ReadonlyMap<string, Target> | undefined;
  }) {
    this.#add(names.entries, 'entry');
    this.#add(names.groups, 'group');
    for (const [name, target] of names.builtIn ?? []) {
      if (!this.#targets.has(name)) this.#targets.set(name, target);
    }
  }

  of(name: string): Target {
    return this.#targets.get(name) ?? { kind: 'missing', name };
  }

  #add(names: readonly string[], kind: 'entry' | 'group'): void {
    for (const [index, name] of names.entries()) {
      if (name !== '' && !this.#targets.has(name)) this.#targets.set(name, { kind, index });
    }
  }
}
