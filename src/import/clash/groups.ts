import { RegexCache } from '../../engine/router/tables/regex-set.ts';
import { WeirError } from '../../errors.ts';
import { quoted } from '../../printable.ts';
import { ImportError } from '../../protocols/forms/draft.ts';
import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { CLASH_GROUP_KEYS } from '../keys/clash.ts';
import type { ForeignGroup, TakenServers } from '../routing.ts';
import { groupOrReason, MemberBudget, type TargetNames } from '../targets.ts';
import { notesOn } from '../verdicts.ts';
import { fromDotNet } from '../values/dotnet-expressions.ts';
import { nameOf } from '../read-entry.ts';

/** The properties of a proxy that filters of groups compare. */
interface Named {
  readonly name: string;
  readonly type: string;
}

const STRATEGIES: ReadonlyMap<string, ForeignGroup['strategy']> = new Map([
  ['select', 'select'],
  ['url-test', 'failover'],
  ['fallback', 'failover'],
  ['load-balance', 'round_robin'],
]);

/**
 * Reads `proxy-groups`.
 * @param proxies in the order of the document
 * @param hasProviders whether the document has `proxy-providers`
 */
export function readGroups(
  groups: readonly unknown[],
  proxies: readonly unknown[],
  names: TargetNames,
  hasProviders: boolean,
): readonly ForeignGroup[] {
  const budget = new MemberBudget();
  const named = proxies.map((each) => ({ name: nameOf(each, 'name'), type: nameOf(each, 'type') }));
  // In mihomo's order for groups that include all proxies.
  const sorted = named.toSorted((one, other) =>
    Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)),
  );
  const types = new Map(named.map(({ name, type }) => [name, type]));
  return groups.map((each) => {
    const name = nameOf(each, 'name');
    return groupOrReason(name, () =>
      groupOf(name, new ForeignObject(each), { sorted, types, names, budget, hasProviders }),
    );
  });
}

interface Surroundings {
  readonly sorted: readonly Named[];
  readonly types: ReadonlyMap<string, string>;
  readonly names: TargetNames;
  readonly budget: MemberBudget;
  readonly hasProviders: boolean;
}

function groupOf(name: string, fields: ForeignObject, all: Surroundings): ForeignGroup {
  const type = fields.text('type') ?? '';
  if (type === 'relay') throw new ImportError('a chain of servers is not supported');
  const strategy = STRATEGIES.get(type);
  if (!strategy) throw new ImportError(`the type ${quoted(type)} is not supported`);
  const notes: string[] = [];
  if (type === 'url-test') notes.push(FIRST_THAT_WORKS);
  const own = fields.list('proxies').filter((member) => typeof member === 'string');
  const filters = filtersOf(fields, 'filter');
  const excluded = filtersOf(fields, 'exclude-filter');
  const found = [...own, ...included(fields, all, filters, notes)];
  const members = kept(found, fields, all, excluded, notes);
  const providers = fields.list('use');
  const usesProviders =
    providers.length > 0 ||
    (all.hasProviders &&
      [fields.flag('include-all'), fields.flag('include-all-providers')].includes(true));
  if (usesProviders) notes.push(PROVIDERS);
  return {
    name,
    strategy,
    members: members.map((member) => all.names.of(member)),
    interval: strategy === 'select' ? undefined : intervalOf(fields),
    takes: takenBy(fields, { filters, excluded, isListing: own.length > 0 }),
    notes: [...notes, ...notesOn(fields, CLASH_GROUP_KEYS)],
    skipped: members.length === 0 && usesProviders ? PROVIDERS : undefined,
  };
}

const FIRST_THAT_WORKS = 'the first server that works is used, not the fastest';
const PROVIDERS =
  'servers of proxy-providers are not loaded; import each provider by its own URL instead';

/** Seconds between probes; 300 by default, as in mihomo. */
function intervalOf(fields: ForeignObject): number {
  const interval = fields.number('interval') ?? 0;
  return interval > 0 ? interval : 300;
}

/** Expressions of a group; a name matches if any of them does. */
interface Filters {
  /** In Rust's dialect; empty if there are none. */
  readonly expressions: readonly string[];
  readonly matches: (name: string) => boolean;
}

/** The expressions at a key; `undefined` if Rust's dialect, which matches in linear time, cannot express them. */
function filtersOf(fields: ForeignObject, key: 'filter' | 'exclude-filter'): Filters | undefined {
  const text = fields.text(key) ?? '';
  try {
    const written = text === '' ? [] : key === 'filter' ? text.split('`') : [text];
    const expressions = [...new Set(written.map((pattern) => fromDotNet(pattern)))];
    if (expressions.length === 0) return { expressions, matches: () => false };
    const set = new RegexCache().compile(expressions);
    return { expressions, matches: (name) => set.matches(name).length > 0 };
  } catch (error) {
    if (error instanceof WeirError) return undefined;
    throw error;
  }
}

/** The proxies of `include-all-proxies`, in the order of their names. */
function included(
  fields: ForeignObject,
  all: Surroundings,
  filters: Filters | undefined,
  notes: string[],
): readonly string[] {
  const isAsked = [fields.flag('include-all'), fields.flag('include-all-proxies')].includes(true);
  if (!isAsked) return [];
  all.budget.spend(all.sorted.length);
  if (!filters) {
    notes.push(`"filter" is not an expression that Weir can apply: nothing is included by it`);
    return [];
  }
  const { expressions, matches } = filters;
  return all.sorted
    .filter(({ name }) => expressions.length === 0 || matches(name))
    .map(({ name }) => name);
}

/**
 * The servers that a group includes without naming them; `undefined` if it names all of its members, or the servers are
 * unknown.
 */
function takenBy(
  fields: ForeignObject,
  {
    filters,
    excluded,
    isListing,
  }: {
    readonly filters: Filters | undefined;
    readonly excluded: Filters | undefined;
    readonly isListing: boolean;
  },
): TakenServers | undefined {
  const [includesAll, includesProviders, includesProxies] = [
    fields.flag('include-all'),
    fields.flag('include-all-providers'),
    fields.flag('include-all-proxies'),
  ];
  const providers = fields.list('use').filter((name) => typeof name === 'string');
  const usesAll = includesAll || includesProviders || includesProxies;
  if (!filters || (!usesAll && providers.length === 0)) return undefined;
  return {
    from: usesAll ? 'all' : providers,
    isListing,
    filters: filters.expressions,
    excluded: excluded?.expressions ?? [],
    excludedProtocols: excludedTypes(fields).map((type) => PROTOCOLS.get(type) ?? type),
  };
}

/** Weir's protocols for types that mihomo names differently, in lower case. */
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ['ss', 'shadowsocks'],
  ['socks5', 'socks'],
]);

const excludedTypes = (fields: ForeignObject): readonly string[] =>
  (fields.text('exclude-type') ?? '')
    .toLowerCase()
    .split('|')
    .filter((type) => type !== '');

/** The members that `exclude-filter` and `exclude-type` retain. */
function kept(
  members: readonly string[],
  fields: ForeignObject,
  all: Surroundings,
  excluded: Filters | undefined,
  notes: string[],
): readonly string[] {
  all.budget.spend(members.length);
  const types = excludedTypes(fields);
  if (!excluded) {
    notes.push('"exclude-filter" is not an expression that Weir can apply: all members are kept');
  }
  return members.filter((name) => {
    const type = all.types.get(name)?.toLowerCase();
    return !excluded?.matches(name) && (type === undefined || !types.includes(type));
  });
}
