import { NO_MATCHERS } from '../../../packages/proxy/src/engine/router/explain.ts';
import {
  toDesiredState,
  type DesiredState,
} from '../../../packages/server/src/supervisor/desired-state.ts';
import type { InboundFacts } from '../../../packages/server/src/supervisor/inbound-listener.ts';
import type {
  BalancerSpec,
  InboundSpec,
  OutboundSpec,
  RouteSpec,
  RuleSpec,
  Spec,
} from '@weir/proxy/spec';
import { loadProtocols } from '@weir/proxy/protocols';

// `wantedOf` may be given any protocol.
await loadProtocols();

/** A rule with these matchers, to `outbound`. */
export const ruleSpec = (outbound: string, over: Partial<RuleSpec> = {}): RuleSpec => ({
  ...NO_MATCHERS,
  outbound,
  ...over,
});

export const routeSpec = (over: Partial<RouteSpec> = {}): RouteSpec => ({
  default: 'direct',
  rules: [],
  geoip: undefined,
  geosite: undefined,
  ...over,
});

export const inboundSpec = (tag: string, over: Partial<InboundSpec> = {}): InboundSpec => ({
  tag,
  protocol: 'socks',
  listen: { kind: 'ip', host: '127.0.0.1', port: 0 },
  stream: undefined,
  sniffing: true,
  settings: { auth: 'none', accounts: [], udp: true, udpBind: undefined },
  ...over,
});

export const outboundSpec = (tag: string, over: Partial<OutboundSpec> = {}): OutboundSpec => ({
  tag,
  protocol: 'freedom',
  server: undefined,
  port: undefined,
  stream: undefined,
  addressFamily: 'auto',
  settings: {},
  ...over,
});

/** An upstream SOCKS proxy that no test dials. */
export const upstreamSpec = (tag: string, port = 1): OutboundSpec =>
  outboundSpec(tag, {
    protocol: 'socks',
    server: '127.0.0.1',
    port,
    settings: { account: undefined },
  });

export const balancerSpec = (tag: string, outbounds: readonly string[]): BalancerSpec => ({
  tag,
  outbounds,
  strategy: 'failover',
  probeInterval: 30,
  probeTimeout: 5,
});

export const spec = (over: Partial<Spec> = {}): Spec => ({
  log: { level: 'info' },
  dns: { backend: 'system' },
  inbounds: [],
  outbounds: [outboundSpec('direct')],
  balancers: [],
  route: routeSpec(),
  ...over,
});

/** The same for a supervisor; no rule of it may name a list of a geo file. */
export const wantedOf = (from: Spec, facts?: InboundFacts): DesiredState =>
  toDesiredState(from, { geosite: new Map(), geoip: new Map() }, facts);
