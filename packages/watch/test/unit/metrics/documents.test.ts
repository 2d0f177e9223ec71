import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { FAMILIES, type MetricFamily } from '../../../src/metrics/exposition.ts';

/* docs/metrics.md, the dashboard and the rules have the metrics that there are. */

const DOCS = join(import.meta.dirname, '../../../../../docs');
const textOf = (path: string): string => readFileSync(join(DOCS, path), 'utf8');

const families: readonly MetricFamily[] = Object.values(FAMILIES);

/** What is added to the name of a family, by its type. */
const SUFFIXES: Readonly<Record<MetricFamily['type'], readonly string[]>> = {
  counter: ['_total'],
  info: ['_info'],
  summary: ['', '_sum', '_count'],
  gauge: [''],
};

/** Every name that a query may have. */
const samples: ReadonlySet<string> = new Set(
  families.flatMap(({ name, type }) => SUFFIXES[type].map((suffix) => name + suffix)),
);

const NAME = /\bweir_\w+/g;

const unknownNames = (text: string): readonly string[] =>
  [...text.matchAll(NAME)].map(([name]) => name).filter((name) => !samples.has(name));

/** The labels that selectors, groupings and texts of a query use. */
const LABELS = new Set(families.flatMap(({ labels }) => labels));
const TARGET_LABELS = ['job', 'instance', 'quantile'];

describe('docs/metrics.md', () => {
  test('has every family with its type and its labels, and no other', () => {
    const rows = textOf('metrics.md')
      .split('\n')
      .filter((line) => line.startsWith('| `weir_'))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    const documented = rows.map(([, name = '', type = '', labels = '']) => [
      name.replaceAll('`', ''),
      type,
      // Values follow the last label.
      [...labels.replace(/:.*/, ':').matchAll(/`(\w+)`(?=:|,? `|$|, )/g)]
        .map(([, label = '']) => label)
        .filter((label) => LABELS.has(label)),
    ]);
    assert.deepEqual(
      documented,
      families.map(({ name, type, labels }) => [
        `${name}${type === 'counter' ? '_total' : type === 'info' ? '_info' : ''}`,
        type === 'info' ? 'gauge, info' : type,
        type === 'summary' ? [] : labels,
      ]),
    );
    assert.deepEqual(
      unknownNames(textOf('metrics.md')).filter((name) => name !== 'weir_metrics_'),
      [],
    );
  });
});

describe('the dashboard for Grafana', () => {
  interface Panel {
    readonly id: number;
    readonly title: string;
    readonly type: string;
    readonly datasource?: { readonly type: string; readonly uid: string };
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }
  const dashboard = JSON.parse(textOf('grafana/weir.json')) as { readonly panels: Panel[] };
  const targets = dashboard.panels.flatMap(({ targets: all = [] }) => all);

  test('asks for metrics that there are, by labels that they have', () => {
    assert.ok(targets.length > 20);
    for (const { expr, legendFormat } of targets) {
      assert.deepEqual(unknownNames(expr), [], expr);
      assert.match(expr, /weir_\w+\{job=~"\$job",instance=~"\$instance"\}/);
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        const names = [...expr.matchAll(NAME)].map(([name]) => name);
        const used = families.filter((family) =>
          names.some((name) => name.startsWith(family.name)),
        );
        const known = [...TARGET_LABELS, ...used.flatMap(({ labels }) => labels)];
        assert.ok(known.includes(label), `${label} in ${expr}`);
      }
    }
    assert.deepEqual(unknownNames(JSON.stringify(dashboard)), []);
  });

  test('can be imported: panels of their own places and ids, and a data source that is chosen', () => {
    const { panels } = dashboard;
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const places = new Set<string>();
    for (const { title, type, datasource, gridPos } of panels) {
      // Another uid would be a data source of the author's.
      const source = type === 'row' ? undefined : { type: 'prometheus', uid: '${source}' };
      assert.deepEqual(datasource, source, title);
      const { x, y, w, h } = gridPos;
      assert.ok(x >= 0 && w > 0 && x + w <= 24, title);
      for (let cell = 0; cell < w * h; cell++) {
        const place = `${x + (cell % w)},${y + Math.floor(cell / w)}`;
        assert.ok(!places.has(place), title);
        places.add(place);
      }
    }
    // An id is given by Grafana; one of the document would replace another dashboard.
    assert.ok(!('id' in dashboard) && 'uid' in dashboard);
  });

  test('shows every family', () => {
    const shown = new Set(targets.flatMap(({ expr }) => expr.match(NAME) ?? []));
    const missing = families.filter(
      ({ name }) => ![...shown].some((each) => each.startsWith(name)),
    );
    assert.deepEqual(missing, []);
  });
});

describe('the alert rules', () => {
  test('ask for metrics that there are', () => {
    assert.deepEqual(unknownNames(textOf('prometheus/alerts.yml')), []);
  });

  test('fire when they should', (t) => {
    if (spawnSync('promtool', ['--version']).error) return t.skip('promtool is not installed');
    const { status, stdout, stderr } = spawnSync(
      'promtool',
      ['test', 'rules', join(DOCS, 'prometheus/alerts.test.yml')],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stdout + stderr);
  });

  test('each have a test', () => {
    const alerts = [...textOf('prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)];
    const tested = textOf('prometheus/alerts.test.yml');
    for (const [, name = ''] of alerts) assert.ok(tested.includes(`alertname: ${name}\n`), name);
  });
});
