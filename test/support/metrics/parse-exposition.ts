import assert from 'node:assert/strict';

/** A family as a scraper reads it. */
export interface ParsedFamily {
  readonly type: string;
  readonly unit: string | undefined;
  /** By name and labels, as written. */
  readonly samples: Map<string, ParsedSample>;
}

export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const META = new RegExp(`^# (?<what>HELP|TYPE|UNIT) (?<name>${NAME}) (?<text>.+)$`);
const SAMPLE = new RegExp(`^(?<name>${NAME})(?:\\{(?<labels>.*)\\})? (?<value>\\S+)$`);
const LABEL = /(?<name>[a-zA-Z_]\w*)="(?<value>(?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;
const NUMBER = /^(?:[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)$/;

const SUFFIXES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  openmetrics: {
    counter: ['_total', '_created'],
    gauge: [''],
    info: ['_info'],
    summary: ['', '_sum', '_count', '_created'],
  },
  prometheus: { counter: [''], gauge: [''], summary: ['', '_sum', '_count'] },
};

/**
 * Reads an exposition, strictly: the Prometheus text format 0.0.4, or OpenMetrics 1.0 §4.
 * @throws {AssertionError} for the first line that is invalid
 */
export function parseExposition(
  text: string,
  format: 'prometheus' | 'openmetrics',
): ReadonlyMap<string, ParsedFamily> {
  assert.ok(text.endsWith('\n') && text.isWellFormed());
  const lines = text.slice(0, -1).split('\n');
  if (format === 'openmetrics') assert.equal(lines.pop(), '# EOF');
  const families = new Map<string, ParsedFamily>();
  let helped = '';
  let current: [string, ParsedFamily] | undefined;
  for (const line of lines) {
    const { what, name = '', text: rest = '' } = META.exec(line)?.groups ?? {};
    if (what === 'HELP') {
      assert.ok(!families.has(name), `${name} twice`);
      helped = name;
    } else if (what === 'TYPE') {
      assert.equal(name, helped);
      assert.ok(rest in (SUFFIXES[format] ?? {}), line);
      if (format === 'prometheus') assert.equal(rest === 'counter', name.endsWith('_total'), name);
      current = [name, { type: rest, unit: undefined, samples: new Map() }];
      families.set(...current);
    } else if (what === 'UNIT') {
      assert.ok(format === 'openmetrics' && name === current?.[0] && name.endsWith(`_${rest}`));
      assert.equal(current[1].samples.size, 0);
      current = [name, { ...current[1], unit: rest }];
      families.set(...current);
    } else {
      assert.ok(current, line);
      const sample = parseSample(line);
      const [family, { type, samples }] = current;
      const suffixes = SUFFIXES[format]?.[type] ?? [];
      assert.ok(
        suffixes.some((suffix) => family + suffix === sample.name),
        line,
      );
      const key = line.slice(0, line.lastIndexOf(' '));
      assert.ok(!samples.has(key), `${key} twice`);
      samples.set(key, sample);
    }
  }
  return families;
}

function parseSample(line: string): ParsedSample {
  const { name = '', labels: text, value = '' } = SAMPLE.exec(line)?.groups ?? {};
  assert.match(value, NUMBER, line);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (text !== undefined && LABEL.lastIndex < text.length) {
    const label = LABEL.exec(text)?.groups;
    assert.ok(label, line);
    const { name: key = '', value: raw = '' } = label;
    assert.ok(!(key in labels), line);
    labels[key] = raw.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  }
  const number = value.endsWith('Inf')
    ? Infinity * (value.startsWith('-') ? -1 : 1)
    : Number(value);
  return { name, labels, value: number };
}
