import type { RegexCache } from '@weir/proxy/names';
import type { Located } from '@weir/proxy/schema';
import type { BalancerSpec, RouteGroupSpec, Spec } from '@weir/proxy/spec';
import { type ApiOptions, type ApiTable, lowerApi } from './api.ts';
import { builtinOutbounds } from './builtin-outbounds.ts';
import type { ConfigFile } from './sources/config-file.ts';
import { Finding, Findings, namesakeAt } from './findings.ts';
import type { InputFiles } from './sources/input-files.ts';
import { type MergedGroup, mergeSubscribe } from './merge.ts';
import type { Places } from './places.ts';
import type { SubscribeFile } from './sources/subscribe-file.ts';
import { lowerBalancers } from './tables/balancer.ts';
import { lowerDnsTable } from './tables/dns.ts';
import { lowerInbound } from './tables/inbound.ts';
import { lowerLog } from './tables/log.ts';
import { lowerOutbound } from './tables/outbound.ts';
import { outboundHint } from './word-hints.ts';
import { lowerGeoFile, lowerRules, type Reference, routeReferences } from './tables/route.ts';

/** The input of `lowerConfig`. */
export interface Lowering {
  readonly file: ConfigFile;
  /** The file that `[subscribe]` names; `undefined` without that table. */
  readonly subscribe: SubscribeFile | undefined;
  /** The table `[api]`, if this program serves the API. */
  readonly api: ApiTable | undefined;
  readonly places: Places;
  /** The contents of the files that the configuration names, as far as they were read. */
  readonly files: InputFiles;
  readonly regexes: RegexCache;
}

/** The result of `lowerConfig`: a Spec, and the merged tables that it was lowered from. */
export interface Lowered {
  readonly spec: Spec;
  readonly api: ApiOptions | undefined;
  readonly file: ConfigFile;
  readonly groups: readonly MergedGroup[];
}

/**
 * Lowers a file, together with its subscribe file if it has one.
 *
 * Every table is checked even after an error, so that the first error in document order is
 * reported.
 *
 * @throws {ConfigError}
 */
export function lowerConfig(task: Lowering): Lowered {
  const { places, files, regexes } = task;
  const findings = new Findings();
  const { api: apiTable } = task;
  const api = apiTable && findings.about('api').attempt(() => lowerApi(apiTable));
  const { file, groups } = mergeSubscribe(task.file, task.subscribe, findings);

  const dns = lowerDnsTable(file.dns, files, findings);
  refuseDuplicates(file.inbound, 'inbound', () => 'duplicate inbound tag', findings);
  refuseDuplicates(file.outbound, 'outbound', (tag) => `duplicate outbound tag: ${tag}`, findings);
  const inbounds = file.inbound.map((inbound) => lowerInbound(inbound, files, findings));
  const written = file.outbound.map((outbound) => lowerOutbound(outbound, files, findings));
  // Before the rules, so that a missing file is reported instead of an invalid code.
  const geoip = lowerGeoFile(file.route, 'geoip', files, findings);
  const geosite = lowerGeoFile(file.route, 'geosite', files, findings);
  const rules = lowerRules(file.route, regexes, findings);

  const references = [...groups.map(referenceOf), ...routeReferences(file.route)];
  const carried = new Set([
    ...file.outbound.map(({ value }) => value.tag.value),
    ...file.balancer.map(({ tag }) => tag.value),
  ]);
  const builtins = builtinOutbounds(new Set(references.map(({ tag }) => tag.value)), carried);
  for (const { tag } of builtins) carried.add(tag);
  let balancers: BalancerSpec[] = [];
  // A built-in outbound is the default route only if named. Without any outbound every
  // reference is unknown, which would hide the actual error.
  const hasDefault = file.outbound.length > 0 || file.route?.default !== undefined;
  if (hasDefault && file.outbound.length + builtins.length > 0) {
    balancers = lowerBalancers(file.balancer, file.outbound, findings);
    refuseUnknown(references, carried, findings);
  } else {
    findings
      .about('outbound')
      .add(new Finding('config defines no outbounds', undefined, { hint: NO_OUTBOUNDS }));
  }

  const error = findings.toError(places);
  if (error) throw error;
  const outbounds = [...written.filter((outbound) => outbound !== undefined), ...builtins];
  const [first] = outbounds;
  if (!first || !dns) throw new RangeError('a configuration without findings is complete');
  const spec: Spec = {
    log: lowerLog(file.log),
    dns,
    inbounds: inbounds.filter((inbound) => inbound !== undefined),
    outbounds,
    balancers,
    route: {
      default: file.route?.default?.value ?? first.tag,
      rules,
      geoip,
      geosite,
      ...(task.subscribe && { groups: lowerGroups(groups, rules.length) }),
    },
  };
  return { spec, api, file, groups };
}

const referenceOf = ({ subject, outbound }: MergedGroup): Reference => ({ subject, tag: outbound });

/** Lowers route groups. | @param all total number of rules; those of the groups are the last */
function lowerGroups(groups: readonly MergedGroup[], all: number): readonly RouteGroupSpec[] {
  let firstRule = groups.reduce((left, { rules }) => left - rules, all);
  return groups.map(({ name, outbound, rules }) => {
    const group = { name, outbound: outbound.value, firstRule, rules };
    firstRule += rules;
    return group;
  });
}

const NO_OUTBOUNDS =
  'write at least the direct way out: [[outbound]], and on the lines below it tag = "direct" and protocol = "freedom"';

interface Tagged {
  readonly value: { readonly tag: Located<string> };
}

function refuseDuplicates(
  tables: readonly Tagged[],
  kind: string,
  message: (tag: string) => string,
  findings: Findings,
): void {
  const seen = new Map<string, Located<string>>();
  for (const { value } of tables) {
    const { tag } = value;
    const first = seen.get(tag.value);
    if (first === undefined) {
      seen.set(tag.value, tag);
      continue;
    }
    const finding = new Finding(message(tag.value), tag.span, {
      other: namesakeAt('first', tag.value, first.span),
    });
    findings.about(`${kind} ${tag.value}`).add(finding);
  }
}

function refuseUnknown(
  references: readonly Reference[],
  known: ReadonlySet<string>,
  findings: Findings,
): void {
  for (const { tag, subject } of references) {
    if (known.has(tag.value)) continue;
    const message = `route references unknown outbound tag: ${tag.value}`;
    const hint = (): string | undefined => outboundHint(tag.value, known);
    findings.about(subject).add(new Finding(message, tag.span, { hint }));
  }
}
