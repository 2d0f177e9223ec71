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
  userTraffic: bytes('weir_user_bytes', 'Payload of the flows of an account.', [
    'user',
    'direction',
  ]),
  userFlows: counter('weir_user_flows_opened', 'Flows of an account that were opened.', ['user']),
  flows: gauge('weir_flows', 'Open flows.'),
  inboundFlows: gauge('weir_inbound_flows', 'Open flows of an inbound.', ['inbound']),
  outboundFlows: gauge('weir_outbound_flows', 'Open flows of an outbound.', ['outbound']),
  flowsOpened: counter('weir_flows_opened', 'Flows that were opened.'),
  flowsBlocked: counter('weir_flows_blocked', 'Flows that were sent to a blackhole.'),
  flowsLimited: counter('weir_flows_limited', 'Flows that a limit of their account has refused.'),
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

/** A value of a family. */
export interface MetricSample {
  readonly family: MetricFamily;
  /** Values of the family's labels, in the same order. */
  readonly labels: readonly string[];
  readonly value: number;
  /** The part of a summary: a quantile, or its sum or count. */
  readonly part?: { readonly quantile: string } | 'sum' | 'count';
}

/** Samples taken at one moment. */
export interface MetricSet {
  readonly samples: readonly MetricSample[];
  /** Start of the counters in Unix seconds; `undefined` without a running Weir. */
  readonly created: number | undefined;
  /** Start of the counters in Unix seconds, for families that began later. */
  readonly createdLater?: ReadonlyMap<MetricFamily, number>;
}

type ExpositionFormat = 'prometheus' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Maximum number of ranges of an `Accept` header that are read; Prometheus sends four. */
const MAX_RANGES = 32;

/** Chooses OpenMetrics if the client prefers it to text; otherwise the Prometheus format. @param accept the header */
export function chooseExposition(accept: string | undefined): ExpositionFormat {
  let open = 0;
  let text = 0;
  for (const range of (accept ?? '').split(',', MAX_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = weightOf(parameters);
    if (type === 'application/openmetrics-text') {
      if (!parameters.some((each) => /^version=(?!1\.0\.0$|0\.0\.1$)/.test(each))) {
        open = Math.max(open, weight);
      }
    } else if (type === 'text/plain') text = Math.max(text, weight);
  }
  return open > text ? 'openmetrics' : 'prometheus';
}

function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((each) => each.startsWith('q='));
  const weight = given === undefined ? 1 : Number(given.slice(2));
  return weight >= 0 && weight <= 1 ? weight : 0;
}

/** The body of the response to a scrape. */
export function expositionText(set: MetricSet, format: ExpositionFormat): string {
  const byFamily = Map.groupBy(set.samples, ({ family }) => family);
  const lines: string[] = [];
  for (const [family, samples] of byFamily)
    lines.push(...familyLines(family, samples, set, format));
  if (format === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function familyLines(
  family: MetricFamily,
  samples: readonly MetricSample[],
  { created: start, createdLater }: MetricSet,
  format: ExpositionFormat,
): string[] {
  const created = createdLater?.get(family) ?? start;
  const { help, unit } = family;
  const isOpen = format === 'openmetrics';
  const name = isOpen ? family.name : sampleName(family);
  const type = !isOpen && family.type === 'info' ? 'gauge' : family.type;
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  if (isOpen && unit !== undefined) lines.push(`# UNIT ${name} ${unit}`);
  // Samples of one series are adjacent.
  const counts = family.type === 'counter' || family.type === 'summary';
  for (const [index, sample] of samples.entries()) {
    lines.push(
      `${sampleName(family, sample.part)}${labelText(sample)} ${numberText(sample.value)}`,
    );
    const isLast = family.type === 'counter' || index === samples.length - 1;
    if (isOpen && counts && isLast && created !== undefined) {
      const labels = family.type === 'counter' ? labelText(sample) : '';
      lines.push(`${family.name}_created${labels} ${numberText(created)}`);
    }
  }
  return lines;
}

const SUFFIXES = { counter: '_total', info: '_info', gauge: '', summary: '' } as const;

function sampleName({ name, type }: MetricFamily, part?: MetricSample['part']): string {
  return `${name}${part === 'sum' || part === 'count' ? `_${part}` : SUFFIXES[type]}`;
}

function labelText({ family, labels, part }: MetricSample): string {
  const pairs = labels.map((value, index) => [family.labels[index] ?? '', value] as const);
  const all = typeof part === 'object' ? [...pairs, ['quantile', part.quantile] as const] : pairs;
  if (all.length === 0) return '';
  return `{${all.map(([name, value]) => `${name}="${escaped(value)}"`).join(',')}}`;
}

const escaped = (value: string): string =>
  value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
