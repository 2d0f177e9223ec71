/** A metric family (OpenMetrics 1.0 §4.3), named without the suffixes of its samples. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'info' | 'summary';
  /** Suffix of the name; absent for a plain number. */
  readonly unit?: 'bytes' | 'seconds';
  readonly help: string;
  readonly labels: readonly string[];
}

/**
 * All families, in output order. Counters are totals of the running Weir since its start: no reader resets them.
 * docs/metrics.md describes each.
 */
export const FAMILIES = {
  up: gauge('weir_up', 'Whether a running Weir responds, on its control socket or its API.'),
  sourceUp: gauge('weir_source_up', 'Whether this source of the metrics responds.', ['source']),
  build: {
    name: 'weir_build',
    type: 'info',
    help: 'Version of the running Weir and of its Node.js.',
    labels: ['version', 'commit', 'date', 'node'],
  },
  startTime: seconds('weir_start_time_seconds', 'When Weir started, in Unix time.'),
  traffic: bytes('weir_traffic_bytes', 'Payload of all flows.', ['direction']),
  inboundTraffic: bytes('weir_inbound_bytes', 'Payload of the flows of an inbound.', [
    'inbound',
    'direction',
  ]),
  outboundTraffic: bytes('weir_outbound_bytes', 'Payload of the flows of an outbound.', [
    'outbound',
    'direction',
  ]),
  flows: gauge('weir_flows', 'Open flows.'),
  inboundFlows: gauge('weir_inbound_flows', 'Open flows of an inbound.', ['inbound']),
  outboundFlows: gauge('weir_outbound_flows', 'Open flows of an outbound.', ['outbound']),
  flowsOpened: counter('weir_flows_opened', 'Flows that were opened.'),
  flowsBlocked: counter('weir_flows_blocked', 'Flows that were sent to a blackhole.'),
  flowsFailed: counter('weir_flows_failed', 'Flows whose destination was not reached.'),
  dialsFailed: counter(
    'weir_outbound_dials_failed',
    'Dials of an outbound that have failed, also where the flow went on by another member of a balancer.',
    ['outbound'],
  ),
  flowsClosed: counter('weir_flows_closed', 'Flows that have ended.'),
  sessions: gauge('weir_sessions', 'Connected clients.'),
  inboundSessions: gauge('weir_inbound_sessions', 'Connected clients of an inbound.', ['inbound']),
  sessionsOpened: counter('weir_sessions_opened', 'Clients that have connected.'),
  limitUsed: gauge('weir_limit_used', 'How much of a limit is in use.', ['limit']),
  limitMax: gauge('weir_limit_max', 'The limit.', ['limit']),
  memberUp: gauge(
    'weir_balancer_member_up',
    'Whether the last probe of a balancer member succeeded.',
    ['balancer', 'outbound'],
  ),
  memberProbed: seconds(
    'weir_balancer_member_probe_timestamp_seconds',
    'When the last probe of a balancer member ended, in Unix time.',
    ['balancer', 'outbound'],
  ),
  reloads: counter('weir_reloads', 'Reloads that have ended.', ['outcome']),
  reloadSuccessful: gauge(
    'weir_config_last_reload_successful',
    'Whether the last reload succeeded, or there was none.',
  ),
  reloadApplied: seconds(
    'weir_config_last_reload_success_timestamp_seconds',
    'When the configuration in force was applied, in Unix time.',
  ),
  planeEpoch: gauge(
    'weir_plane_epoch',
    'Version of the routes, which reloads that change them increase.',
  ),
  eventsMissed: counter(
    'weir_events_missed',
    'Flow events that clients of the API were too slow for.',
  ),
  logLinesLost: counter('weir_log_lines_lost', 'Log lines that were lost.', ['reader']),
  processor: {
    name: 'weir_cpu_seconds',
    type: 'counter',
    unit: 'seconds',
    help: 'Processor time of all threads.',
    labels: ['mode'],
  },
  memoryResident: memory('weir_memory_resident_bytes', 'Memory of the process.'),
  memoryHeapUsed: memory('weir_memory_heap_used_bytes', 'Used memory of the heap of JavaScript.'),
  memoryHeap: memory('weir_memory_heap_bytes', 'Memory of the heap of JavaScript.'),
  memoryExternal: memory('weir_memory_external_bytes', 'Buffers outside of the heap.'),
  loopDelay: {
    name: 'weir_event_loop_delay_seconds',
    type: 'summary',
    unit: 'seconds',
    help: 'How late the event loop ran what was due, since Weir was first asked for its status.',
    labels: [],
  },
  loopDelayMax: seconds('weir_event_loop_delay_max_seconds', 'The largest of these delays.'),
  leftOut: gauge('weir_metrics_series_left_out', 'Series of this response that were left out.'),
  scrape: seconds('weir_metrics_scrape_duration_seconds', 'How long it took to ask Weir.'),
} as const satisfies Readonly<Record<string, MetricFamily>>;

function gauge(name: string, help: string, labels: readonly string[] = []): MetricFamily {
  return { name, type: 'gauge', help, labels };
}

function seconds(name: string, help: string, labels: readonly string[] = []): MetricFamily {
  return { name, type: 'gauge', unit: 'seconds', help, labels };
}

function memory(name: string, help: string): MetricFamily {
  return { name, type: 'gauge', unit: 'bytes', help, labels: [] };
}

function counter(name: string, help: string, labels: readonly string[] = []): MetricFamily {
  return { name, type: 'counter', help, labels };
}

function bytes(name: string, help: string, labels: readonly string[]): MetricFamily {
  return { name, type: 'counter', unit: 'bytes', help, labels };
}
