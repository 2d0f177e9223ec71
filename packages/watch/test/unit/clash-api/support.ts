import type { RunningStatus } from '@weir/server/control';
import type { FlowView } from '@weir/server/api/views';
import type { RouteView } from '@weir/config/route-view';
import type { OutboundSpec, RuleSpec, Spec } from '@weir/proxy/spec';
import {
  type ClashFacts,
  clashFacts,
  type ClashFactSources,
} from '../../../src/clash-api/translate/facts.ts';
import { NO_MATCHERS } from '../../../../proxy/src/engine/router/explain.ts';

const outbound = (tag: string, protocol: string): OutboundSpec => ({
  tag,
  protocol,
  server: undefined,
  port: undefined,
  stream: undefined,
  addressFamily: 'auto',
  settings: undefined,
});

export const ruleSpec = (outboundTag: string, matchers: Partial<RuleSpec>): RuleSpec => ({
  ...NO_MATCHERS,
  outbound: outboundTag,
  ...matchers,
});

/** Two nodes and a balancer of them, three route groups, two rules of the configuration's own. */
export const SPEC: Spec = {
  log: { level: 'warn' },
  dns: { backend: 'system' },
  inbounds: [],
  outbounds: [
    outbound('direct', 'freedom'),
    outbound('office', 'http'),
    outbound('tokyo', 'trojan'),
    outbound('osaka', 'vless'),
  ],
  balancers: [
    {
      tag: 'japan',
      outbounds: ['tokyo', 'osaka'],
      strategy: 'failover',
      probeInterval: 30,
      probeTimeout: 5,
    },
  ],
  route: {
    default: 'tokyo',
    geoip: undefined,
    geosite: undefined,
    rules: [
      ruleSpec('office', { domainSuffix: ['corp.example'], network: 'tcp' }),
      ruleSpec('japan', {
        port: [
          { low: 80, high: 80 },
          { low: 8000, high: 8100 },
        ],
      }),
      ruleSpec('osaka', { domainFull: ['video.example'] }),
      ruleSpec('tokyo', { domainKeyword: ['game'] }),
      ruleSpec('direct', { geoip: [{ code: 'jp', negate: true }] }),
    ],
    groups: [
      { name: 'Video', outbound: 'osaka', firstRule: 2, rules: 1 },
      { name: 'Games', outbound: 'tokyo', firstRule: 3, rules: 1 },
      { name: 'tokyo', outbound: 'direct', firstRule: 4, rules: 1 },
    ],
  },
};

export const ROUTES: RouteView = {
  default: { pick: null, target: 'tokyo' },
  groups: [
    { name: 'Video', pick: 'osaka', inherit: 'default', target: 'osaka' },
    { name: 'Games', pick: null, inherit: 'default', target: 'tokyo' },
    { name: 'tokyo', pick: null, inherit: 'direct', target: 'direct' },
    { name: 'Inner', pick: null, inherit: { group: 'Games' }, target: 'tokyo' },
  ],
  targets: [
    { name: 'office', kind: 'outbound' },
    { name: 'japan', kind: 'balancer' },
    { name: 'tokyo', kind: 'node' },
    { name: 'osaka', kind: 'node' },
    { name: 'direct', kind: 'direct' },
    { name: 'blackhole', kind: 'blackhole' },
  ],
};

export const STATUS: RunningStatus = {
  version: '1',
  pid: 1,
  config: '/etc/weir/weir.toml',
  started_at: 0,
  node: '26',
  sockets: { kind: 'kernel', reason: null },
  api: '127.0.0.1:9090',
  plane_epoch: 3,
  inbounds: [
    { tag: 'local', protocol: 'socks', address: '127.0.0.1:1080', sessions: 0, flows: 0 },
    { tag: 'web', protocol: 'http', address: '0.0.0.0:8080', sessions: 0, flows: 0 },
    { tag: 'dev', protocol: 'tun', address: 'weir0', sessions: 0, flows: 0 },
  ],
  balancers: [
    {
      tag: 'japan',
      strategy: 'failover',
      members: [
        { outbound: 'tokyo', health: 'unavailable', probed_at: 1, error: 'refused' },
        { outbound: 'osaka', health: 'available', probed_at: 1, error: null },
      ],
    },
  ],
  routes: {
    rules_since: 2,
    groups: [
      { name: 'Video', first_rule: 2, rules: 1 },
      { name: 'Games', first_rule: 3, rules: 1 },
      { name: 'tokyo', first_rule: 4, rules: 1 },
    ],
  },
  sessions: 0,
  flows: 0,
  sessions_opened: 0,
  flows_opened: 0,
  traffic: { up: 10, down: 20, inbounds: [], outbounds: [] },
  limits: [],
  memory: { resident: 50_000_000, heap_used: 1, heap_total: 2, external: 3 },
  processor: { user: 0, system: 0 },
  event_loop: null,
  last_reload: null,
  log_filter: 'warn',
  reloads: { applied: 0, unchanged: 0, failed: 0, last_applied_at: null },
  missed: { events: 0, log_lines: 0, followed_lines: 0 },
};

export const factsOf = (changes: Partial<ClashFactSources> = {}): ClashFacts =>
  clashFacts({ routes: ROUTES, spec: SPEC, status: STATUS, subscriptions: [], ...changes });

export const flow = (changes: Partial<FlowView> = {}): FlowView => ({
  id: 7,
  session: 3,
  network: 'tcp',
  inbound: 'local',
  user: 'ann',
  source: '127.0.0.1',
  host: 'a.video.example',
  port: 443,
  sniffed: null,
  outbound: 'tokyo',
  outbound_version: 1,
  rule: null,
  plane_epoch: 3,
  started_at: Date.UTC(2026, 10, 24, 4),
  up: 100,
  down: 2000,
  ...changes,
});
