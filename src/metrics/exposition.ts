import type { MetricFamily } from './families.ts';

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

export type ExpositionFormat = 'prometheus' | 'openmetrics';

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
