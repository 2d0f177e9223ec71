import { GeoCodeError, type GeoKind } from '../../engine/geo/geo-data.ts';
import { array, located, spanned, str, type Located } from '../../schema/decoder.ts';
import type { Span } from '../../schema/node.ts';
import { fallback, optional, struct, type Output } from '../../schema/struct.ts';
import { parseCidr } from '../../ip/cidr.ts';
import type { CidrSpec, GeoipRef, GeositeRef, PortRangeSpec, RuleSpec } from '../../spec.ts';
import { Finding, type Findings } from '../findings.ts';
import { parseGeoipRef, parseGeositeRef, parsePortRange } from '../values/matchers.ts';

const texts = fallback(array(str), []);
const locatedTexts = fallback(array(located(str)), []);

/** The matchers of a rule. */
export const matcherShape = {
  domainSuffix: texts,
  domainKeyword: texts,
  domainFull: texts,
  domainRegex: locatedTexts,
  cidr: locatedTexts,
  sourceCidr: locatedTexts,
  port: locatedTexts,
  network: optional(located(str)),
  inboundTag: texts,
  geosite: locatedTexts,
  geoip: locatedTexts,
};

/** `[[route.rule]]` as written. */
export const ruleTable = spanned(struct({ outbound: located(str), ...matcherShape }));
export type RuleTable = Output<typeof ruleTable>;

/** How errors name a rule: by the index that the API shows too. */
export const ruleSubject = (index: number): string => `route.rule[${index}]`;

/** Lowers a rule, `index` being its place in the file; `undefined` when it is invalid. */
export function lowerRule(
  rule: RuleTable,
  index: number,
  findings: Findings,
): RuleSpec | undefined {
  const part = findings.about(ruleSubject(index));
  const cidr = part.attempt(() => rule.cidr.map(lowerCidr));
  const sourceCidr = part.attempt(() => rule.sourceCidr.map(lowerCidr));
  const port = part.attempt(() => rule.port.map(lowerPort));
  const network = part.attempt(() => lowerNetwork(rule.network));
  const geosite = part.attempt(() => rule.geosite.map(lowerGeosite));
  const geoip = part.attempt(() => rule.geoip.map(lowerGeoip));
  if (part.failed || !cidr || !sourceCidr || !port || !geosite || !geoip) return undefined;
  return {
    outbound: rule.outbound.value,
    domainSuffix: lowerCase(rule.domainSuffix),
    domainKeyword: lowerCase(rule.domainKeyword),
    domainFull: lowerCase(rule.domainFull),
    // Written in lower case by its author: `\D` and `\d` must not become one.
    domainRegex: rule.domainRegex.map(({ value }) => value),
    cidr,
    sourceCidr,
    port,
    network,
    inboundTag: rule.inboundTag,
    geosite,
    geoip,
  };
}

const lowerCase = (words: readonly string[]): string[] => words.map((word) => word.toLowerCase());

function lowerCidr({ value, span }: Located<string>): CidrSpec {
  const cidr = parseCidr(value);
  if ('problem' in cidr) throw new Finding(`invalid cidr ${value}: ${cidr.problem}`, span);
  return cidr;
}

function lowerPort({ value, span }: Located<string>): PortRangeSpec {
  const range = parsePortRange(value);
  if ('problem' in range) throw new Finding(`invalid port spec: ${range.problem}`, span);
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

/** The file may have an entry without a code, but it is not a named list. */
function refuseNoCode(kind: GeoKind, code: string, span: Span): void {
  if (code !== '') return;
  const cause = new GeoCodeError(kind, code);
  throw new Finding(cause.message, span, { cause });
}

function lowerNetwork(written: Located<string> | undefined): RuleSpec['network'] {
  if (!written) return undefined;
  const { value, span } = written;
  if (value === 'tcp' || value === 'udp') return value;
  throw new Finding(`invalid rule network ${value} (expected tcp or udp)`, span);
}
