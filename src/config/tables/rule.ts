import { array, located, str, type Located } from '../../schema/decoder.ts';
import { fallback, optional, struct, type Output } from '../../schema/struct.ts';
import type { CidrSpec, PortRangeSpec, RuleSpec } from '../../spec.ts';
import { Finding, type Findings } from '../findings.ts';
import { notYet } from '../not-yet.ts';
import { parseCidr } from '../values/cidr.ts';
import { parsePortRange } from '../values/port-range.ts';

const texts = fallback(array(str), []);
const locatedTexts = fallback(array(located(str)), []);

/** `[[route.rule]]` as written. */
export const ruleTable = struct({
  outbound: located(str),
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
});
export type RuleTable = Output<typeof ruleTable>;

/** How errors name a rule: by the index that the API shows too. */
export const ruleSubject = (index: number): string => `route.rule[${index}]`;

/** Lowers a rule, `index` being its place in the file; `undefined` when something is wrong. */
export function lowerRule(
  rule: RuleTable,
  index: number,
  findings: Findings,
): RuleSpec | undefined {
  const part = findings.about(ruleSubject(index));
  for (const [key, [first]] of Object.entries({ geosite: rule.geosite, geoip: rule.geoip })) {
    if (first) part.add(notYet(`the matcher ${key}`, first.span));
  }
  const cidr = part.attempt(() => rule.cidr.map(lowerCidr));
  const sourceCidr = part.attempt(() => rule.sourceCidr.map(lowerCidr));
  const port = part.attempt(() => rule.port.map(lowerPort));
  const network = part.attempt(() => lowerNetwork(rule.network));
  if (part.failed || !cidr || !sourceCidr || !port) return undefined;
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
    geosite: [],
    geoip: [],
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

function lowerNetwork(written: Located<string> | undefined): RuleSpec['network'] {
  if (!written) return undefined;
  const { value, span } = written;
  if (value === 'tcp' || value === 'udp') return value;
  throw new Finding(`invalid rule network ${value} (expected tcp or udp)`, span);
}
