import type { FlowView } from '@weir/server/api/views';
import { ipVersion } from '@weir/io/addresses';
import { printable } from '@weir/base/printable';
import { formsOf } from '@weir/proxy/protocols';
import type { ClashConnection, ClashMetadata, ClashSnapshot } from '../contract.ts';
import { chainOf, isRuleKnown } from './chains.ts';
import type { ClashFacts } from './facts.ts';
import { type ClashMatch, matchOfFlow } from './rules.ts';

/** Bytes since the start, and the memory of the process. */
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
): ClashSnapshot {
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
): ClashConnection {
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
function metadataOf({ inbounds }: ClashFacts, flow: FlowView): ClashMetadata {
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
