import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { answerUserFlows } from '../../../../src/app/control/status-reporter.ts';
import { silentLogger } from '@weir/base/log';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { Tracker } from '@weir/proxy/tracker';
import { flowInfo } from '../../../../../../test/support/engine/flow-info.ts';

/** A tracker with flows to open, and those that were killed. */
function flowsOf() {
  const tracker = new Tracker(new ManualClock());
  const killed: string[] = [];
  const open = (inbound: string, user: string | undefined, isValid: boolean): void => {
    const info = flowInfo({ inbound, user, account: { isValid } });
    tracker.openFlow(info, () => killed.push(`${inbound} ${user ?? '-'}`));
  };
  return { tracker, killed, open };
}

/** Flows of two inbounds, of which some accounts were removed. */
function tracked() {
  const { tracker, killed, open } = flowsOf();
  open('a', 'ann', false);
  open('a', 'ann', true);
  open('a', 'bob', false);
  open('a', undefined, false);
  open('b', 'ann', false);
  return { tracker, killed };
}

test('flows are counted and closed by inbound, label and whether the account stands', async () => {
  const { tracker, killed } = tracked();
  const ask = async (request: object): Promise<number> => {
    const deps = { instance: { tracker }, log: silentLogger };
    return (await answerUserFlows(request, deps)).count;
  };
  assert.equal(await ask({ inbound: 'a', user: 'ann', removed: false, close: false }), 2);
  assert.equal(await ask({ inbound: 'a', removed: true, close: false }), 3);
  assert.deepEqual(killed, []);
  assert.equal(await ask({ inbound: 'a', user: 'ann', removed: true, close: true }), 1);
  assert.deepEqual(killed, ['a ann']);
  assert.equal(await ask({ inbound: 'a', removed: true, close: true }), 2, 'none is closed twice');
  assert.deepEqual(killed, ['a ann', 'a bob', 'a -']);
  assert.equal(await ask({ inbound: 'a', close: true }), 0, 'an invalid request closes nothing');
  assert.equal(killed.length, 3);
});

test('thousands of flows are closed in many turns of the event loop', async () => {
  const { tracker, killed, open } = flowsOf();
  for (let index = 0; index < 1000; index++) open('a', 'ann', true);
  const request = { inbound: 'a', removed: false, close: true };
  const answered = answerUserFlows(request, { instance: { tracker }, log: silentLogger });
  const seen: number[] = [];
  for (; killed.length < 1000; await turn()) seen.push(killed.length);
  assert.ok(seen.every((count, index) => count - (seen[index - 1] ?? 0) <= 128));
  assert.deepEqual(await answered, { kind: 'flows', count: 1000 });
});
