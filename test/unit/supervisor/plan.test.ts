import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce, type Steps } from '../../../src/net/time/turns.ts';
import { inboundFacts } from '../../../src/supervisor/inbound-facts.ts';
import { planReload, reportOf } from '../../../src/supervisor/plan.ts';
import { spec, upstreamSpec, wantedOf } from '../../support/data/specs.ts';

test('a plan compares and reports thousands of resources one in each step', () => {
  const facts = inboundFacts();
  const outbounds = Array.from({ length: 1000 }, (_, i) => upstreamSpec(`out${i}`));
  const many = wantedOf(spec({ outbounds }));
  const running = { applied: many, versions: new Map<string, number>() };
  const count = <T>(steps: Steps<T>): number => {
    let taken = 0;
    while (!steps.next().done) taken++;
    return taken;
  };
  assert.ok(count(planReload(running, many, facts)) >= 1000);
  assert.ok(count(reportOf(atOnce(planReload(running, wantedOf(spec()), facts)))) >= 1000);
});
