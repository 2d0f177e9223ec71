import { formatCidr } from '../../ip/cidr.ts';
import type { PortRangeSpec, RuleSpec } from '../../spec.ts';
import { geositeKey } from '../geo/geo-data.ts';
import type { MatcherKey } from './conditions.ts';

/** One of the alternatives of a matcher. */
export interface MatcherEntry {
  /** As written in a configuration, except for the case of letters. */
  readonly text: string;
  /** A rule with this entry alone. */
  readonly rule: RuleSpec;
}

/** A rule without matchers. */
export const NO_MATCHERS: RuleSpec = {
  outbound: '',
  domainSuffix: [],
  domainKeyword: [],
  domainFull: [],
  domainRegex: [],
  cidr: [],
  sourceCidr: [],
  port: [],
  network: undefined,
  inboundTag: [],
  geosite: [],
  geoip: [],
};

/** The entries of one matcher of a rule, in the order of the configuration. */
export const matcherEntries = (rule: RuleSpec, key: MatcherKey): readonly MatcherEntry[] =>
  ENTRIES[key](rule);

const each = <T>(
  entries: readonly T[],
  text: (entry: T) => string,
  alone: (entry: T) => Partial<RuleSpec>,
): MatcherEntry[] =>
  entries.map((entry) => ({ text: text(entry), rule: { ...NO_MATCHERS, ...alone(entry) } }));

const asWritten = (text: string): string => text;

const portText = ({ low, high }: PortRangeSpec): string =>
  low === high ? String(low) : `${low}-${high}`;

const ENTRIES: Readonly<Record<MatcherKey, (rule: RuleSpec) => readonly MatcherEntry[]>> = {
  domain_full: (rule) => each(rule.domainFull, asWritten, (name) => ({ domainFull: [name] })),
  domain_suffix: (rule) => each(rule.domainSuffix, asWritten, (name) => ({ domainSuffix: [name] })),
  domain_keyword: (rule) =>
    each(rule.domainKeyword, asWritten, (word) => ({ domainKeyword: [word] })),
  domain_regex: (rule) => each(rule.domainRegex, asWritten, (regex) => ({ domainRegex: [regex] })),
  geosite: (rule) => each(rule.geosite, geositeKey, (ref) => ({ geosite: [ref] })),
  cidr: (rule) => each(rule.cidr, formatCidr, (cidr) => ({ cidr: [cidr] })),
  geoip: (rule) =>
    each(
      rule.geoip,
      ({ code, negate }) => `${negate ? '!' : ''}${code}`,
      (ref) => ({ geoip: [ref] }),
    ),
  source_cidr: (rule) => each(rule.sourceCidr, formatCidr, (cidr) => ({ sourceCidr: [cidr] })),
  port: (rule) => each(rule.port, portText, (range) => ({ port: [range] })),
  inbound_tag: (rule) => each(rule.inboundTag, asWritten, (tag) => ({ inboundTag: [tag] })),
  network: ({ network }) =>
    network === undefined ? [] : each([network], asWritten, (name) => ({ network: name })),
};
