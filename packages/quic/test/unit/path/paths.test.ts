import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newReno } from '../../../../congestion/src/controllers.ts';
import type { IpEndpoint } from '@weir/base/ip';
import { MAX_PATHS } from '../../../src/limits.ts';
import { type Path, Paths } from '../../../src/path/paths.ts';
import { endpoint } from '../../../../../test/support/data/ip-packets.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

test('few paths are remembered, and those in use and to return to among them', () => {
  const paths = new Paths({
    role: 'server',
    remote: endpoint('192.0.2.1', 1000),
    local: undefined,
    validated: true,
    maxDatagram: 1472,
    congestion: newReno,
    random: new SeededRandom(1),
  });
  const home = paths.active;
  const of = (remote: IpEndpoint, local?: IpEndpoint): Path =>
    paths.of(remote, local, true) ?? assert.fail();
  const cafe = endpoint('198.51.100.1', 1000);
  const probe = (index: number): IpEndpoint => endpoint('203.0.113.1', 2000 + index);
  paths.moveTo(of(cafe), 100, 0);
  for (let i = 0; i < 50; i++) of(probe(i));
  assert.equal(paths.all.length, MAX_PATHS);
  assert.deepEqual(paths.active.remote, cafe);
  assert.ok(paths.all.includes(home));
  assert.equal(of(probe(49)), paths.all[1]);
  // Another own address is another path.
  const other = endpoint('198.51.100.2', 1000);
  const first = of(other, endpoint('192.0.2.7', 443));
  assert.notEqual(of(other, endpoint('192.0.2.8', 443)), first);
});
