import type { RunningStatus } from '@weir/server/control';

/** A status with a value in every field; one of each thing. */
export const fullStatus: RunningStatus = {
  version: '2.1.1',
  build: { commit: '0123456789ab', date: '2026-11-28' },
  pid: 7,
  config: '/etc/weir/weir.toml',
  started_at: 1_700_000_000_000,
  node: 'v26.10.0',
  sockets: { kind: 'kernel', reason: null },
  api: '127.0.0.1:9090',
  plane_epoch: 3,
  inbounds: [{ tag: 'socks', protocol: 'socks', address: '127.0.0.1:1080', sessions: 2, flows: 3 }],
  balancers: [
    {
      tag: 'both',
      strategy: 'failover',
      members: [
        {
          outbound: 'osaka',
          health: 'unavailable',
          probed_at: 1_700_000_060_000,
          error: 'refused',
        },
        { outbound: 'tokyo', health: 'available', probed_at: 1_700_000_061_000, error: null },
        { outbound: 'new', health: 'unknown', probed_at: null, error: null },
      ],
    },
  ],
  routes: {
    rules_since: 3,
    groups: [],
    taken: {
      since: 1_700_000_000_000,
      rules: [{ rule: 0, opened: 30, blocked: 1, failed: 4, last_at: 1_700_000_060_000 }],
      more: 0,
    },
  },
  sessions: 2,
  flows: 3,
  sessions_opened: 20,
  flows_opened: 30,
  flows_blocked: 1,
  flows_limited: 1,
  flows_failed: 4,
  failed_dials: [{ outbound: 'osaka', dials: 6 }],
  traffic: {
    up: 1000,
    down: 2000,
    inbounds: [{ tag: 'socks', up: 1000, down: 2000, flows: 3 }],
    outbounds: [
      { tag: 'osaka', up: 400, down: 500, flows: 0 },
      { tag: 'tokyo', up: 600, down: 1500, flows: 3 },
    ],
  },
  limits: [{ name: 'open files', used: 30, limit: 1024 }],
  memory: { resident: 90e6, heap_used: 20e6, heap_total: 30e6, external: 4e6 },
  processor: { user: 1500, system: 250 },
  event_loop: { since: 1_700_000_010_000, p50: 0.12, p99: 3.5, max: 40, count: 5000, sum: 800 },
  last_reload: {
    at: 1_700_000_100_000,
    outcome: { kind: 'failed', line: 'reload: no' },
    place: null,
  },
  reloads: { applied: 2, unchanged: 1, failed: 1, last_applied_at: 1_700_000_090_000 },
  missed: { events: 5, log_lines: 1, followed_lines: 2 },
};
