import { GeoCodeError, type GeoKind } from '@weir/proxy/geo';
import {
  array,
  type Decoded,
  disclosed,
  type Located,
  located,
  narrowed,
  optional,
  type Span,
  spanned,
  str,
  struct,
} from '@weir/proxy/schema';
import { parseCidr } from '@weir/base/ip';
import type { CidrSpec, GeoipRef, GeositeRef, PortRangeSpec, RuleSpec } from '@weir/proxy/spec';
import { Finding, type Findings } from '../findings.ts';
import { cidrHint, portHint } from '../word-hints.ts';
import { parseGeoipRef, parseGeositeRef, parsePortRange } from '../values.ts';

/** The list of a matcher with its place, and each entry with its own. */
const list = located(array(located(disclosed(str))));
export type MatcherList = Decoded<typeof list>;

const texts = optional(list);

/** Shared by all absent keys: with a hundred thousand rules, most keys are absent. */
const NONE: readonly never[] = [];

/** The entries of a matcher; empty when its key is absent. */
export const listEntries = (matcher: MatcherList | undefined): readonly Located<string>[] =>
  matcher?.value ?? NONE;

/** The matchers of a rule. */
export const matcherShape = {
  domainSuffix: texts,
  domainKeyword: texts,
  domainFull: texts,
  domainRegex: texts,
  cidr: texts,
  sourceCidr: texts,
  port: texts,
  network: optional(narrowed(located(str), { enum: ['tcp', 'udp'] })),
  inboundTag: texts,
  geosite: texts,
  geoip: texts,
};

/** Descriptions of the keys of a rule. */
const RULE_KEYS = {
  outbound: 'The outbound or balancer of flows that match every matcher here',
  domainSuffix: 'Domains, with all their subdomains',
  domainKeyword: 'Parts of host names',
  domainFull: 'Whole host names',
  domainRegex: "Regular expressions in Rust's syntax, for host names",
  cidr: 'Networks of the destination, ADDRESS/PREFIX',
  sourceCidr: 'Networks of the client, ADDRESS/PREFIX',
  port: 'Ports of the destination, or ranges: 80, 8000-8999',
  network: 'Streams (tcp) or datagrams (udp) alone',
  inboundTag: 'Tags of inbounds',
  geosite: 'Lists of the geosite file, CODE or CODE@ATTRIBUTE',
  geoip: 'Lists of the geoip file, CODE or !CODE',
};

/** The table `[[route.rule]]` as written. */
export const ruleTable = spanned(
  struct({ outbound: located(disclosed(str)), ...matcherShape }, RULE_KEYS),
);
export type RuleTable = Decoded<typeof ruleTable>;

/** Returns a rule's name in errors, with its index as the API shows it. */
export const ruleSubject = (index: number): string => `route.rule[${index}]`;

/** Lowers the rule at `index` in the file; `undefined` when it is invalid. */
export function lowerRule(
  rule: RuleTable,
  index: number,
  findings: Findings,
): RuleSpec | undefined {
  const part = findings.about(ruleSubject(index));
  const cidr = part.attempt(() => lowered(rule.cidr, lowerCidr));
  const sourceCidr = part.attempt(() => lowered(rule.sourceCidr, lowerCidr));
  const port = part.attempt(() => lowered(rule.port, lowerPort));
  const network = part.attempt(() => lowerNetwork(rule.network));
  const geosite = part.attempt(() => lowered(rule.geosite, lowerGeosite));
  const geoip = part.attempt(() => lowered(rule.geoip, lowerGeoip));
  if (part.failed || !cidr || !sourceCidr || !port || !geosite || !geoip) return undefined;
  return {
    outbound: rule.outbound.value,
    domainSuffix: lowerCase(rule.domainSuffix),
    domainKeyword: lowerCase(rule.domainKeyword),
    domainFull: lowerCase(rule.domainFull),
    // Not converted to lower case, which would turn `\D` into `\d`.
    domainRegex: valuesOf(rule.domainRegex),
    cidr,
    sourceCidr,
    port,
    network,
    inboundTag: valuesOf(rule.inboundTag),
    geosite,
    geoip,
  };
}

const lowered = <T>(
  matcher: MatcherList | undefined,
  lower: (entry: Located<string>) => T,
): readonly T[] => (matcher === undefined ? NONE : matcher.value.map(lower));

const valuesOf = (matcher: MatcherList | undefined): readonly string[] =>
  lowered(matcher, ({ value }) => value);

const lowerCase = (matcher: MatcherList | undefined): readonly string[] =>
  lowered(matcher, ({ value }) => value.toLowerCase());

function lowerCidr({ value, span }: Located<string>): CidrSpec {
  const cidr = parseCidr(value);
  if ('problem' in cidr) {
    throw new Finding(`invalid cidr ${value}: ${cidr.problem}`, span, { hint: cidrHint(value) });
  }
  return cidr;
}

function lowerPort({ value, span }: Located<string>): PortRangeSpec {
  const range = parsePortRange(value);
  if ('problem' in range) {
    throw new Finding(`invalid port spec: ${range.problem}`, span, { hint: portHint(value) });
  }
  return range;
}

function lowerGeosite({ value, span }: Located<string>): GeositeRef {
  const ref = parseGeositeRef(value);
  refuseNoCode('geosite', ref.code, span);
  return ref;
}

function lowerGeoip({ value, span }: Located<string>): GeoipRef {
  const ref = parseGeoipRef(value);
  refuseNoCode('geoip', ref.code, span);
  return ref;
}

/** Refuses an entry without a code: an entry of the file without one is not a named list. */
function refuseNoCode(kind: GeoKind, code: string, span: Span): void {
  if (code !== '') return;
  const cause = new GeoCodeError(kind, code);
  throw new Finding(cause.message, span, { cause });
}

function lowerNetwork(written: Located<string> | undefined): RuleSpec['network'] {
  if (!written) return undefined;
  const { value, span } = written;
  if (value === 'tcp' || value === 'udp') return value;
  throw new Finding(`invalid rule network ${value} (expected tcp or udp)`, span, {
    hint: 'a rule without network matches both: leave the key out',
  });
}
