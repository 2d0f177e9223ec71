import { IMPORTED } from '@weir/nodes/import/write/markers';
import { formatEndpoint } from '@weir/io/addresses';
import type { ProbedSpec } from '@weir/nodes/probe';
import {
  type Hysteria2OutboundSettings,
  udpCarrier,
  type WireGuardSettings,
} from '@weir/proxy/protocols';
import type { OutboundSpec, Spec } from '@weir/proxy/spec';
import { lostSources } from '@weir/nodes/subscribe/balancers/lost-balancers';
import type { Marker } from '@weir/nodes/subscribe';
import type { BalancerFacts, NodeFacts } from './file-requests.ts';

/** Maximum number of nodes that are listed; further ones are only counted. */
export const MOST_NODE_FACTS = 20_000;

/** The origins of a configuration's outbounds, by tag. */
export interface Origins {
  /** Tags in the configuration file itself. */
  readonly own: ReadonlySet<string>;
  /** Nodes of the subscribe file by name, with the marker that their subscription has written. */
  readonly nodes: ReadonlyMap<string, Marker | undefined>;
}

export const nodeFacts = (
  { outbounds }: Pick<Spec, 'outbounds'>,
  origins: Origins,
): readonly NodeFacts[] =>
  outbounds.slice(0, MOST_NODE_FACTS).map((spec) => factsOf(spec, origins));

function factsOf(spec: OutboundSpec, { own, nodes }: Origins): NodeFacts {
  const { tag, protocol } = spec;
  const marker = nodes.get(tag);
  return {
    tag,
    origin: own.has(tag) ? 'config' : nodes.has(tag) ? 'subscribe' : 'builtin',
    source: marker === undefined || marker.source === IMPORTED ? null : marker.source,
    goneSince: marker?.goneSince ?? null,
    protocol,
    carrier: carrierOf(spec),
    server: serverOf(spec),
    acceptsAny: acceptsAny(spec),
    probed: probedOf(spec),
  };
}

export const balancerFacts = (
  { balancers }: Pick<Spec, 'balancers'>,
  { nodes }: Pick<Origins, 'nodes'>,
): readonly BalancerFacts[] =>
  balancers.map(({ tag, strategy, outbounds }) => ({
    tag,
    strategy,
    members: [...new Set(outbounds)],
    lostFrom: lostSources(outbounds, (name) => nodes.get(name)),
  }));

const acceptsAny = ({ protocol, stream, settings }: OutboundSpec): boolean =>
  protocol === 'hysteria2'
    ? (settings as Hysteria2OutboundSettings).allowInsecure
    : stream?.tls?.allowInsecure === true;

function serverOf({ protocol, server, port, settings }: OutboundSpec): string | null {
  // The only protocol whose server is in its settings.
  const endpoint =
    protocol === 'wireguard'
      ? (settings as WireGuardSettings).endpoint
      : server === undefined
        ? undefined
        : { host: server, port: port ?? 0 };
  return endpoint ? formatEndpoint(endpoint) : null;
}

function carrierOf({ protocol, server, stream }: OutboundSpec): string {
  const own = udpCarrier(protocol);
  if (own) return own;
  if (server === undefined) return '';
  const { kind = 'raw' } = stream?.carrier ?? {};
  if (kind === 'raw') return stream?.tls ? 'tls' : 'tcp';
  return stream?.tls ? `${kind} + tls` : kind;
}

/**
 * The spec from which a probe knows the steps of a dial. Paths and names of carriers can be secrets, and are left out.
 */
function probedOf({ tag, protocol, stream }: OutboundSpec): ProbedSpec {
  if (!stream) return { tag, protocol, stream };
  const { carrier, tls } = stream;
  const bare =
    carrier.kind === 'ws'
      ? ({ kind: 'ws', path: '/', host: '', earlyData: carrier.earlyData } as const)
      : carrier.kind === 'grpc'
        ? ({ kind: 'grpc', serviceName: '', authority: '' } as const)
        : carrier;
  const secured = tls && { serverName: '', allowInsecure: false, ca: undefined };
  return { tag, protocol, stream: { carrier: bare, tls: secured } };
}
