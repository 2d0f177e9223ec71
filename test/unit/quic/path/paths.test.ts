import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewReno } from '../../../../src/congestion/new-reno.ts';
import { SendControl } from '../../../../src/congestion/send-control.ts';
import { MAX_PATHS } from '../../../../src/quic/path/limits.ts';
import { MtuSearch } from '../../../../src/quic/path/mtu-search.ts';
import { Path } from '../../../../src/quic/path/path.ts';
import { Paths } from '../../../../src/quic/path/paths.ts';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';

const pathTo = (remote: string, local: string | undefined, validated = false): Path<string> =>
  new Path({
    remote,
    local,
    control: new SendControl(new NewReno(1200), 1200),
    mtu: new MtuSearch({ most: 1472 }),
    random: new SeededRandom(1),
    validated,
  });

test('few paths are remembered, and those in use and to return to among them', () => {
  const paths = new Paths<string>({
    role: 'server',
    rules: {
      isSame: (one, other) => one === other,
      isSameHost: () => false,
      copy: (address) => address,
    },
    first: pathTo('home', undefined, true),
    create: (remote, local) => pathTo(remote, local),
  });
  const home = paths.active;
  const of = (remote: string, local?: string): Path<string> =>
    paths.of(remote, local, true) ?? assert.fail();
  paths.moveTo(of('cafe'), 100, 0);
  for (let i = 0; i < 50; i++) of(`probe ${i}`);
  assert.equal(paths.all.length, MAX_PATHS);
  assert.equal(paths.active.remote, 'cafe');
  assert.ok(paths.all.includes(home));
  assert.equal(of('probe 49'), paths.all[1]);
  // Another own address is another path.
  const first = of('cafe 2', 'server a');
  assert.notEqual(of('cafe 2', 'server b'), first);
});
