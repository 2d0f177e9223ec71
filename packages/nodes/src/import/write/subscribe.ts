import { basicString, keyText } from '@weir/config/text';
import type { Imported } from '../document.ts';
import type { ImportReport, ReportItem } from '../report.ts';
import type { Routing, Target } from '../routing.ts';
import { type WrittenBalancers } from './balancers.ts';
import { geoPaths, NothingImported, resolve } from './config.ts';
import { keyItem, writeParts } from './parts.ts';
import type { Targets, ChosenDefault } from './settle.ts';
import { targetKey, type RuleRun, type InboundTags, type WriteOptions } from './rules.ts';
import { writeServers } from './servers.ts';
import {
  comment,
  tableText,
  groupText,
  ruleText,
  type InheritText,
  UniqueNames,
} from './tables.ts';

/** A document converted to a subscribe file. */
interface WrittenSubscribe {
  readonly text: string;
  /** Names of its nodes, in order. */
  readonly names: readonly string[];
  /**
   * The initial picks for `[subscribe.routes]`: by the name of a group, and of `default`, the name of a node or a
   * built-in outbound. A group without a pick inherits.
   */
  readonly picks: ReadonlyMap<string, string>;
  readonly report: ImportReport;
}

/**
 * Writes a subscribe file from a document: its servers as nodes, its rules as groups. Groups of servers stand for their
 * first server, since a subscribe file has no balancers; inbounds and DNS belong to the configuration.
 *
 * @throws {ImportError} when no node could be written
 */
export async function toSubscribe(
  imported: Imported,
  options: WriteOptions,
): Promise<WrittenSubscribe> {
  const found = await write(imported, options);
  const { servers, groups, picks, rules } = found;
  const geo = geoPaths(rules, options);
  const needed = Object.entries(geo).filter(([, path]) => path !== undefined);
  const head = [
    comment(`From ${imported.kind}, by weir import.`),
    ...(picks.size > 0 && groups.texts.length > 0
      ? [
          comment(
            'Where the document sends flows at first, for the configuration that names this file:',
          ),
          comment('  [subscribe.routes]'),
          ...Array.from(picks, ([name, tag]) => comment(`  ${pickText(name, tag)}`)),
        ]
      : []),
    ...needed.map(([key, path]) => comment(`[route] of it needs ${key} = ${path}`)),
  ].join('');
  return {
    text: [
      groups.texts.length === 0 ? '' : head,
      ...[...servers.found.values()].map(({ text }) => text),
      ...groups.texts,
    ]
      .filter((text) => text !== '')
      .join('\n'),
    names: Array.from(servers.found.values(), ({ tag }) => tag),
    picks,
    report: {
      version: 1,
      kind: imported.kind,
      items: [...found.items, ...partsAlone(imported)],
      problems: found.problems,
    },
  };
}

/**
 * Writes only the nodes of a subscribe file.
 * @throws {ImportError} when no node could be written
 */
export async function toNodes(
  { entries, kind }: Pick<Imported, 'entries' | 'kind'>,
  { check }: Pick<WriteOptions, 'check'>,
): Promise<Pick<WrittenSubscribe, 'text' | 'names' | 'report'>> {
  const { found, items } = await writeServers(entries, 'node', check);
  if (found.size === 0) throw new NothingImported(kind, items);
  return {
    text: Array.from(found.values(), ({ text }) => text).join('\n'),
    names: Array.from(found.values(), ({ tag }) => tag),
    report: { version: 1, kind, items, problems: [] },
  };
}

/**
 * Writes a configuration with picks, and a subscribe file with the nodes and groups.
 * @param path path of the subscribe file, as the configuration names it
 * @throws {ImportError} when no node could be written
 */
export async function toPair(imported: Imported, options: WriteOptions, path: string) {
  const parts = await writeParts(imported, options.check);
  const found = await write(imported, options, parts.inbounds);
  const { servers, groups, picks, balancers, rules } = found;
  const geo = geoPaths(rules, options);
  const routes = Array.from(picks, ([name, tag]) => `${pickText(name, tag)}\n`).join('');
  const config = [
    comment(`From ${imported.kind}, by weir import; its servers and rules are in ${path}.`) +
      found.problems.map((problem) => comment(problem)).join(''),
    parts.text,
    tableText('subscribe', { path }),
    `${comment('The target of each group, and of flows that no rule matches.')}[subscribe.routes]\n${routes}`,
    ...(geo.geoip === undefined && geo.geosite === undefined ? [] : [tableText('route', geo)]),
    ...balancers.texts,
  ];
  const nodes = [
    comment(`From ${imported.kind}, by weir import.`),
    ...[...servers.found.values()].map(({ text }) => text),
    ...groups.texts,
  ];
  return {
    config: config.join('\n'),
    nodes: nodes.join('\n'),
    report: {
      version: 1,
      kind: imported.kind,
      items: [...found.items, ...parts.items],
      problems: found.problems,
    } satisfies ImportReport,
  };
}

const pickText = (name: string, tag: string): string => `${keyText(name)} = ${basicString(tag)}`;

/** @param inbounds tags of the configuration's inbounds, if it is written too */
async function write(imported: Imported, options: WriteOptions, inbounds?: InboundTags) {
  const found = await resolve(imported, 'node', options, inbounds);
  const { servers, targets, balancers } = found;
  const groups = writeGroups(imported, found.runs, found.standard, targets, found.outboundOf);
  return {
    ...found,
    groups,
    picks: new Map([['default', found.byDefault], ...groups.picks]),
    items: [...servers.items, ...groupItems(imported, targets, groups, balancers), ...found.items],
  };
}

/** The outcome of each group as a route group. */
function groupItems(
  { groups }: Routing,
  targets: Targets,
  { names, picks }: WrittenGroups,
  { tags, notes }: WrittenBalancers,
): readonly ReportItem[] {
  return groups.map((group, index): ReportItem => {
    const target: Target = { kind: 'group', index };
    const base = { part: 'group', source: group.name } as const;
    const settled = targets.settle(target);
    if (settled.kind === 'lost') return { ...base, status: 'skipped', notes: [settled.reason] };
    const name = names.get(targetKey(target));
    const tag = tags.get(index);
    if (name === undefined && tag === undefined) {
      return {
        ...base,
        status: 'skipped',
        notes: ['no written rule leads to it; `weir ctl pick default NODE` switches servers'],
      };
    }
    const pick = name === undefined ? undefined : picks.get(name);
    const all = [...group.notes, ...(notes.get(index) ?? [])];
    if (group.strategy !== 'select' && tag === undefined) {
      all.push(
        `it is not a balancer here: pick one of its servers, at first ${JSON.stringify(pick)}`,
      );
    }
    const status = all.length === 0 ? 'imported' : 'changed';
    return { ...base, status, as: name ?? tag, notes: all };
  });
}

/** Report items for the parts that a subscribe file cannot contain. */
const partsAlone = ({ inbounds, dns, logLevel, keys }: Routing): readonly ReportItem[] => {
  const notes = ['a subscribe file has servers and groups alone'];
  const left = (part: ReportItem['part'], source: string): ReportItem => ({
    part,
    source,
    status: 'skipped',
    notes,
  });
  return [
    ...inbounds.map(({ source }) => left('inbound', source)),
    ...(dns ? [left('dns', dns.source)] : []),
    ...(logLevel === undefined ? [] : [left('log', logLevel)]),
    ...keys.map(keyItem),
  ];
};

/** The name of the default route among groups and picks. */
const DEFAULT = 'default';

/** The route groups of a subscribe file. */
interface WrittenGroups {
  /** A text for each group with its rules, in matching order. */
  readonly texts: readonly string[];
  /** The initial pick of each group by its name; absent if it inherits. */
  readonly picks: ReadonlyMap<string, string>;
  /** The name of the first group of each target, by `targetKey`. */
  readonly names: ReadonlyMap<string, string>;
}

/** A group before it is written. */
interface Segment {
  readonly target: Target;
  readonly runs: readonly RuleRun[];
}

/**
 * Writes rules as groups. Weir tries groups in the order of their file, and the rules of each together: where the
 * document returns to an earlier target, a further group, which inherits from the first one of that target, keeps the
 * order.
 *
 * @param outboundOf the node, balancer or built-in outbound that a target leads to
 */
function writeGroups(
  routing: Pick<Routing, 'groups' | 'standard'>,
  runs: readonly RuleRun[],
  standard: ChosenDefault,
  targets: Targets,
  outboundOf: (target: Target) => string,
): WrittenGroups {
  const unique = new UniqueNames([DEFAULT]);
  const names = new Map<string, string>();
  const picks = new Map<string, string>();
  const texts: string[] = [];
  const defined = new Set<string>();
  const waiting = new Map<string, Target>();
  const followsDefault =
    routing.standard.kind === 'unstated' || standard.settled.kind === 'lost'
      ? undefined
      : targets.lastSelector(routing.standard);
  // Without a pick flows use the default, unless that is a direct connection.
  const unpicked = standard.settled.kind === 'server' ? 'default' : 'blackhole';

  const nameOf = (target: Target): string => {
    const key = targetKey(target);
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = unique.next(nameFor(target, targets), 'group');
    names.set(key, name);
    waiting.set(key, target);
    return name;
  };

  const inheritOf = (target: Target, name: string): InheritText => {
    const settled = targets.settle(target);
    if (settled.kind === 'lost') return 'blackhole';
    if (target.kind === 'group') {
      if (target.index === followsDefault) return 'default';
      const group = routing.groups[target.index];
      const chosen = group?.strategy === 'select' ? group.members[group.chosen ?? 0] : undefined;
      if (chosen?.kind === 'group') return { group: nameOf(chosen) };
    }
    if (settled.kind === 'direct' || settled.kind === 'blackhole') {
      const tag = outboundOf(target);
      if (tag === settled.kind) return settled.kind;
    }
    picks.set(name, outboundOf(target));
    return settled.kind === 'direct' || settled.kind === 'blackhole' ? settled.kind : unpicked;
  };

  const write = (target: Target, rules: readonly RuleRun[]): void => {
    const key = targetKey(target);
    const isFirst = !defined.has(key);
    const first = nameOf(target);
    defined.add(key);
    waiting.delete(key);
    const name = isFirst ? first : unique.next(first, 'group');
    const inherit: InheritText = isFirst ? inheritOf(target, name) : { group: first };
    texts.push(groupText(name, inherit) + rules.map(runText).join(''));
  };

  for (const { target, runs: rules } of segmentsOf(runs)) write(target, rules);
  // Groups without rules that others inherit from; each may refer to a further one.
  for (const target of waiting.values()) write(target, []);
  return { texts, picks, names };
}

const isSame = (one: Target, other: Target): boolean => targetKey(one) === targetKey(other);

const runText = ({ source, count, matchers }: RuleRun): string =>
  comment(count > 1 ? `${source} and ${count - 1} more` : source) + ruleText(matchers);

/** Consecutive runs with the same target. */
function segmentsOf(runs: readonly RuleRun[]): readonly Segment[] {
  const segments: { target: Target; runs: RuleRun[] }[] = [];
  for (const run of runs) {
    const last = segments.at(-1);
    if (last && isSame(last.target, run.target)) last.runs.push(run);
    else segments.push({ target: run.target, runs: [run] });
  }
  return segments;
}

/** The name of a group, which is that of its target in the document. */
function nameFor(target: Target, targets: Targets): string {
  switch (target.kind) {
    case 'direct':
      return 'Direct';
    case 'blackhole':
      return 'Reject';
    case 'entry':
    case 'group':
    case 'missing':
      return targets.nameOf(target);
    default:
      return target satisfies never;
  }
}
