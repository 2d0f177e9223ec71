import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '@weir/base/log';
import { BalancerGroup, type GroupMember } from '../../../../src/engine/balancer.ts';
import { OutboundVersion } from '../../../../src/engine/routing-snapshot.ts';
import type { Outbound } from '../../../../src/protocols/contract.ts';
import { balancerSpec } from '../../../../../../test/support/data/specs.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const NOWHERE: Outbound = {
  connect: () => Promise.reject(new Error('unreachable')),
  associate: () => Promise.reject(new Error('unreachable')),
  close: () => undefined,
};

test('the probes of a group start one in each step, and none after it was stopped', () => {
  const probed: number[] = [];
  const members = Array.from({ length: 4 }, (_, i): GroupMember => {
    const version = new OutboundVersion(`out${i}`, 1, NOWHERE);
    return {
      version,
      probe: () => {
        probed.push(i);
        return Promise.resolve();
      },
    };
  });
  const spec = balancerSpec(
    'group',
    members.map(({ version }) => version.tag),
  );
  const deps = { clock: new ManualClock(), log: silentLogger };
  const group = new BalancerGroup(spec, members, undefined, deps);
  const starting = group.start();
  assert.deepEqual(probed, []);
  starting.next();
  assert.deepEqual(probed, [0]);
  starting.next();
  assert.deepEqual(probed, [0, 1]);
  group.stop();
  while (!starting.next().done);
  assert.deepEqual(probed, [0, 1]);
});
