import type { RegexCache } from '../engine/router/regex-set.ts';
import type { Located } from '../schema/decoder.ts';
import type { Spec } from '../spec.ts';
import { builtinOutbounds } from './builtin-outbounds.ts';
import type { ConfigFile } from './config-file.ts';
import { Finding, Findings } from './findings.ts';
import { refuseLaterTables } from './not-yet.ts';
import type { SourceText } from './source-text.ts';
import { lowerInbound } from './tables/inbound.ts';
import { lowerLog } from './tables/log.ts';
import { lowerOutbound } from './tables/outbound.ts';
import { lowerRules, routeReferences } from './tables/route.ts';

/**
 * Works out what a file means.
 *
 * Every table is looked at, whatever is wrong with the others, so that the error that is reported is
 * the first in document order.
 *
 * @throws {ConfigError}
 */
export function lowerConfig(file: ConfigFile, source: SourceText, regexes: RegexCache): Spec {
  const findings = new Findings();
  const { dns, balancer, subscribe, api } = file;
  refuseLaterTables({ dns, balancer, subscribe, api }, findings);

  refuseDuplicates(file.inbound, 'inbound', () => 'duplicate inbound tag', findings);
  refuseDuplicates(file.outbound, 'outbound', (tag) => `duplicate outbound tag: ${tag}`, findings);
  const inbounds = file.inbound.map((inbound) => lowerInbound(inbound, findings));
  const written = file.outbound.map((outbound) => lowerOutbound(outbound, findings));
  const rules = lowerRules(file.route, regexes, findings);

  const references = routeReferences(file.route);
  const carried = new Set(file.outbound.map(({ value }) => value.tag.value));
  const builtins = builtinOutbounds(new Set(references.map(({ tag }) => tag.value)), carried);
  const outbounds = [...written.filter((outbound) => outbound !== undefined), ...builtins];
  for (const { tag } of builtins) carried.add(tag);
  // Without any outbound every reference is unknown, which would hide what is wrong.
  if (carried.size > 0) refuseUnknown(references, carried, findings);
  else findings.about('outbound').add(new Finding('config defines no outbounds'));

  const error = findings.toError(source);
  if (error) throw error;
  const [first] = outbounds;
  if (!first) throw new RangeError('a configuration without findings has an outbound');
  return {
    log: lowerLog(file.log),
    dns: { backend: 'system' },
    inbounds: inbounds.filter((inbound) => inbound !== undefined),
    outbounds,
    balancers: [],
    route: {
      default: file.route?.default?.value ?? first.tag,
      rules,
      geoip: undefined,
      geosite: undefined,
    },
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
