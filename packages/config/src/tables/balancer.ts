import { findProtocol, udpCarrier } from '@weir/proxy/protocols';
import {
  array,
  type Decoded,
  disclosed,
  fallback,
  type Located,
  located,
  narrowed,
  optional,
  type Span,
  str,
  struct,
  u64,
} from '@weir/proxy/schema';
import type { BalancerSpec } from '@weir/proxy/spec';
import { Finding, type Findings, namesakeAt } from '../findings.ts';
import { memberHint, strategyHint } from '../word-hints.ts';
import type { OutboundTable } from './outbound.ts';

/** The table `[[balancer]]` as written. */
export const balancerTable = struct(
  {
    tag: located(disclosed(str)),
    outbounds: located(array(located(disclosed(str)))),
    strategy: optional(
      narrowed(located(str), { enum: ['failover', 'round_robin'], default: 'failover' }),
    ),
    probeInterval: fallback(u64, 30n),
    probeTimeout: fallback(u64, 5n),
  },
  {
    tag: 'Names the balancer, as an outbound',
    outbounds: 'Tags of its members; for failover in order of preference',
    strategy: 'failover: the first that is reachable; round_robin: in turn',
    probeInterval: 'Seconds from the end of a probe to the next',
    probeTimeout: 'Seconds that a probe may take',
  },
);
export type BalancerTable = Decoded<typeof balancerTable>;

type Strategy = BalancerSpec['strategy'];
const STRATEGIES: readonly Strategy[] = ['failover', 'round_robin'];
const DEFAULT_STRATEGY: Strategy = 'failover';

/**
 * Lowers the balancers in file order; invalid ones are omitted.
 * @param outbounds the outbounds of the file; built-ins have no server and cannot be members.
 */
export function lowerBalancers(
  tables: readonly BalancerTable[],
  outbounds: readonly OutboundTable[],
  findings: Findings,
): BalancerSpec[] {
  const members = new Map(outbounds.map(({ value }) => [value.tag.value, value]));
  const taken = new Map(outbounds.map(({ value: { tag } }) => [tag.value, tag.span]));
  const balancers = new Set(tables.map(({ tag }) => tag.value));
  const lowered: BalancerSpec[] = [];
  for (const table of tables) {
    const spec = lowerBalancer(table, { members, balancers }, taken, findings);
    if (spec) lowered.push(spec);
    taken.set(table.tag.value, table.tag.span);
  }
  return lowered;
}

type Member = OutboundTable['value'];

/** The tags that a member may have, and those of balancers, for a hint. */
interface KnownTags {
  readonly members: ReadonlyMap<string, Member>;
  readonly balancers: ReadonlySet<string>;
}

function lowerBalancer(
  balancer: BalancerTable,
  known: KnownTags,
  taken: ReadonlyMap<string, Span>,
  findings: Findings,
): BalancerSpec | undefined {
  const tag = balancer.tag.value;
  const subject = `balancer ${tag}`;
  const part = findings.about(subject);
  if (taken.has(tag)) {
    const message = `balancer tag ${tag} collides with an outbound tag`;
    const span = taken.get(tag) ?? balancer.tag.span;
    part.add(new Finding(message, balancer.tag.span, { other: namesakeAt('other', tag, span) }));
  }
  const { value: named, span } = balancer.outbounds;
  if (named.length === 0) part.add(new Finding('a balancer needs at least one outbound', span));
  for (const member of named) part.attempt(() => checkMember(subject, member, known));
  const strategy = part.attempt(() => lowerStrategy(balancer.strategy));
  if (part.failed || !strategy) return undefined;
  return {
    tag,
    outbounds: named.map(({ value }) => value),
    strategy,
    probeInterval: Number(balancer.probeInterval),
    probeTimeout: Number(balancer.probeTimeout),
  };
}

function checkMember(
  subject: string,
  { value: tag, span }: Located<string>,
  { members, balancers }: KnownTags,
): void {
  const member = members.get(tag);
  if (!member) {
    const hint = (): string | undefined =>
      balancers.has(tag)
        ? `${JSON.stringify(tag)} is a balancer, and the members of a balancer are outbounds: name those of ${JSON.stringify(tag)} instead`
        : memberHint(tag, members.keys());
    throw new Finding(`${subject} references unknown outbound tag: ${tag}`, span, { hint });
  }
  if (canBeProbed(member)) return;
  const reason = 'has no upstream a TCP health probe can reach, so it cannot be balanced';
  const hint = isUdpOnly(member.protocol.value)
    ? 'hysteria2 has no TCP port to probe: leave it out of the balancer, and name it in rules or as a pick'
    : 'members are servers that a TCP connection can reach: leave this one out';
  throw new Finding(`${subject}: outbound ${tag} ${reason}`, span, { hint });
}

/** Whether a protocol, by any of its names, has a server that only UDP reaches, so that no TCP connection probes it. */
export const isUdpOnly = (protocol: string): boolean => udpCarrier(protocol) === 'quic';

/** Whether a TCP connection to `server` and `port` can probe an outbound. */
export function canBeProbed({
  protocol,
  server,
  port,
}: Pick<Member, 'protocol' | 'server' | 'port'>): boolean {
  if (isUdpOnly(protocol.value)) return false;
  // If the protocol requires an upstream, a missing key is reported elsewhere.
  if (findProtocol(protocol.value)?.outbound?.upstream) return true;
  return server !== undefined && port !== undefined;
}

function lowerStrategy(written: Located<string> | undefined): Strategy {
  if (!written) return DEFAULT_STRATEGY;
  const strategy = STRATEGIES.find((each) => each === written.value);
  if (strategy) return strategy;
  const message = `unknown balancer strategy ${written.value} (expected failover or round_robin)`;
  throw new Finding(message, written.span, { hint: strategyHint(written.value, STRATEGIES) });
}
