import { ImportError } from '@weir/proxy/protocols/forms';
import type { Imported } from '../document.ts';
import type { ImportReport, ReportItem } from '../report.ts';
import type { Routing, Target } from '../routing.ts';
import { writeBalancers, type WrittenBalancers } from './balancers.ts';
import { writeServers } from './servers.ts';
import { writeParts } from './parts.ts';
import {
  defaultItem,
  reportRules,
  tagOf,
  wayText,
  presetOf,
  settleDefault,
  Targets,
} from './settle.ts';
import { type InboundTags, ruleRuns, writableRules, type WriteOptions } from './rules.ts';
import { comment, type Form, ruleText, tableText } from './tables.ts';

/** A document converted to Weir's form. */
export interface WrittenConfig {
  readonly text: string;
  readonly report: ImportReport;
}

/**
 * Writes a whole configuration from a document: listeners, servers, balancers and rules. A selector stands for its
 * chosen member.
 *
 * @throws {ImportError} when nothing could be written
 */
export async function toConfig(imported: Imported, options: WriteOptions): Promise<WrittenConfig> {
  const parts = await writeParts(imported, options.check);
  const found = await resolve(imported, 'outbound', options, parts.inbounds);
  const { servers, rules, runs, targets, standard, balancers, outboundOf, byDefault } = found;
  const texts = [
    routeText(standard.problem, byDefault, imported, targets, geoPaths(rules, options)),
    parts.text,
    ...[...servers.found.values()].map(({ text }) => text),
    ...balancers.texts,
    ...runs.map(({ source, count, matchers, target }) => {
      const tag = outboundOf(target);
      const more = count > 1 ? ` and ${count - 1} more` : '';
      const way = target.kind === 'group' ? `: ${wayText(target, tag, targets)}` : '';
      return comment(source + more + way) + ruleText(matchers, tag);
    }),
  ];
  return {
    text: texts.join('\n'),
    report: {
      version: 1,
      kind: imported.kind,
      items: [
        ...servers.items,
        ...groupItems(imported, targets, balancers, outboundOf),
        ...found.items,
        ...parts.items,
      ],
      problems: found.problems,
    },
  };
}

/**
 * Determines what of a document can be written, and where its targets then lead.
 *
 * @param inbounds tags of the configuration's inbounds, if it is written too: only it can have balancers
 * @throws {NothingImported}
 */
export async function resolve(
  imported: Imported,
  form: Form,
  options: WriteOptions,
  inbounds?: InboundTags,
) {
  const servers = await writeServers(imported.entries, form, options.check);
  if (servers.found.size === 0) throw new NothingImported(imported.kind, servers.items);
  const rules = await writableRules(imported.rules, options, inbounds);
  const targets = new Targets(imported, servers.problems);
  const standard = settleDefault({ ...imported, rules }, targets);
  const runs = ruleRuns(rules);
  const preset = presetOf(imported, standard);
  const wanted = [...(preset ? [preset] : []), ...runs.map(({ target }) => target)];
  const balancers = inbounds ? writeBalancers(imported, wanted, targets, servers) : NO_BALANCERS;
  const outboundOf = (target: Target): string => {
    const end = targets.behindSelectors(target);
    const balancer = end?.kind === 'group' ? balancers.tags.get(end.index) : undefined;
    return balancer ?? tagOf(targets.settle(target), servers.found);
  };
  const byDefault = preset ? outboundOf(preset) : tagOf(standard.settled, servers.found);
  const reported = reportRules(rules, targets);
  return {
    servers,
    rules,
    runs,
    targets,
    standard,
    balancers,
    outboundOf,
    byDefault,
    /** The report of the rules and the default. */
    items: [...reported.items, defaultItem(imported, targets, byDefault, standard.problem)],
    problems: [
      ...(standard.problem === undefined ? [] : [`${standard.problem} ${DROPPED}`]),
      ...reported.problems,
    ],
  };
}

const NO_BALANCERS: WrittenBalancers = { tags: new Map(), texts: [], notes: new Map() };

const DROPPED = 'The default is "blackhole": flows that no rule matches are dropped.';

/** Nothing of a document could be imported; the report has the reasons. */
export class NothingImported extends ImportError {
  readonly report: ImportReport;

  constructor(kind: string, items: readonly ReportItem[]) {
    const message = `no outbound could be made of ${kind}`;
    super(message);
    this.report = { version: 1, kind, items, problems: [message] };
  }
}

/** The paths of the geo files that written rules need. */
export function geoPaths(
  rules: Routing['rules'],
  { geoip, geosite }: WriteOptions,
): { readonly geoip?: string | undefined; readonly geosite?: string | undefined } {
  const uses = (key: 'geoip' | 'geosite'): boolean =>
    rules.some((rule) => 'any' in rule && rule.any.some((each) => each[key] !== undefined));
  return {
    geoip: uses('geoip') ? geoip : undefined,
    geosite: uses('geosite') ? geosite : undefined,
  };
}

function routeText(
  problem: string | undefined,
  tag: string,
  { standard }: Routing,
  targets: Targets,
  geo: ReturnType<typeof geoPaths>,
): string {
  const isGroup = standard.kind === 'group';
  const comments =
    problem === undefined
      ? `Flows that no rule matches go here${isGroup ? `: ${wayText(standard, tag, targets)}` : ''}.`
      : problem;
  const also = 'Until another outbound is named here, flows that no rule matches are dropped.';
  return (
    comment(comments) +
    (problem === undefined ? '' : comment(also)) +
    tableText('route', { default: tag, ...geo })
  );
}

const FIRST_CHOICE =
  'a selector stands for its first choice, which rules name; --output keeps it as a group';

/** The outcome of each group in a configuration without a subscribe file, where nothing can be picked. */
function groupItems(
  { groups }: Routing,
  targets: Targets,
  { tags, notes }: WrittenBalancers,
  outboundOf: (target: Target) => string,
): readonly ReportItem[] {
  return groups.map((group, index): ReportItem => {
    const target: Target = { kind: 'group', index };
    const base = { part: 'group', source: group.name } as const;
    const settled = targets.settle(target);
    if (settled.kind === 'lost') return { ...base, status: 'skipped', notes: [settled.reason] };
    const as = outboundOf(target);
    if (group.strategy === 'select') {
      return { ...base, status: 'changed', as, notes: [FIRST_CHOICE, ...group.notes] };
    }
    if (!notes.has(index)) {
      return { ...base, status: 'skipped', notes: ['no rule and no default leads to it'] };
    }
    const all = [...group.notes, ...(notes.get(index) ?? [])];
    const status = tags.has(index) && all.length === 0 ? 'imported' : 'changed';
    return { ...base, status, as, notes: all };
  });
}
