import type { MatcherKey, RouteQuery } from '@weir/proxy/router';
import {
  RouteExplainer,
  type RouteExplanation,
  type PassedRule,
  matcherTexts,
} from '@weir/proxy/explain';
import { UsageError } from '@weir/base';
import { ipVersion, formatEndpoint } from '@weir/io/addresses';
import { suggestion } from '@weir/proxy/schema';
import type { InboundSpec, Spec } from '@weir/proxy/spec';
import type { ExplainedFlow, FlowOptions } from './flow.ts';
import type { LoadedRoutes, RulePlaces } from './load-routes.ts';
import { basename } from 'node:path';
import type { ConfigLocation } from '@weir/config';
import { printable } from '@weir/base/printable';
import { textTable } from '@weir/base/tables';

/** A remark on a result, and the property of the flow that would change it. */
interface ExplainNote {
  readonly text: string;
  readonly option?: keyof FlowOptions;
}

const DOMAIN_MATCHERS: ReadonlySet<MatcherKey> = new Set<MatcherKey>([
  'domain_full',
  'domain_suffix',
  'domain_keyword',
  'domain_regex',
  'geosite',
]);

interface Explained {
  readonly asked: ExplainedFlow;
  readonly spec: Spec;
  readonly inbound: InboundSpec | undefined;
  readonly query: RouteQuery;
  readonly explainer: RouteExplainer;
  readonly explanation: RouteExplanation;
  readonly answer: RouteAnswer;
}

/** Remarks on the facts that a result depends on besides the given properties. */
const notesOf = (explained: Explained): readonly ExplainNote[] => [
  ...assumptions(explained),
  ...sniffingNotes(explained),
  ...(typeof explained.answer.outbound === 'string'
    ? []
    : [{ text: 'which member of the balancer takes a flow depends on their health' }]),
  ...(explained.inbound?.protocol === 'tun' && explained.query.port === 53
    ? [
        {
          text: "queries to the device's own subnets are answered by [dns]; no rule decides about them",
        },
      ]
    : []),
];

/** The assumptions that could change the result. */
function assumptions({
  asked,
  spec: { inbounds },
  query: { inbound, source },
  explanation: { matched, passed },
}: Explained): ExplainNote[] {
  const assumed = new Set<MatcherKey>();
  if (asked.inbound === undefined && inbounds.length > 1) assumed.add('inbound_tag');
  if (asked.from === undefined) assumed.add('source_cidr');
  const decisive = new Set([
    ...matched.map(({ key }) => key),
    // Rules that fail to match only because of an assumption.
    ...passed.flatMap(({ failing }) => (failing.every((key) => assumed.has(key)) ? failing : [])),
  ]);
  const notes: ExplainNote[] = [];
  if (assumed.has('inbound_tag') && decisive.has('inbound_tag')) {
    const text = `this depends on the inbound, which was assumed to be ${inbound}`;
    notes.push({ text, option: 'inbound' });
  }
  if (assumed.has('source_cidr') && decisive.has('source_cidr')) {
    const client = source ?? 'one of a unix socket, without an address';
    const text = `this depends on the client, which was assumed to be ${client}`;
    notes.push({ text, option: 'from' });
  }
  return notes;
}

const NOT_SNIFFED =
  'a sniffed name has no effect: only TCP flows to an IP address, of an inbound with sniffing, are read';

function sniffingNotes({
  asked,
  inbound,
  query,
  explainer,
  explanation: { passed },
}: Explained): ExplainNote[] {
  if (!sniffs(inbound, query)) {
    return asked.sniffed === undefined ? [] : [{ text: NOT_SNIFFED, option: 'sniffed' }];
  }
  if (asked.sniffed !== undefined || !explainer.needsDomain(query)) return [];
  const possible = passed
    .filter(
      ({ failing, reason }) =>
        reason === 'no value' && failing.every((key) => DOMAIN_MATCHERS.has(key)),
    )
    .map(({ rule }) => rule);
  const rules = possible.slice(0, 5).join(', ') + (possible.length > 5 ? ' and others' : '');
  return [
    {
      text: `a domain in the first bytes of the flow could change this (rules ${rules})`,
      option: 'sniffed',
    },
  ];
}

interface FlowAnswer {
  readonly query: RouteQuery;
  readonly answer: RouteAnswer;
  readonly notes: readonly ExplainNote[];
}

/**
 * Creates an explainer. Explaining takes time linear in the number of rules, and creating one takes longer: keep it for
 * further flows.
 */
export const explainerOf = ({ spec, regexes, geo }: LoadedRoutes): RouteExplainer =>
  new RouteExplainer(spec.route, regexes, geo);

/**
 * Explains how a flow would be routed.
 *
 * @throws {UsageError} for an unknown inbound
 */
export function explainFlow(
  asked: ExplainedFlow,
  { spec, places }: LoadedRoutes,
  explainer: RouteExplainer,
): FlowAnswer {
  const inbound = chooseInbound(spec, asked.inbound);
  const query = queryOf(asked, inbound);
  const explanation = explainer.explain(query);
  const answer = answerOf(spec, query, explanation, places);
  const notes = notesOf({ asked, spec, inbound, query, explainer, explanation, answer });
  return { query, answer, notes };
}

/** The default client address: a program on this host. */
const LOCAL_CLIENT = '127.0.0.1';

/** The inbound with a tag; without a tag, the first one. @throws {UsageError} for an unknown inbound */
export function chooseInbound(
  { inbounds }: Spec,
  tag: string | undefined,
): InboundSpec | undefined {
  if (tag === undefined) return inbounds[0];
  const found = inbounds.find((inbound) => inbound.tag === tag);
  if (found) return found;
  const meant = suggestion(
    tag,
    inbounds.map((inbound) => inbound.tag),
  );
  const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  throw new UsageError(`no inbound has the tag ${JSON.stringify(tag)}${hint}`);
}

/** The flow as a running Weir would present it to the router. */
export function queryOf(
  { destination, network, from, sniffed }: ExplainedFlow,
  inbound: InboundSpec | undefined,
): RouteQuery {
  const source = from ?? (inbound?.listen.kind === 'unix' ? undefined : LOCAL_CLIENT);
  const query = {
    inbound: inbound?.tag ?? '',
    source,
    network,
    ...destination,
    sniffed: undefined,
  };
  return sniffs(inbound, query) ? { ...query, sniffed } : query;
}

/** Whether the flow is sniffed: only TCP to an IP address. */
const sniffs = (inbound: InboundSpec | undefined, { network, host }: RouteQuery): boolean =>
  inbound?.sniffing === true && network === 'tcp' && ipVersion(host) !== 0;

/** Maximum number of a matcher's entries that a reason lists. */
const SHOWN_ENTRIES = 3;

/** A balancer as the target: its member is chosen only at run time. */
interface BalancerAnswer {
  readonly balancer: string;
  readonly strategy: 'failover' | 'round_robin';
  readonly members: readonly string[];
}

interface PassedAnswer {
  readonly rule: number;
  readonly line: number | null;
  readonly group: string | null;
  readonly outbound: string;
  readonly reason: string;
}

/** The JSON of `weir explain`. */
interface RouteAnswer {
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

/** Maximum number of skipped rules that the text explains; JSON has all. */
const SHOWN_RULES = 10;

/** The result as text. */
export function explainText(
  { spec, places }: Pick<LoadedRoutes, 'spec' | 'places'>,
  {
    query,
    answer,
    notes,
  }: Pick<FlowAnswer, 'query' | 'answer'> & { readonly notes: readonly string[] },
): string {
  const { rule, matcher, group, passed_over: passed } = answer;
  const place = placeText(places.of(rule ?? undefined));
  const lines = [
    flowText(query),
    '',
    `outbound  ${outboundText(spec, answer.outbound)}`,
    `rule      ${rule ?? 'none: the default route'}, ${place}`,
    `matcher   ${matcherText(matcher)}`,
    ...(group === null ? [] : [`group     ${group}`]),
  ];
  const text = `${lines.map(printable).join('\n')}\n`;
  const noteLines = notes.map((note) => `note: ${printable(note)}\n`).join('');
  return `${text}${noteLines === '' ? '' : `\n${noteLines}`}${passedText(passed, places)}`;
}

/** A flow in one line. */
export function flowText({ host, port, network, source, inbound, sniffed }: RouteQuery): string {
  const name = sniffed === undefined ? '' : ` (${sniffed})`;
  const client = source ?? 'a local client';
  return `${network} ${formatEndpoint({ host, port })}${name} from ${client} through inbound ${inbound === '' ? '-' : inbound}`;
}

function passedText(passed: RouteAnswer['passed_over'], places: RulePlaces): string {
  if (passed.length === 0) return '';
  const rows = passed.slice(0, SHOWN_RULES).map(({ rule, line, group, outbound, reason }) => {
    const file = places.of(rule)?.file;
    // Line numbers of a group are those of the subscribe file.
    const at = group === null || file === undefined ? line : `${basename(file)}:${line}`;
    return [rule, at, outbound, reason];
  });
  const more = passed.length - rows.length;
  const rest = more > 0 ? `and ${more} more, which --json shows\n` : '';
  return `\npassed over:\n${textTable(['RULE', 'LINE', 'OUTBOUND', 'WHY NOT'], rows)}${rest}`;
}

function outboundText(spec: Spec, outbound: RouteAnswer['outbound']): string {
  const named = (tag: string): string => {
    const protocol = spec.outbounds.find((each) => each.tag === tag)?.protocol;
    return protocol === undefined || protocol === tag ? tag : `${tag} (${protocol})`;
  };
  if (typeof outbound === 'string') return named(outbound);
  const { balancer, strategy, members } = outbound;
  return `${balancer} (balancer, ${strategy}: ${members.map(named).join(', ')})`;
}

function matcherText(matcher: RouteAnswer['matcher']): string {
  if (matcher === null) return '-';
  if (matcher.length === 0) return 'none: the rule matches everything';
  return matcher.map(({ key, value }) => `${key} ${JSON.stringify(value)}`).join(' and ');
}

export const placeText = (place: ConfigLocation | undefined): string =>
  place?.file === undefined
    ? `line ${place?.line ?? '-'} of the built-in configuration`
    : `${place.file}:${place.line}`;
