import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../../../src/net/time/turns.ts';
import { inboundFacts } from '../../../src/supervisor/inbound-facts.ts';
import { compareSpecs } from '../../../src/supervisor/compare.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { inboundSpec, spec, upstreamSpec } from '../../support/specs.ts';

/** Whenever it is read a stretch of work is over. */
class HurryingClock extends ManualClock {
  override now(): number {
    this.advance(10);
    return super.now();
  }
}

/** How many turns the event loop has while `work` runs. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  await work;
  done = true;
  return turns;
}

const COUNT = 100;
const numbers = Array.from({ length: COUNT }, (_, i) => i);

test('many resources with short lists are compared in turns', async () => {
  const inbounds = numbers.map((i) => inboundSpec(`in${i}`));
  const outbounds = numbers.map((i) => upstreamSpec(`out${i}`));
  for (const config of [spec({ inbounds }), spec({ outbounds })]) {
    const turns = new Turns(new HurryingClock());
    const compared = compareSpecs(config, structuredClone(config), inboundFacts().usersOf, turns);
    assert.ok((await turnsDuring(compared)) >= COUNT);
  }
});
