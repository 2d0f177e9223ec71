import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RateHistory } from '../../../src/monitor/traffic-history.ts';
import { trafficOf } from '../../../../../test/support/dashboard/fake-monitor.ts';

const MINUTE = 60_000;

/** Samples once a second, from one time to another in milliseconds. */
function sample(history: RateHistory, from: number, to: number, down = 100): void {
  for (let at = from; at <= to; at += 1000) history.add(trafficOf({ at, downRate: down }));
}

describe('the history of rates', () => {
  test('has two minutes by the second and an hour by half minutes', () => {
    const history = new RateHistory();
    sample(history, 0, 90 * MINUTE);
    const { seconds, halfMinutes } = history;
    assert.deepEqual(
      [seconds.length, seconds[0]?.at, seconds.at(-1)?.at],
      [120, 5_281_000, 5_400_000],
    );
    assert.equal(halfMinutes.length, 120);
    assert.ok((halfMinutes[0]?.at ?? 0) > 29 * MINUTE);
  });

  test('a point is no older than the span, also after a time without samples', () => {
    const history = new RateHistory();
    sample(history, 0, MINUTE);
    sample(history, 2.5 * MINUTE, 2.5 * MINUTE);
    assert.deepEqual(
      history.seconds.map(({ at }) => at / 1000),
      [...Array.from({ length: 30 }, (_, index) => 31 + index), 150],
    );
    sample(history, 200 * MINUTE, 201 * MINUTE);
    assert.equal(history.seconds[0]?.at, 200 * MINUTE);
    assert.ok(history.halfMinutes.every(({ at }) => at >= 141 * MINUTE));
  });

  test('a clock that is set back does not let it grow', () => {
    const history = new RateHistory();
    sample(history, 10 * MINUTE, 15 * MINUTE);
    for (let round = 0; round < 300; round++) history.add(trafficOf({ at: MINUTE }));
    assert.equal(history.seconds.length, 120);
    assert.ok(history.halfMinutes.length <= 120);
  });
});
