import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { NamedUsage } from '@weir/proxy/tracker';
import type { RunningStatus } from '@weir/server/control';
import { collect, labelValue, MAX_SERIES, MAX_USERS } from '../../../src/metrics/collect.ts';
import { chooseExposition, expositionText, FAMILIES } from '../../../src/metrics/exposition.ts';
import { fullStatus } from '../../../../../test/support/metrics/full-status.ts';
import { parseExposition } from '../../../../../test/support/metrics/parse-exposition.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

const FORMATS = ['prometheus', 'openmetrics'] as const;

const ANN: NamedUsage = { name: 'ann', up: 3, down: 5, flows: 7 };

const setOf = (
  status: RunningStatus | undefined,
  users: readonly NamedUsage[] | undefined = status && [ANN],
) =>
  collect({
    status,
    users,
    traffic: undefined,
    reached: new Map([['socket', status !== undefined]]),
    problem: undefined,
    seconds: 0.0015,
  });

/** Every series of a status, as `name{labels}`, with its value. */
const seriesOf = (
  status: RunningStatus | undefined,
  format: (typeof FORMATS)[number] = 'prometheus',
): ReadonlyMap<string, number> =>
  new Map(
    [...parseExposition(expositionText(setOf(status), format), format).values()].flatMap(
      ({ samples }) => [...samples].map(([key, { value }]) => [key, value] as const),
    ),
  );

test('accounts with the most bytes have series, those without a name have none', () => {
  const users = Array.from({ length: MAX_USERS + 10 }, (_, index) => ({
    ...ANN,
    name: `u${index}`,
    up: index,
  }));
  const { samples } = setOf(fullStatus, [...users, { ...ANN, name: '' }]);
  const counted = samples.filter(({ family }) => family === FAMILIES.userFlows);
  assert.equal(counted.length, MAX_USERS);
  assert.ok(!counted.some(({ labels: [user] }) => user === 'u9' || user === ''));
  assert.equal(samples.find(({ family }) => family === FAMILIES.leftOut)?.value, 30);
});

describe('the metrics of a status', () => {
  test('have every family, with totals since the start of Weir', () => {
    const series = seriesOf(fullStatus);
    const text = expositionText(setOf(fullStatus), 'openmetrics');
    const families = parseExposition(text, 'openmetrics');
    assert.deepEqual(
      [...families.keys()],
      Object.values(FAMILIES).map(({ name }) => name),
    );
    for (const [key, value] of Object.entries({
      weir_up: 1,
      'weir_source_up{source="socket"}': 1,
      'weir_build_info{version="2.1.1",commit="0123456789ab",date="2026-11-28",node="v26.10.0"}': 1,
      weir_start_time_seconds: 1_700_000_000,
      'weir_outbound_bytes_total{outbound="osaka",direction="down"}': 500,
      'weir_user_bytes_total{user="ann",direction="down"}': 5,
      'weir_user_flows_opened_total{user="ann"}': 7,
      weir_flows_opened_total: 30,
      weir_flows_closed_total: 27,
      'weir_limit_max{limit="open files"}': 1024,
      'weir_balancer_member_up{balancer="both",outbound="osaka"}': 0,
      'weir_balancer_member_up{balancer="both",outbound="tokyo"}': 1,
      'weir_reloads_total{outcome="failed"}': 1,
      weir_config_last_reload_successful: 0,
      weir_config_last_reload_success_timestamp_seconds: 1_700_000_090,
      'weir_log_lines_lost_total{reader="follower"}': 2,
      'weir_event_loop_delay_seconds{quantile="0.99"}': 0.0035,
      weir_event_loop_delay_seconds_sum: 0.8,
      'weir_cpu_seconds_total{mode="user"}': 1.5,
    })) {
      assert.equal(series.get(key), value, key);
    }
    assert.ok(!series.has('weir_balancer_member_up{balancer="both",outbound="new"}'));
  });

  test('have the start of Weir as the creation of every counter', () => {
    const created = new Map(
      [...seriesOf(fullStatus, 'openmetrics')].filter(([key]) => key.includes('_created')),
    );
    assert.equal(created.size, 27);
    // The event loop is measured from the first request on.
    assert.equal(created.get('weir_event_loop_delay_seconds_created'), 1_700_000_010);
    created.delete('weir_event_loop_delay_seconds_created');
    assert.deepEqual(new Set(created.values()), new Set([1_700_000_000]));
  });

  test('are only that it is down while no Weir responds', () => {
    assert.deepEqual(Object.fromEntries(seriesOf(undefined)), {
      weir_up: 0,
      'weir_source_up{source="socket"}': 0,
      weir_metrics_series_left_out: 0,
      weir_metrics_scrape_duration_seconds: 0.0015,
    });
  });

  test('of an older Weir are those that it knows', () => {
    const { version, pid, config, started_at } = fullStatus;
    const old = { version, pid, config, started_at } as RunningStatus;
    assert.equal(seriesOf(old).get('weir_start_time_seconds'), 1_700_000_000);
    assert.ok(!seriesOf(old).has('weir_flows_closed_total'));
  });

  test('are bounded in number: the busiest of 10,000 outbounds stay, the rest is counted', () => {
    const outbounds = Array.from({ length: 10_000 }, (_, index) => ({
      tag: `node ${index}`,
      up: index,
      down: 0,
      flows: index === 0 ? 1 : 0,
    }));
    const series = seriesOf({ ...fullStatus, traffic: { ...fullStatus.traffic, outbounds } });
    const left = 10_000 - MAX_SERIES;
    assert.equal(series.get('weir_metrics_series_left_out'), 3 * left);
    assert.equal(
      series.get(`weir_outbound_bytes_total{outbound="node ${left}",direction="up"}`),
      left,
    );
    assert.ok(!series.has(`weir_outbound_flows{outbound="node ${left - 1}"}`));
    // A flow alone does not move another out: series that come and go are of little use.
    assert.ok(!series.has('weir_outbound_flows{outbound="node 0"}'));
  });

  test('are valid whatever the names in a configuration are', () => {
    const name = fc.oneof(
      fc.string({ unit: CODE_POINT, maxLength: 200, size: 'max' }),
      fc.constantFrom('"', '\\', '\n', '\\n', '}', '\u202e', '\ud800', 'x'.repeat(129), '# EOF'),
    );
    const tags = fc.uniqueArray(name, { maxLength: 8 });
    fc.assert(
      fc.property(tags, fc.constantFrom(...FORMATS), (names, format) => {
        const figures = names.map((tag) => ({ tag, up: 1, down: 2, flows: 3 }));
        const status = {
          ...fullStatus,
          traffic: { up: 0, down: 0, inbounds: figures, outbounds: figures },
          limits: names.map((each) => ({ name: each, used: 1, limit: 2 })),
        };
        const text = expositionText(setOf(status), format);
        const families = parseExposition(text, format);
        const labels = [...(families.get('weir_limit_max')?.samples.values() ?? [])].map(
          (sample) => sample.labels['limit'],
        );
        assert.deepEqual(labels, names.map(labelValue));
        assert.equal(new Set(labels).size, names.length);
        assert.ok(labels.every((label) => label !== undefined && label.length <= 128));
      }),
      { numRuns: 40 },
    );
  });
});

describe('the format of a response', () => {
  for (const [accept, format] of [
    [undefined, 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/plain', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text;version=2.0.0', 'prometheus'],
    [
      'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    ['application/openmetrics-text;q=0.2, text/plain;q=0.8', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;q=high', 'prometheus'],
    [`${'x,'.repeat(40)}application/openmetrics-text`, 'prometheus'],
  ] as const) {
    test(`for Accept: ${accept?.slice(0, 60) ?? 'none'} is ${format}`, () => {
      assert.equal(chooseExposition(accept), format);
    });
  }
});
