import { formatCidr } from '@weir/base/ip';
import type { PortRangeSpec, RuleSpec } from '../../spec.ts';
import { geositeKey } from '../geo/geo-data.ts';
import type { MatcherKey } from './conditions.ts';

/** One of the alternatives of a matcher. */
export interface MatcherEntry {
  /** The text as written in a configuration, except for the case of letters. */
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
  ENTRIES[key].entries(rule);

/** Returns the texts of these entries alone, which costs less. */
export const matcherTexts = (rule: RuleSpec, key: MatcherKey): readonly string[] =>
  ENTRIES[key].texts(rule);

interface MatcherReader {
  readonly texts: (rule: RuleSpec) => readonly string[];
  readonly entries: (rule: RuleSpec) => readonly MatcherEntry[];
}

const each = <T>(
  list: (rule: RuleSpec) => readonly T[],
  text: (entry: T) => string,
  alone: (entry: T) => Partial<RuleSpec>,
): MatcherReader => ({
  texts: (rule) => list(rule).map(text),
  entries: (rule) =>
    list(rule).map((entry) => ({ text: text(entry), rule: { ...NO_MATCHERS, ...alone(entry) } })),
});

const asWritten = (text: string): string => text;

const portText = ({ low, high }: PortRangeSpec): string =>
  low === high ? String(low) : `${low}-${high}`;

const ENTRIES: Readonly<Record<MatcherKey, MatcherReader>> = {
  domain_full: each(
    (rule) => rule.domainFull,
    asWritten,
    (name) => ({ domainFull: [name] }),
  ),
  domain_suffix: each(
    (rule) => rule.domainSuffix,
    asWritten,
    (name) => ({ domainSuffix: [name] }),
  ),
  domain_keyword: each(
    (rule) => rule.domainKeyword,
    asWritten,
    (word) => ({ domainKeyword: [word] }),
  ),
  domain_regex: each(
    (rule) => rule.domainRegex,
    asWritten,
    (regex) => ({ domainRegex: [regex] }),
  ),
  geosite: each(
    (rule) => rule.geosite,
    geositeKey,
    (ref) => ({ geosite: [ref] }),
  ),
  cidr: each(
    (rule) => rule.cidr,
    formatCidr,
    (cidr) => ({ cidr: [cidr] }),
  ),
  geoip: each(
    (rule) => rule.geoip,
    ({ code, negate }) => `${negate ? '!' : ''}${code}`,
    (ref) => ({ geoip: [ref] }),
  ),
  source_cidr: each(
    (rule) => rule.sourceCidr,
    formatCidr,
    (cidr) => ({ sourceCidr: [cidr] }),
  ),
  port: each(
    (rule) => rule.port,
    portText,
    (range) => ({ port: [range] }),
  ),
  inbound_tag: each(
    (rule) => rule.inboundTag,
    asWritten,
    (tag) => ({ inboundTag: [tag] }),
  ),
  network: each(
    ({ network }) => (network === undefined ? [] : [network]),
    asWritten,
    (name) => ({ network: name }),
  ),
};
