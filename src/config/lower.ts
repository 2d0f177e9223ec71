import type { RegexCache } from '../engine/router/regex-set.ts';
import type { Located } from '../schema/decoder.ts';
import type { BalancerSpec, Spec } from '../spec.ts';
import { builtinOutbounds } from './builtin-outbounds.ts';
import type { ConfigFile } from './config-file.ts';
import { Finding, Findings } from './findings.ts';
import type { InputFiles } from './input-files.ts';
import { refuseLaterTables } from './not-yet.ts';
import type { SourceText } from './source-text.ts';
import { lowerBalancers } from './tables/balancer.ts';
import { lowerDns } from './tables/dns.ts';
import { lowerInbound } from './tables/inbound.ts';
import { lowerLog } from './tables/log.ts';
import { lowerOutbound } from './tables/outbound.ts';
import { lowerGeoFile, lowerRules, routeReferences } from './tables/route.ts';

/**
 * Works out what a file means.
 *
 * Every table is looked at, whatever is wrong with the others, so that the error that is reported is
 * the first in document order.
 *
 * @param files the files that the configuration names, as far as they have been read.
 * @throws {ConfigError}
 */
export function lowerConfig(
  file: ConfigFile,
  source: SourceText,
  files: InputFiles,
  regexes: RegexCache,
): Spec {
  const findings = new Findings();
  refuseLaterTables({ subscribe: file.subscribe, api: file.api }, findings);

  const dns = lowerDns(file.dns, files, findings);
  refuseDuplicates(file.inbound, 'inbound', () => 'duplicate inbound tag', findings);
  refuseDuplicates(file.outbound, 'outbound', (tag) => `duplicate outbound tag: ${tag}`, findings);
  const inbounds = file.inbound.map((inbound) => lowerInbound(inbound, findings));
  const written = file.outbound.map((outbound) => lowerOutbound(outbound, findings));
  // Before the rules, so that the lack of a file is told rather than what is wrong with a code.
  const geoip = lowerGeoFile(file.route, 'geoip', files, findings);
  const geosite = lowerGeoFile(file.route, 'geosite', files, findings);
  const rules = lowerRules(file.route, regexes, findings);

  const references = routeReferences(file.route);
  const carried = new Set([
    ...file.outbound.map(({ value }) => value.tag.value),
    ...file.balancer.map(({ tag }) => tag.value),
  ]);
  const builtins = builtinOutbounds(new Set(references.map(({ tag }) => tag.value)), carried);
  for (const { tag } of builtins) carried.add(tag);
  let balancers: BalancerSpec[] = [];
  if (file.outbound.length + builtins.length === 0) {
    // Every reference is unknown then, which would hide what is wrong.
    findings.about('outbound').add(new Finding('config defines no outbounds'));
  } else {
    balancers = lowerBalancers(file.balancer, file.outbound, findings);
    refuseUnknown(references, carried, findings);
  }

  const error = findings.toError(source);
  if (error) throw error;
  const outbounds = [...written.filter((outbound) => outbound !== undefined), ...builtins];
  const [first] = outbounds;
  if (!first || !dns) throw new RangeError('a configuration without findings is complete');
  return {
    log: lowerLog(file.log),
    dns,
    inbounds: inbounds.filter((inbound) => inbound !== undefined),
    outbounds,
    balancers,
    route: { default: file.route?.default?.value ?? first.tag, rules, geoip, geosite },
  };
}

interface Tagged {
  readonly value: { readonly tag: Located<string> };
}

function refuseDuplicates(
  tables: readonly Tagged[],
  kind: string,
  message: (tag: string) => string,
  findings: Findings,
): void {
  const seen = new Set<string>();
  for (const { value } of tables) {
    const { tag } = value;
    if (seen.has(tag.value)) {
      findings.about(`${kind} ${tag.value}`).add(new Finding(message(tag.value), tag.span));
    }
    seen.add(tag.value);
  }
}

function refuseUnknown(
  references: ReturnType<typeof routeReferences>,
  known: ReadonlySet<string>,
  findings: Findings,
): void {
  for (const { tag, subject } of references) {
    if (known.has(tag.value)) continue;
    const message = `route references unknown outbound tag: ${tag.value}`;
    findings.about(subject).add(new Finding(message, tag.span));
  }
}
