import { type RouteExplanation, type PassedRule, matcherTexts } from '@weir/proxy/explain';
import type { MatcherKey, RouteQuery } from '@weir/proxy/router';
import { ipVersion } from '@weir/io/addresses';
import type { Spec } from '@weir/proxy/spec';
import type { RulePlaces } from './load-routes.ts';

/** Maximum number of a matcher's entries that a reason lists. */
const SHOWN_ENTRIES = 3;

/** A balancer as the target: its member is chosen only at run time. */
export interface BalancerAnswer {
  readonly balancer: string;
  readonly strategy: 'failover' | 'round_robin';
  readonly members: readonly string[];
}

export interface PassedAnswer {
  readonly rule: number;
  readonly line: number | null;
  readonly group: string | null;
  readonly outbound: string;
  readonly reason: string;
}

/** The JSON of `weir explain`. */
export interface RouteAnswer {
  readonly outbound: string | BalancerAnswer;
  /** Index of the rule, as in the API; null for the default route. */
  readonly rule: number | null;
  /**
   * The line of the rule: in the subscribe file for a group's rule, otherwise in the configuration.
   */
  readonly line: number | null;
  /** The entry that matched, for each matcher of the rule; null for the default route. */
  readonly matcher: readonly { readonly key: string; readonly value: string }[] | null;
  readonly group: string | null;
  readonly passed_over: readonly PassedAnswer[];
}

/** Converts an explanation to the terms of the configuration. */
export function answerOf(
  spec: Spec,
  query: RouteQuery,
  { outbound, rule, matched, passed }: RouteExplanation,
  places: RulePlaces,
): RouteAnswer {
  return {
    outbound: exitOf(spec, outbound),
    rule: rule ?? null,
    line: rule === undefined ? null : (places.of(rule)?.line ?? null),
    matcher: rule === undefined ? null : matched.map(({ key, entry }) => ({ key, value: entry })),
    group: places.groupOf(rule) ?? null,
    passed_over: passed.map((each) => ({
      rule: each.rule,
      line: places.of(each.rule)?.line ?? null,
      group: places.groupOf(each.rule) ?? null,
      outbound: spec.route.rules[each.rule]?.outbound ?? '',
      reason: reasonOf(spec, query, each),
    })),
  };
}

/** The target of a route; a balancer with a single distinct member counts as that outbound. */
function exitOf({ balancers }: Spec, tag: string): string | BalancerAnswer {
  const balancer = balancers.find((each) => each.tag === tag);
  if (!balancer) return tag;
  const { strategy, outbounds: members } = balancer;
  const [first = tag, ...others] = members;
  if (others.every((other) => other === first)) return first;
  return { balancer: tag, strategy, members };
}

/** The reason of the first matcher that does not match. */
function reasonOf(spec: Spec, query: RouteQuery, { rule, failing, reason }: PassedRule): string {
  const [key] = failing;
  const written = spec.route.rules[rule];
  if (!key || !written) return '';
  const texts = matcherTexts(written, key);
  const listed = texts.slice(0, SHOWN_ENTRIES).join(', ');
  const list =
    texts.length > SHOWN_ENTRIES ? `${listed} and ${texts.length - SHOWN_ENTRIES} more` : listed;
  switch (reason) {
    case 'impossible':
      return `${key}: no name can match ${list === '' ? 'an empty entry' : list}`;
    case 'no value':
      return `${key}: ${LACKS[key] ?? 'the flow has none'} (${list})`;
    case 'different':
      return `${key}: ${valueOf(key, query)} is not ${texts.length === 1 ? '' : 'among '}${list}`;
    default:
      return reason satisfies never;
  }
}

const NO_NAME = 'the destination is an address, and no domain is known';
const NO_ADDRESS = 'the destination is a domain, which is not resolved to be matched';

const LACKS: Readonly<Partial<Record<MatcherKey, string>>> = {
  domain_full: NO_NAME,
  domain_suffix: NO_NAME,
  domain_keyword: NO_NAME,
  domain_regex: NO_NAME,
  geosite: NO_NAME,
  cidr: NO_ADDRESS,
  geoip: NO_ADDRESS,
  source_cidr: 'the client has no address',
};

/** The property of a flow that a matcher compares. */
function valueOf(key: MatcherKey, query: RouteQuery): string {
  switch (key) {
    case 'domain_full':
    case 'domain_suffix':
    case 'domain_keyword':
    case 'domain_regex':
    case 'geosite':
      return ipVersion(query.host) === 0 ? query.host : (query.sniffed ?? '');
    case 'cidr':
    case 'geoip':
      return query.host;
    case 'source_cidr':
      return query.source ?? '';
    case 'port':
      return String(query.port);
    case 'inbound_tag':
      return query.inbound;
    case 'network':
      return query.network;
    default:
      return key satisfies never;
  }
}
