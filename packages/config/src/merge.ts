import { emptyTable, type Span } from '@weir/proxy/schema';
import { isBuiltinTag } from './builtin-outbounds.ts';
import { balancerTags, type ConfigFile } from './sources/config-file.ts';
import { Finding, type Findings, namesakeAt } from './findings.ts';
import {
  type DeadEnd,
  DEFAULT_GROUP,
  defaultPick,
  groupTargets,
  type RouteTarget,
} from './route-targets.ts';
import { placeOfInherit, type RouteGroup, type SubscribeFile } from './sources/subscribe-file.ts';
import { routeTable } from './tables/route.ts';

/** A route group with its target. */
export interface MergedGroup {
  readonly name: string;
  /** The group's name in errors. */
  readonly subject: string;
  readonly outbound: RouteTarget;
  /** Number of the group's rules in the merged file. */
  readonly rules: number;
}

export interface MergedConfig {
  readonly file: ConfigFile;
  /** The groups in the order in which they are matched; none without a subscribe file. */
  readonly groups: readonly MergedGroup[];
}

interface ResolvedGroup {
  readonly group: RouteGroup;
  readonly target: RouteTarget;
}

/**
 * Merges a subscribe file into the configuration that names it. Its nodes become outbounds after the configuration's
 * own, and the rules of its groups follow the configuration's own rules, each with the target of its group. The pick of
 * the default route replaces `[route].default`.
 *
 * @param subscribe given only for a configuration with `[subscribe]`
 *
 * Errors of the merge are added to `findings`. Unknown and duplicate tags are detected later, as in any configuration,
 * and built-in outbounds are added later as well.
 */
export function mergeSubscribe(
  config: ConfigFile,
  subscribe: SubscribeFile | undefined,
  findings: Findings,
): MergedConfig {
  const groups = subscribe ? resolveGroups(config, subscribe, findings) : [];
  refuseBalancers(config, subscribe, groups, findings);
  if (!subscribe) return { file: config, groups: [] };

  const nodes = subscribe.proxyServer.map(({ value: { name, ...node }, span }) => ({
    value: { tag: name, ...node },
    span,
  }));
  const route = config.route ?? routeTable(emptyTable({ start: 0, end: 0 }));
  const rules = groups.flatMap(({ group, target }) =>
    group.rule.map((rule) => ({ ...rule, outbound: target })),
  );
  return {
    file: {
      ...config,
      outbound: [...config.outbound, ...nodes],
      route: { ...route, default: defaultPick(config), rule: [...route.rule, ...rules] },
    },
    groups: groups.map(({ group, target }) => ({
      name: group.name.value,
      subject: subjectOf(group),
      outbound: target,
      rules: group.rule.length,
    })),
  };
}

/** Returns the groups that have a target; invalid names and groups without a target become findings. */
function resolveGroups(
  config: ConfigFile,
  subscribe: SubscribeFile,
  findings: Findings,
): readonly ResolvedGroup[] {
  const targets = groupTargets(config, subscribe);
  const names = new Map<string, Span>();
  const resolved: ResolvedGroup[] = [];
  for (const [index, group] of subscribe.routeGroup.entries()) {
    const { value: name, span } = group.name;
    const part = findings.about(subjectOf(group));
    const first = names.get(name);
    if (name === DEFAULT_GROUP) {
      part.add(new Finding(`${subjectOf(group)}: the name stands for the default route`, span));
    } else if (first !== undefined) {
      const other = namesakeAt('first', name, first);
      part.add(new Finding(`duplicate route group: ${name}`, span, { other }));
    }
    if (first === undefined) names.set(name, span);
    const target = targets[index];
    if (target && 'value' in target) resolved.push({ group, target });
    else if (target) refuseDeadEnd(group, target, findings);
  }
  return resolved;
}

function refuseDeadEnd(group: RouteGroup, end: DeadEnd, findings: Findings): void {
  // Without a default target there is no outbound, which is reported once for the file.
  if (end.problem === 'no_default') return;
  const why =
    end.problem === 'cycle'
      ? 'inherits in a cycle'
      : `inherits from the group ${JSON.stringify(end.group)}, which does not exist`;
  const finding = new Finding(`${subjectOf(group)} ${why}`, placeOfInherit(group));
  findings.about(subjectOf(group)).add(finding);
}

const subjectOf = ({ name }: RouteGroup): string => `route group ${JSON.stringify(name.value)}`;

/**
 * Refuses targets `direct` or `blackhole` when a balancer has that tag: the name could mean the
 * built-in outbound or the balancer, and traffic could leave by the wrong one.
 */
function refuseBalancers(
  config: ConfigFile,
  subscribe: SubscribeFile | undefined,
  groups: readonly ResolvedGroup[],
  findings: Findings,
): void {
  const balancers = new Set(balancerTags(config).filter(isBuiltinTag));
  for (const { value } of config.outbound) balancers.delete(value.tag.value);
  for (const { value } of subscribe?.proxyServer ?? []) balancers.delete(value.name.value);
  const refuse = (subject: string, target: RouteTarget | undefined): void => {
    if (!target || !balancers.has(target.value)) return;
    const named = JSON.stringify(target.value);
    const message = `${subject}: ${named} names a balancer, not the built-in outbound; rename the balancer`;
    findings.about(subject).add(new Finding(message, target.span));
  };
  refuse('default route', defaultPick(config));
  for (const { group, target } of groups) refuse(subjectOf(group), target);
}
