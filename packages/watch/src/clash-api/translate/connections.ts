import type { MatcherKey } from '@weir/proxy/router';
import { matcherEntries } from '@weir/proxy/explain';
import { printable } from '@weir/base/printable';
import type { RuleSpec } from '@weir/proxy/spec';
import { groupOfRule, type ClashFacts } from './facts.ts';
import type { FlowView } from '@weir/server/api/views';
import { ipVersion } from '@weir/io/addresses';
import { chainOf, isRuleKnown } from './proxies.ts';
import { formsOf } from '@weir/proxy/protocols';

/** Maximum number of a matcher's entries in a payload; a rule may have thousands. */
const LISTED_ENTRIES = 8;

/** mihomo's types of matchers. */
const TYPES: Readonly<Record<MatcherKey, string>> = {
  domain_full: 'Domain',
  domain_suffix: 'DomainSuffix',
  domain_keyword: 'DomainKeyword',
  domain_regex: 'DomainRegex',
  geosite: 'GeoSite',
  geoip: 'GeoIP',
  cidr: 'IPCIDR',
  source_cidr: 'SrcIPCIDR',
  port: 'DstPort',
  network: 'Network',
  inbound_tag: 'InName',
};

const KEYS = Object.keys(TYPES) as readonly MatcherKey[];

/** The condition of a rule, in mihomo's terms. */
export interface ClashMatch {
  readonly type: string;
  readonly payload: string;
}

/** The default route in mihomo's form. */
const MATCH: ClashMatch = { type: 'Match', payload: '' };

/**
 * Converts a rule. A rule with one entry corresponds to one of mihomo's; several entries of a matcher become an `OR`,
 * and several matchers an `AND` of those.
 */
export function clashMatch(rule: RuleSpec): ClashMatch {
  const parts = KEYS.map((key) => matcherPart(rule, key)).filter((part) => part !== undefined);
  const [only, ...others] = parts;
  if (!only) return MATCH;
  if (others.length === 0) return only;
  return { type: 'AND', payload: `(${parts.map(inBrackets).join(' && ')})` };
}

function matcherPart(rule: RuleSpec, key: MatcherKey): ClashMatch | undefined {
  const entries = matcherEntries(rule, key);
  const [first] = entries;
  if (!first) return undefined;
  const type = TYPES[key];
  if (entries.length === 1) return { type, payload: printable(first.text) };
  const listed = entries
    .slice(0, LISTED_ENTRIES)
    .map(({ text }) => inBrackets({ type, payload: printable(text) }));
  const more = entries.length - listed.length;
  if (more > 0) listed.push(`(${more} more)`);
  return { type: 'OR', payload: `(${listed.join(' || ')})` };
}

const inBrackets = ({ type, payload }: ClashMatch): string => `(${type},${payload})`;

/** All rules in matching order, and the default route. Empty if the file is not known. */
export function clashRules(facts: ClashFacts) {
  const { spec, names } = facts;
  if (!spec) return [];
  const hits = hitsOf(facts);
  const rules = spec.route.rules.map((rule, index) => {
    const group = groupOfRule(facts, index);
    const proxy = group === undefined ? names.target(rule.outbound) : names.group(group);
    return { index, ...clashMatch(rule), proxy, size: -1, ...hits(index) };
  });
  return [
    ...rules,
    { index: rules.length, ...MATCH, proxy: names.default, size: -1, ...hits(null) },
  ];
}

interface ClashHits {
  readonly disabled: boolean;
  readonly hitCount: number;
  readonly hitAt: string;
  readonly missCount: number;
  readonly missAt: string;
}

/** Go's zero time, meaning never. */
const NEVER = '0001-01-01T00:00:00Z';

/**
 * How often each rule was taken since the rules are in force, including blocked and failed flows; misses are not
 * counted. Nothing without the control socket.
 */
function hitsOf({ status }: ClashFacts): (rule: number | null) => { readonly extra?: ClashHits } {
  const { taken } = status?.routes ?? {};
  if (!taken) return () => ({});
  const byRule = new Map(taken.rules.map((each) => [each.rule, each]));
  return (rule) => {
    const { opened = 0, blocked = 0, failed = 0, last_at: at } = byRule.get(rule) ?? {};
    const hitAt = at === undefined ? NEVER : new Date(at).toISOString();
    const hits = { disabled: false, hitCount: opened + blocked + failed, hitAt };
    return { extra: { ...hits, missCount: 0, missAt: NEVER } };
  };
}

/** The rule of a flow. @param rule `null` for the default route */
function matchOfFlow(facts: ClashFacts, rule: number | null, isKnown: boolean): ClashMatch {
  if (rule === null) return MATCH;
  const written = isKnown ? facts.spec?.route.rules[rule] : undefined;
  return written ? clashMatch(written) : { type: 'Unknown', payload: `rule ${rule}` };
}

/** Bytes since the start, and the memory of the process in bytes. */
export interface ClashTotals {
  readonly up: number;
  readonly down: number;
  readonly memory: number;
}

/** Open flows as a snapshot of mihomo's connections. */
export function clashSnapshot(
  facts: ClashFacts,
  flows: Iterable<FlowView>,
  { up, down, memory }: ClashTotals,
) {
  const matches = new Map<number, ClashMatch>();
  return {
    downloadTotal: down,
    uploadTotal: up,
    connections: Array.from(flows, (flow) => clashConnection(facts, flow, matches)),
    memory,
  };
}

/** A flow as a connection of mihomo. @param matches cache of matches by rule index, since many flows share a rule */
export function clashConnection(
  facts: ClashFacts,
  flow: FlowView,
  matches = new Map<number, ClashMatch>(),
) {
  const { type, payload } = matchOf(facts, flow, matches);
  return {
    id: String(flow.id),
    metadata: metadataOf(facts, flow),
    upload: flow.up,
    download: flow.down,
    start: new Date(flow.started_at).toISOString(),
    chains: chainOf(facts, flow),
    rule: type,
    rulePayload: payload,
  };
}

function matchOf(facts: ClashFacts, flow: FlowView, matches: Map<number, ClashMatch>): ClashMatch {
  const { rule } = flow;
  if (rule === null || !isRuleKnown(facts, flow)) return matchOfFlow(facts, rule, false);
  const known = matches.get(rule) ?? matchOfFlow(facts, rule, true);
  matches.set(rule, known);
  return known;
}

const NETWORKS: Readonly<Record<string, string>> = { tcp: 'tcp', udp: 'udp' };

/** Metadata of a flow. Properties that Weir does not know have mihomo's values for unknown ones: empty, or 0. */
function metadataOf({ inbounds }: ClashFacts, flow: FlowView) {
  const isAddress = ipVersion(flow.host) !== 0;
  return {
    network: NETWORKS[flow.network] ?? 'invalid',
    type: formsOf(inbounds.get(flow.inbound) ?? '')?.clashApi?.inbound ?? 'Unknown',
    sourceIP: flow.source ?? '',
    destinationIP: isAddress ? flow.host : '',
    sourceGeoIP: null,
    destinationGeoIP: null,
    sourceIPASN: '',
    destinationIPASN: '',
    sourcePort: '0',
    destinationPort: String(flow.port),
    inboundIP: '',
    inboundPort: '0',
    inboundName: printable(flow.inbound),
    inboundUser: printable(flow.user ?? ''),
    host: isAddress ? '' : printable(flow.host),
    dnsMode: 'normal',
    uid: 0,
    process: '',
    processPath: '',
    specialProxy: '',
    specialRules: '',
    remoteDestination: '',
    dscp: 0,
    sniffHost: printable(flow.sniffed ?? ''),
  };
}
