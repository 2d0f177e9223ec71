import { quoted } from '@weir/base/printable';
import type { ReportItem } from '../report.ts';
import type { DefaultRoute, RuleEntry, Routing, Target } from '../routing.ts';
import type { Settled, Targets } from './settle.ts';

/** The report items of rules, and their targets whose flows are dropped. */
export interface RulesReported {
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
      return { ...base, status: 'skipped', notes: [rule.skipped] };
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
