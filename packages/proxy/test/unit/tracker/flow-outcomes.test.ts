import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FlowOutcomes } from '../../../src/tracker/flow-outcomes.ts';
import { flowInfo as flow } from '../../../../../test/support/engine/flow-info.ts';

describe('the outcomes of flows', () => {
  test('are counted by rule, with the time of the last', () => {
    const outcomes = new FlowOutcomes(0);
    outcomes.opened(flow({ rule: 3 }), 10);
    outcomes.opened(flow({}), 11);
    outcomes.refused('blocked', { rule: 3, epoch: 1 }, 12);
    outcomes.refused('failed', { rule: 4, epoch: 1 }, 13);
    assert.deepEqual(
      [...outcomes.rules()],
      [
        [3, { opened: 1, blocked: 1, failed: 0, lastAt: 12 }],
        [undefined, { opened: 1, blocked: 0, failed: 0, lastAt: 11 }],
        [4, { opened: 0, blocked: 0, failed: 1, lastAt: 13 }],
      ],
    );
    assert.deepEqual([outcomes.blocked, outcomes.failed], [1, 1]);
  });

  test('questions to the own resolver count for no rule', () => {
    const outcomes = new FlowOutcomes(0);
    outcomes.opened(flow({ outbound: '' }), 1);
    assert.deepEqual([...outcomes.rules()], []);
  });

  test('begin anew with other rules, which a flow of earlier ones does not count for', () => {
    const outcomes = new FlowOutcomes(0);
    outcomes.opened(flow({ rule: 0 }), 1);
    outcomes.refused('failed', { rule: 0, epoch: 1 }, 2);
    outcomes.rulesChanged(5, 100);
    assert.deepEqual([[...outcomes.rules()], outcomes.since], [[], 100]);
    outcomes.opened(flow({ rule: 0, routingEpoch: 4 }), 101);
    outcomes.refused('failed', { rule: 0, epoch: 4 }, 102);
    assert.deepEqual([...outcomes.rules()], []);
    outcomes.opened(flow({ rule: 0, routingEpoch: 6 }), 103);
    assert.deepEqual(
      [...outcomes.rules()],
      [[0, { opened: 1, blocked: 0, failed: 0, lastAt: 103 }]],
    );
    assert.equal(outcomes.failed, 2, 'all of them, since the start');
  });
});
