import { ImportError } from '../../protocols/forms/draft.ts';
import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import { XRAY_RULE_KEYS } from '../keys/xray.ts';
import type { Matchers, RuleEntry, Target } from '../routing.ts';
import { NOT_ANSWERED, type TargetNames } from '../targets.ts';
import { both } from '../values/alternatives.ts';
import { addressesOf, domainsOf, sourcesOf, wordsOf } from './conditions.ts';
import { notesOnRule } from '../verdicts.ts';
import { portsOf } from '../values/networks.ts';

/** The context of a document's rules. */
export interface XrayRuleScope {
  readonly names: TargetNames;
  /** The targets of `balancerTag`. */
  readonly balancers: ReadonlyMap<string, Target>;
  /** Names of outbounds that answer queries. */
  readonly dnsOutbounds: ReadonlySet<string>;
  /** Names of the API and the metrics, which are separate outbounds. */
  readonly services: ReadonlySet<string>;
}

/** Reads one of `routing.rules`. */
export function readRule(value: unknown, source: string, scope: XrayRuleScope): RuleEntry {
  let target: Target | undefined;
  try {
    const fields = new ForeignObject(value);
    const outbound = fields.text('outboundTag') ?? '';
    const balancer = fields.text('balancerTag') ?? '';
    if (scope.services.has(outbound)) {
      return { source, needless: 'it leads into the API of Xray, which Weir does not have' };
    }
    if (scope.dnsOutbounds.has(outbound)) {
      return { source, skipped: NOT_ANSWERED, target: { kind: 'direct' } };
    }
    if (outbound === '' && balancer === '') throw new ImportError('it names no outbound');
    target =
      outbound === ''
        ? (scope.balancers.get(balancer) ?? { kind: 'missing', name: balancer })
        : scope.names.of(outbound);
    const any = conditionOf(fields);
    const notes = notesOnRule(fields, XRAY_RULE_KEYS);
    if (any === 'missing') throw new ImportError('it has no conditions');
    if (any === undefined) return { source, needless: 'it can never match a flow of Weir' };
    return { source, any, target, notes };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { source, skipped: error.message, target };
  }
}

/**
 * Reads the condition of a rule. Xray joins the entries of a field by "or", and fields by "and"; entries of different
 * kinds in a field are therefore alternatives.
 * @returns `undefined` for a rule that no flow can match; `missing` for one without conditions, which Xray rejects
 * @throws {ImportError} for a condition that Weir lacks
 */
function conditionOf(fields: ForeignObject): readonly Matchers[] | 'missing' | undefined {
  const network = networkIn(fields);
  const rest: Matchers = {
    ...sourcesOf(fields),
    ...portIn(fields),
    ...(typeof network === 'object' ? network : {}),
    ...inboundIn(fields),
  };
  const domains = domainsOf(fields);
  const addresses = addressesOf(fields);
  if (network === 'none') return undefined;
  const isEmpty = domains.length + addresses.length + Object.keys(rest).length === 0;
  if (isEmpty && network !== 'both') return 'missing';
  return both(both(orEvery(domains), orEvery(addresses)), [rest]);
}

const orEvery = (alternatives: readonly Matchers[]): readonly Matchers[] =>
  alternatives.length === 0 ? [{}] : alternatives;

/** The network of a rule; `both` for TCP and UDP, which are all flows of Weir. */
function networkIn(fields: ForeignObject): Matchers | 'both' | 'none' {
  const networks = wordsOf(fields, 'network').map((each) => each.toLowerCase());
  if (networks.length === 0) return {};
  const known = (['tcp', 'udp'] as const).filter((each) => networks.includes(each));
  const [only, second] = known;
  if (only === undefined) return 'none';
  return second === undefined ? { network: only } : 'both';
}

function portIn(fields: ForeignObject): Matchers {
  const ports = fields
    .list('port')
    .flatMap((each) => String(each).split(','))
    .filter((each) => each.trim() !== '');
  if (fields.has('port') && ports.length === 0) throw new ImportError('"port" is empty');
  return ports.length === 0 ? {} : { port: ports.map((each) => portsOf(each, '-')) };
}

function inboundIn(fields: ForeignObject): Matchers {
  const names = wordsOf(fields, 'inboundTag');
  return names.length === 0 ? {} : { inbound_tag: names };
}
