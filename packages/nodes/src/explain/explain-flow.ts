import type { MatcherKey, RouteQuery } from '@weir/proxy/router';
import { RouteExplainer, type RouteExplanation } from '@weir/proxy/explain';
import { UsageError } from '@weir/base';
import { ipVersion } from '@weir/io/addresses';
import { suggestion } from '@weir/proxy/schema';
import type { InboundSpec, Spec } from '@weir/proxy/spec';
import type { ExplainedFlow, FlowOptions } from './flow.ts';
import type { LoadedRoutes } from './load-routes.ts';
import { answerOf, type RouteAnswer } from './route-answer.ts';

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

export interface FlowAnswer {
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
