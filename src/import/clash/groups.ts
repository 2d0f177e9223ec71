import { RegexCache } from '../../engine/router/tables/regex-set.ts';
import { WeirError } from '../../errors.ts';
import { quoted } from '../../printable.ts';
import { ImportError } from '../draft.ts';
import { ForeignObject } from '../foreign-object.ts';
import { CLASH_GROUP_KEYS } from '../keys/clash-document.ts';
import { nameOf } from '../read-entry.ts';
import type { ForeignGroup } from '../routing.ts';
import { MemberBudget, TooManyMembersError, type TargetNames } from '../targets.ts';
import { notesOn } from '../verdicts.ts';
import { fromDotNet } from '../values/dotnet-expressions.ts';

/** A proxy, as filters of groups see it. */
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
  // As mihomo does for groups that include all.
  const sorted = named.toSorted((one, other) =>
    Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)),
  );
  const types = new Map(named.map(({ name, type }) => [name, type]));
  return groups.map((each) => {
    const name = nameOf(each, 'name');
    try {
      return groupOf(name, new ForeignObject(each), { sorted, types, names, budget, hasProviders });
    } catch (error) {
      if (!(error instanceof ImportError) || error instanceof TooManyMembersError) throw error;
      return { name, strategy: 'select', members: [], notes: [], skipped: error.message };
    }
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
  const found = [...own, ...included(fields, all, notes)];
  const members = kept(found, fields, all, notes);
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
    notes: [...notes, ...notesOn(fields, CLASH_GROUP_KEYS)],
    skipped: members.length === 0 && usesProviders ? PROVIDERS : undefined,
  };
}

const FIRST_THAT_WORKS = 'the first server that works is used, not the fastest';
const PROVIDERS =
  'servers of proxy-providers are not loaded; import each provider by its own URL instead';

/** Seconds between probes; mihomo's default is 300. */
function intervalOf(fields: ForeignObject): number {
  const interval = fields.number('interval') ?? 0;
  return interval > 0 ? interval : 300;
}

/** The proxies of `include-all-proxies`, in the order of their names. */
function included(fields: ForeignObject, all: Surroundings, notes: string[]): readonly string[] {
  const isAsked = [fields.flag('include-all'), fields.flag('include-all-proxies')].includes(true);
  const filter = fields.text('filter') ?? '';
  if (!isAsked) return [];
  all.budget.spend(all.sorted.length);
  if (filter === '') return all.sorted.map(({ name }) => name);
  const matches = matcherOf(filter.split('`'));
  if (!matches) {
    notes.push(`"filter" is not an expression that Weir can apply: nothing is included by it`);
    return [];
  }
  return all.sorted.filter(({ name }) => matches(name)).map(({ name }) => name);
}

/** The members that `exclude-filter` and `exclude-type` leave. */
function kept(
  members: readonly string[],
  fields: ForeignObject,
  all: Surroundings,
  notes: string[],
): readonly string[] {
  all.budget.spend(members.length);
  const filter = fields.text('exclude-filter') ?? '';
  const types = (fields.text('exclude-type') ?? '').toLowerCase().split('|');
  const matches = filter === '' ? undefined : matcherOf([filter]);
  if (filter !== '' && !matches) {
    notes.push('"exclude-filter" is not an expression that Weir can apply: all members are kept');
  }
  return members.filter((name) => {
    const type = all.types.get(name)?.toLowerCase();
    return !matches?.(name) && (type === undefined || !types.includes(type));
  });
}

/**
 * Whether a name matches any of the expressions; `undefined` if Rust's dialect, whose work is linear, cannot
 * say them.
 */
function matcherOf(patterns: readonly string[]): ((name: string) => boolean) | undefined {
  try {
    const set = new RegexCache().compile([
      ...new Set(patterns.map((pattern) => fromDotNet(pattern))),
    ]);
    return (name) => set.matches(name).length > 0;
  } catch (error) {
    if (error instanceof WeirError) return undefined;
    throw error;
  }
}
