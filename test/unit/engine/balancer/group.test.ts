import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BalancerGroup, type GroupMember } from '../../../../src/engine/balancer/group.ts';
import { OutboundVersion } from '../../../../src/engine/outbound-version.ts';
import { silentLogger } from '../../../../src/log/output.ts';
import type { Outbound } from '../../../../src/protocols/contract.ts';
import { balancerSpec } from '../../../support/data/specs.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

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

test('a flow that finds no member available has them probed again, and the next one takes the one that is', async () => {
  const clock = new ManualClock();
  const reachable = new Set<string>();
  const probed: string[] = [];
  const members = ['first', 'second'].map((tag): GroupMember => ({
    version: new OutboundVersion(tag, 1, NOWHERE),
    probe: () => {
      probed.push(tag);
      return reachable.has(tag) ? Promise.resolve() : Promise.reject(new Error('unreachable'));
    },
  }));
  const deps = { clock, log: silentLogger };
  const group = new BalancerGroup(
    balancerSpec('group', ['first', 'second']),
    members,
    undefined,
    deps,
  );
  for (const step of group.start()) assert.equal(step, undefined);
  await new Promise(setImmediate);
  clock.advance(5_000);
  reachable.add('second');
  assert.equal(group.pick().tag, 'first');
  await new Promise(setImmediate);
  assert.equal(group.pick().tag, 'second');
  assert.deepEqual(probed, ['first', 'second', 'first', 'second']);
  group.stop();
});
