import { quoted } from '@weir/base/printable';
import {
  type DefaultRoute,
  type Routing,
  type Target,
  type RuleEntry,
  isServer,
} from '../routing.ts';
import type { ReportItem } from '../report.ts';

/** The final target of flows, as far as it can be written. */
export type Settled =
  /** A written server: an index in `entries`. */
  | { readonly kind: 'server'; readonly index: number }
  /** A direct connection, or a drop that the document requests; with the index of an entry, if it has one. */
  | { readonly kind: 'direct' | 'blackhole'; readonly index?: number | undefined }
  /** No target that can be written: flows are dropped, for this reason. */
  | { readonly kind: 'lost'; readonly reason: string };

const CYCLE: Settled = { kind: 'lost', reason: 'its groups name each other' };

/**
 * Resolves targets through groups. A selector stands for its chosen member; any other group for its first member that
 * is a written server, never for a direct connection in place of servers that cannot be written. The work for all
 * targets together is linear in the number of members.
 */
export class Targets {
  readonly #routing: Pick<Routing, 'entries' | 'groups'>;
  readonly #problems: ReadonlyMap<number, string>;
  readonly #groups: (Settled | undefined)[] = [];
  readonly #behind = new Map<number, { readonly target: Target | undefined }>();

  /** @param problems reasons why entries with a draft are not written, by index */
  constructor(
    routing: Pick<Routing, 'entries' | 'groups'>,
    problems: ReadonlyMap<number, string> = new Map(),
  ) {
    this.#routing = routing;
    this.#problems = problems;
  }

  settle(target: Target): Settled {
    if (target.kind === 'group') this.#settleGroup(target.index);
    return this.#known(target);
  }

  /** The target behind selectors: that of the last selector's chosen member. `undefined` for a cycle of selectors. */
  behindSelectors(target: Target): Target | undefined {
    const way: number[] = [];
    let at: Target | undefined = target;
    while (at?.kind === 'group' && this.#routing.groups[at.index]?.strategy === 'select') {
      const known = this.#behind.get(at.index);
      if (known) {
        at = known.target;
        break;
      }
      // Overwritten below; until then it marks a cycle.
      this.#behind.set(at.index, { target: undefined });
      way.push(at.index);
      at = this.#candidates(at.index)[0];
    }
    for (const index of way) this.#behind.set(index, { target: at });
    return at;
  }

  /** The index of the last selector on the way to a target. */
  lastSelector(target: Target): number | undefined {
    const passed = new Set<number>();
    let last: number | undefined;
    let at: Target | undefined = target;
    while (at?.kind === 'group' && !passed.has(at.index)) {
      if (this.#routing.groups[at.index]?.strategy !== 'select') break;
      last = at.index;
      passed.add(last);
      at = this.#candidates(last)[0];
    }
    return last;
  }

  /** The name of a target in the document. */
  nameOf(target: Target): string {
    const { entries, groups } = this.#routing;
    switch (target.kind) {
      case 'entry': {
        const entry = entries[target.index];
        return (entry?.draft ?? entry)?.name ?? '';
      }
      case 'group':
        return groups[target.index]?.name ?? '';
      case 'missing':
        return target.name;
      case 'direct':
      case 'blackhole':
        return target.kind;
      default:
        return target satisfies never;
    }
  }

  /** The result for a target that is not a group, or for a group that has been settled. */
  #known(target: Target): Settled {
    switch (target.kind) {
      case 'entry':
        return this.#entry(target.index);
      case 'group':
        return this.#groups[target.index] ?? CYCLE;
      case 'missing':
        return { kind: 'lost', reason: 'it is not one of its servers' };
      case 'direct':
      case 'blackhole':
        return target;
      default:
        return target satisfies never;
    }
  }

  #entry(index: number): Settled {
    const entry = this.#routing.entries[index];
    const reason = this.#problems.get(index) ?? entry?.skipped;
    if (reason !== undefined || !entry?.draft) return { kind: 'lost', reason: reason ?? '' };
    const { protocol } = entry.draft;
    if (protocol === 'freedom') return { kind: 'direct', index };
    return protocol === 'blackhole' ? { kind: 'blackhole', index } : { kind: 'server', index };
  }

  /** Settles the groups that a group depends on first, without recursion: a chain of groups may be long. */
  #settleGroup(index: number): void {
    const open = new Set<number>();
    const way = [index];
    for (let at = way.at(-1); at !== undefined; at = way.at(-1)) {
      const waiting = open.has(at) || this.#groups[at] ? undefined : this.#needs(at);
      open.add(at);
      const next = waiting?.filter((each) => !open.has(each) && !this.#groups[each]);
      if (next && next.length > 0) for (const each of next) way.push(each);
      else {
        way.pop();
        this.#groups[at] ??= this.#settled(at);
      }
    }
  }

  /** The groups that a group depends on. */
  #needs(index: number): readonly number[] {
    return this.#candidates(index).flatMap((each) => (each.kind === 'group' ? [each.index] : []));
  }

  #candidates(index: number): readonly Target[] {
    const group = this.#routing.groups[index];
    if (!group) return [];
    const { strategy, members, chosen = 0 } = group;
    return strategy === 'select' ? members.slice(chosen, chosen + 1) : members;
  }

  #settled(index: number): Settled {
    const found = this.#candidates(index).map((each) => this.#known(each));
    const [first] = found;
    const skipped = this.#routing.groups[index]?.skipped;
    if (skipped !== undefined) return { kind: 'lost', reason: skipped };
    if (!first) return { kind: 'lost', reason: 'the group has no members' };
    return (
      found.find(({ kind }) => kind === 'server') ??
      found.find(({ kind }) => kind === 'lost') ??
      first
    );
  }
}

/** The default route of the written configuration. */
export interface ChosenDefault {
  readonly settled: Settled;
  /** Why the default differs from the document's. */
  readonly problem?: string | undefined;
}

/**
 * Determines the target of flows that no rule matches. Flows are dropped when the default cannot be written, or is a
 * direct connection that skipped rules would have kept flows from.
 */
export function settleDefault(
  { entries, rules, standard }: Pick<Routing, 'entries' | 'rules' | 'standard'>,
  targets: Targets,
): ChosenDefault {
  const lost = (reason: string): ChosenDefault => ({
    settled: { kind: 'lost', reason },
    problem: reason,
  });
  if (standard.kind === 'unstated') {
    const settled = entries
      .keys()
      .map((index) => targets.settle({ kind: 'entry', index }))
      .find(({ kind }) => kind === 'server');
    return settled ? { settled } : lost('No server of the document could be imported.');
  }
  const settled = targets.settle(standard);
  if (settled.kind === 'lost') {
    const named = namedDefault(standard, targets);
    return lost(`The default of the document${named}, could not be imported: ${settled.reason}.`);
  }
  if (settled.kind !== 'direct') return { settled };
  const leaks = rules.some(
    (rule) =>
      ('skipped' in rule || ('any' in rule && rule.isPartial === true)) &&
      (!rule.target || targets.settle(rule.target).kind !== settled.kind),
  );
  return leaks && entries.some(isServer) ? lost(DIRECT_WITHOUT_RULES) : { settled };
}

const DIRECT_WITHOUT_RULES =
  'The default of the document is a direct connection, and not all of its rules, which send flows to servers, are imported.';

const namedDefault = (standard: DefaultRoute, targets: Targets): string => {
  const name = standard.kind === 'unstated' ? '' : targets.nameOf(standard);
  return name === '' ? '' : `, ${quoted(name)}`;
};

/** The default of a document, if it is a target that can be written. */
export const presetOf = (
  { standard }: Pick<Routing, 'standard'>,
  { settled }: ChosenDefault,
): Target | undefined =>
  standard.kind === 'unstated' || settled.kind === 'lost' ? undefined : standard;

/** The report items of rules, and their targets whose flows are dropped. */
interface RulesReported {
  readonly items: readonly ReportItem[];
  readonly problems: readonly string[];
}

/** Maximum number of problems that are listed individually. */
const MOST_PROBLEMS = 100;

/** Reports the rules as they are written. */
export function reportRules(rules: readonly RuleEntry[], targets: Targets): RulesReported {
  const lost = new Map<string, string>();
  let isCrossed = false;
  const items = rules.map((rule): ReportItem => {
    const base = { part: 'rule', source: rule.source } as const;
    if ('needless' in rule) return { ...base, status: 'same', notes: [rule.needless] };
    if ('skipped' in rule) {
      isCrossed ||= !rule.target || targets.settle(rule.target).kind !== 'direct';
      const part = rule.isKey === true ? 'key' : 'rule';
      return { ...base, part, status: 'skipped', notes: [rule.skipped] };
    }
    const settled = targets.settle(rule.target);
    const notes = [...rule.notes];
    if (settled.kind === 'lost') {
      const name = targets.nameOf(rule.target);
      lost.set(name, settled.reason);
      notes.push(`${quoted(name)} could not be imported (${settled.reason}): flows are dropped`);
    } else if (settled.kind === 'direct' && isCrossed) notes.push(CROSSED);
    isCrossed ||= rule.isPartial === true && settled.kind !== 'direct';
    return { ...base, status: notes.length === 0 ? 'imported' : 'changed', notes };
  });
  const problems = Array.from(
    lost.entries().take(MOST_PROBLEMS),
    ([name, reason]) =>
      `Rules send flows to ${quoted(name)}, which could not be imported: ${reason}. These flows are dropped.`,
  );
  return { items, problems };
}

const CROSSED =
  'it goes directly, and may take flows that a rule before it, which is left out, sends elsewhere';

/** The report item of the document's default. */
export function defaultItem(
  { standard }: Pick<Routing, 'standard'>,
  targets: Targets,
  as: string,
  problem: string | undefined,
): ReportItem {
  return {
    part: 'default',
    source: nameOfDefault(standard, targets),
    status: problem === undefined ? 'imported' : 'changed',
    as,
    notes: problem === undefined ? [] : [problem],
  };
}

const nameOfDefault = (standard: DefaultRoute, targets: Targets): string =>
  standard.kind === 'unstated' ? 'the first server' : targets.nameOf(standard);

/** The tag of a settled target among written servers. */
export function tagOf(
  settled: Settled,
  servers: ReadonlyMap<number, { readonly tag: string }>,
): string {
  if (settled.kind === 'lost') return 'blackhole';
  const tag = settled.index === undefined ? undefined : servers.get(settled.index)?.tag;
  return tag ?? (settled.kind === 'direct' ? 'direct' : 'blackhole');
}

/** How a target leads to an outbound, for a comment: `"Google" is at "Tokyo"`. */
export function wayText(target: Target, tag: string, targets: Targets): string {
  const name = targets.nameOf(target);
  return target.kind === 'group' && name !== tag ? `${name}, which is at ${tag}` : name;
}
