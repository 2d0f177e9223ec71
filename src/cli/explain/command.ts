import { loadConfigFile } from '../../app/loading/inline-runner.ts';
import type { LoadedConfig } from '../../config/load-config.ts';
import { RouteExplainer, type RouteExplanation } from '../../engine/router/explain.ts';
import type { MatcherKey } from '../../engine/router/conditions.ts';
import type { RouteQuery } from '../../engine/router/query.ts';
import { RegexCache } from '../../engine/router/tables/regex-set.ts';
import { ipVersion } from '../../net/addresses/address.ts';
import { printableJson } from '../../printable.ts';
import type { InboundSpec, Spec } from '../../spec.ts';
import { UsageError, type CommandIo } from '../command.ts';
import { EXPLAIN_HELP, parseExplain, type ExplainArguments } from './arguments.ts';
import { explainText } from './text.ts';
import { loadOrReport } from '../load.ts';
import { answerOf } from './route-answer.ts';
import { RulePlaces } from './rule-places.ts';
import { suggestion } from '../../schema/suggestion.ts';

/** The default client address: a program on this host. */
const LOCAL_CLIENT = '127.0.0.1';

const DOMAIN_MATCHERS: ReadonlySet<MatcherKey> = new Set<MatcherKey>([
  'domain_full',
  'domain_suffix',
  'domain_keyword',
  'domain_regex',
  'geosite',
]);

/**
 * `weir explain`: prints where a configuration routes a flow, and why. Resolves with the exit
 * status: 1 for an invalid configuration.
 * @throws {UsageError}
 */
export async function explainCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const asked = parseExplain(argv);
  if (asked.kind === 'help') {
    io.stdout.write(EXPLAIN_HELP);
    return 0;
  }
  const regexes = new RegexCache();
  let places: RulePlaces | undefined;
  const onMerged = (...found: ConstructorParameters<typeof RulePlaces>): void => {
    places = new RulePlaces(...found);
  };
  const status = await loadOrReport(
    asked.config,
    {},
    (path, input) => loadConfigFile(path, { ...input, regexes, onMerged }),
    async (loaded) => {
      if (!places) throw new RangeError('a configuration that was loaded has its places');
      await answer(asked, loaded, regexes, places, io);
      return 0;
    },
  );
  return status ?? 1;
}

async function answer(
  asked: ExplainArguments,
  { spec, geo }: LoadedConfig,
  regexes: RegexCache,
  places: RulePlaces,
  io: CommandIo,
): Promise<void> {
  const inbound = chooseInbound(spec, asked.inbound);
  const query = queryOf(asked, inbound);
  const explainer = new RouteExplainer(spec.route, regexes, geo);
  const explanation = explainer.explain(query);
  const result = answerOf(spec, query, explanation, places);
  const notes = [
    ...assumptions(asked, spec, query, explanation),
    ...sniffingNotes(asked, inbound, query, explainer, explanation),
    ...(typeof result.outbound === 'string'
      ? []
      : ['which member of the balancer takes a flow depends on their health']),
    ...(inbound?.protocol === 'tun' && query.port === 53
      ? ["queries to the device's own subnets are answered by [dns]; no rule decides about them"]
      : []),
  ];
  if (asked.json) {
    await write(io.stdout, `${printableJson(result)}\n`);
    io.stderr.write(notes.map((note) => `weir explain: ${note}\n`).join(''));
  } else {
    await write(io.stdout, explainText(spec, query, result, places, notes));
  }
}

/**
 * Waits until a pipe has accepted all of it, because the process ends next. A closed pipe is not an
 * error.
 */
async function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once('error', () => resolve());
  stream.write(text, () => resolve());
  await promise;
}

/** @throws {UsageError} for an unknown inbound. */
function chooseInbound({ inbounds }: Spec, tag: string | undefined): InboundSpec | undefined {
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
function queryOf(
  { destination, network, from, sniffed }: ExplainArguments,
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

/** The assumptions that could change the result. */
function assumptions(
  asked: ExplainArguments,
  { inbounds }: Spec,
  { inbound, source }: RouteQuery,
  { matched, passed }: RouteExplanation,
): string[] {
  const assumed = new Set<MatcherKey>();
  if (asked.inbound === undefined && inbounds.length > 1) assumed.add('inbound_tag');
  if (asked.from === undefined) assumed.add('source_cidr');
  const decisive = new Set([
    ...matched.map(({ key }) => key),
    // Rules that fail to match only because of the assumption.
    ...passed.flatMap(({ failing }) => (failing.every((key) => assumed.has(key)) ? failing : [])),
  ]);
  const notes: string[] = [];
  if (assumed.has('inbound_tag') && decisive.has('inbound_tag')) {
    notes.push(`this depends on the inbound, which was assumed to be ${inbound}; see --inbound`);
  }
  if (assumed.has('source_cidr') && decisive.has('source_cidr')) {
    const client = source ?? 'one of a unix socket, without an address';
    notes.push(`this depends on the client, which was assumed to be ${client}; see --from`);
  }
  return notes;
}

function sniffingNotes(
  asked: ExplainArguments,
  inbound: InboundSpec | undefined,
  query: RouteQuery,
  explainer: RouteExplainer,
  { passed }: RouteExplanation,
): string[] {
  if (!sniffs(inbound, query)) {
    if (asked.sniffed === undefined) return [];
    return [
      '--sniffed has no effect: only TCP flows to an IP address, of an inbound with sniffing, are read',
    ];
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
    `a domain in the first bytes of the flow could change this (rules ${rules}); see --sniffed`,
  ];
}
