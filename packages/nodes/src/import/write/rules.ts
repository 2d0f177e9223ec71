import { parsePortRange } from '@weir/config/values';
import { parseCidr } from '@weir/base/ip';
import { quoted } from '@weir/base/printable';
import type { Matchers, RuleEntry, Target } from '../routing.ts';
import { GEOIP_PRIVATE } from '../values/networks.ts';
import { problemsIn, type ConfigCheck } from './check.ts';
import { ruleText, tableText } from './tables.ts';

/** The context of rules to write. */
export interface RuleContext {
  readonly check: ConfigCheck;
  /** Paths of geo files; rules that need a missing one are left out. */
  readonly geoip?: string | undefined;
  readonly geosite?: string | undefined;
  /** Tags of inbounds by their names; `undefined` if the inbounds are in another file. */
  readonly inbounds?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** The rules of a document in a form that can be written; a rule that cannot be becomes `skipped`. */
export async function writableRules(
  given: readonly RuleEntry[],
  context: RuleContext,
): Promise<readonly RuleEntry[]> {
  const rules = context.geoip === undefined ? given.map(withoutPrivateList) : given;
  const problems = {
    geoip: await listProblems('geoip', rules, context),
    geosite: await listProblems('geosite', rules, context),
    domain_regex: await listProblems('domain_regex', rules, context),
  };
  let tags = 0;
  return rules.map((rule) => {
    if (!('any' in rule)) return rule;
    const kept = withoutMissingLists(rule.any, problems);
    const any = kept.any.map((each) => withTags(each, context.inbounds));
    for (const { inbound_tag: named } of any) tags += named?.length ?? 0;
    const problem =
      tags > MOST_TAGS
        ? `the rules would name more than ${MOST_TAGS} inbounds together`
        : any.map((each) => problemWith(each, problems)).find((each) => each !== '');
    if (problem === undefined) {
      return kept.left.length === 0
        ? { ...rule, any }
        : { ...rule, any, notes: [...rule.notes, ...kept.left], isPartial: true };
    }
    return { source: rule.source, skipped: problem, target: rule.target };
  });
}

/** Maximum number of inbound tags in all rules: many inbounds may share a name, which many rules use. */
const MOST_TAGS = 1_000_000;

type CheckedKey = 'geoip' | 'geosite' | 'domain_regex';

type Problems = Readonly<Record<CheckedKey, ReadonlyMap<string, string>>>;

/** The invalid values of a matcher with the reasons: expressions, and codes of geo files. */
async function listProblems(
  key: CheckedKey,
  rules: readonly RuleEntry[],
  { check, geoip, geosite }: RuleContext,
): Promise<ReadonlyMap<string, string>> {
  const values = new Set(
    rules.flatMap((rule) => ('any' in rule ? rule.any.flatMap((each) => each[key] ?? []) : [])),
  );
  const path = { geoip, geosite, domain_regex: '' }[key];
  if (path === undefined) {
    const reason = `it needs a ${key} file: name one with --${key}`;
    return new Map(Array.from(values, (value) => [value, reason]));
  }
  const file = key === 'domain_regex' ? {} : { [key]: path };
  const head = `[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n${tableText('route', file)}`;
  return problemsIn([...values], (some) => head + ruleText({ [key]: some }, 'direct'), check);
}

/**
 * The alternatives of a rule without lists that cannot be carried over, if others remain: one list does not affect
 * other entries. An exclusion (`!`) is never removed, since the rule would match more.
 */
function withoutMissingLists(
  any: readonly Matchers[],
  problems: Problems,
): { readonly any: readonly Matchers[]; readonly left: readonly string[] } {
  const left = new Map<string, string>();
  const kept = any.flatMap((matchers): readonly Matchers[] => {
    const found: { -readonly [Key in keyof Matchers]: Matchers[Key] } = { ...matchers };
    for (const key of ['geosite', 'geoip'] as const) {
      const codes = matchers[key] ?? [];
      if (codes.some((code) => code.startsWith('!'))) continue;
      const good = codes.filter((code) => !problems[key].has(code));
      if (good.length === codes.length) continue;
      for (const code of codes) {
        const problem = problems[key].get(code);
        if (problem !== undefined) left.set(`${key}:${code}`, problem);
      }
      if (good.length === 0) return [];
      found[key] = good;
    }
    return [found];
  });
  if (kept.length === 0) return { any, left: [] };
  return {
    any: kept,
    left: Array.from(left, ([list, problem]) => `${quoted(list)} is left out of it: ${problem}`),
  };
}

/** Replaces the list `private` by its networks, as in v2fly's files, if no geo file is named. */
const withoutPrivateList = (rule: RuleEntry): RuleEntry =>
  'any' in rule ? { ...rule, any: rule.any.flatMap(privateNetworks) } : rule;

function privateNetworks(matchers: Matchers): readonly Matchers[] {
  const { geoip = [], ...conditions } = matchers;
  const others = geoip.filter((code) => code.toLowerCase() !== 'private');
  // A `cidr` in addition to the list is a separate condition.
  if (others.length === geoip.length || conditions.cidr) return [matchers];
  return [
    { ...conditions, cidr: GEOIP_PRIVATE },
    ...(others.length === 0 ? [] : [{ ...conditions, geoip: others }]),
  ];
}

/** Replaces names of inbounds by their tags; without tags the list is empty. */
function withTags(matchers: Matchers, inbounds: RuleContext['inbounds']): Matchers {
  const { inbound_tag: names } = matchers;
  if (!names) return matchers;
  return { ...matchers, inbound_tag: names.flatMap((name) => inbounds?.get(name) ?? []) };
}

/** Why a rule cannot be written; empty if it can. */
function problemWith(matchers: Matchers, problems: Problems): string {
  if (matchers.inbound_tag?.length === 0) return 'the inbound that it names is not imported';
  for (const key of ['geoip', 'geosite', 'domain_regex'] as const) {
    for (const value of matchers[key] ?? []) {
      const problem = problems[key].get(value);
      if (problem !== undefined) return problem;
    }
  }
  for (const value of [...(matchers.cidr ?? []), ...(matchers.source_cidr ?? [])]) {
    const cidr = parseCidr(value);
    if ('problem' in cidr) return `invalid cidr ${value}: ${cidr.problem}`;
  }
  for (const value of matchers.port ?? []) {
    const range = parsePortRange(value);
    if ('problem' in range) return `invalid port spec: ${range.problem}`;
  }
  return '';
}

/** A run of adjacent rules with the same target, as written. */
export interface RuleRun {
  /** The first rule as in the document. */
  readonly source: string;
  /** Number of the document's rules. */
  readonly count: number;
  readonly matchers: Matchers;
  readonly target: Target;
}

/** A key that is equal for equal targets. */
export const targetKey = (target: Target): string => {
  switch (target.kind) {
    case 'entry':
    case 'group':
      return `${target.kind} ${target.index}`;
    case 'missing':
      return `missing ${target.name}`;
    case 'direct':
    case 'blackhole':
      return target.kind;
    default:
      return target satisfies never;
  }
};

/**
 * Merges adjacent rules with the same target and a single matcher of the same kind, whose list then matches what either
 * would. The order is kept.
 */
export function ruleRuns(rules: readonly RuleEntry[]): readonly RuleRun[] {
  const runs: RuleRun[] = [];
  let open: { run: RuleRun; key: ListKey; values: Set<string>; count: number } | undefined;
  const close = (): void => {
    if (!open) return;
    const { run, key, values, count } = open;
    runs.push({ ...run, count, matchers: { [key]: [...values] } });
    open = undefined;
  };
  for (const rule of rules) {
    if (!('any' in rule)) continue;
    const { source, target } = rule;
    for (const matchers of rule.any) {
      const single = singleList(matchers);
      const run: RuleRun = { source, count: 1, matchers, target };
      if (!single) {
        close();
        runs.push(run);
      } else if (
        open &&
        open.key === single.key &&
        targetKey(open.run.target) === targetKey(target)
      ) {
        for (const value of single.values) open.values.add(value);
        open.count++;
      } else {
        close();
        open = { run, key: single.key, values: new Set(single.values), count: 1 };
      }
    }
  }
  close();
  return runs;
}

type ListKey = Exclude<keyof Matchers, 'network'>;

/** The only matcher of a rule, if it is a list. */
function singleList(
  matchers: Matchers,
): { readonly key: ListKey; readonly values: readonly string[] } | undefined {
  const [only, ...others] = Object.entries(matchers).filter(([, value]) => value !== undefined);
  if (!only || others.length > 0 || typeof only[1] === 'string') return undefined;
  return { key: only[0] as ListKey, values: only[1] };
}
