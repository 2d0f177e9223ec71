import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noKernelSockets } from '../support/links/kernel-io.ts';
import { SCENARIOS } from '../torture/scenarios/all.ts';
import type { Limits } from '../torture/torment.ts';

/*
 * A part of `npm run torture`, the same in each run: the first three calls of a kind, and of those
 * only some, so that all scenarios take a few seconds.
 */

/** Failures of each scenario are one in so many; files have more steps, each of which matters. */
const EVERY: Readonly<Record<string, number>> = { socks: 4, tls: 8, udp: 8, pick: 4, reload: 8 };

for (const { name, run } of SCENARIOS) {
  const { [name]: every } = EVERY;
  if (every === undefined) continue;
  test(
    `a call that fails does no harm beyond its client: ${name}`,
    { skip: noKernelSockets },
    async (t) => {
      const limits: Limits = { from: 1, to: 3, every, first: 0 };
      const { failures, violations } = await run(limits, () => undefined);
      t.diagnostic(`${failures} failures`);
      assert.deepEqual(violations, []);
      assert.ok(failures > 0);
    },
  );
}
