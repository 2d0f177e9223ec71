import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import { FlowTable, type Keyed } from '../../../src/flows/flow-table.ts';
import {
  FIRST_LOCAL_PORT,
  LAST_LOCAL_PORT,
  PORT_ATTEMPTS,
  UNUSED_ATTEMPTS,
} from '../../../src/limits.ts';
import { chooseLocalPort, type PortState } from '../../../src/flows/local-ports.ts';
import { endpoint } from '../../../../../test/support/netstack/stack-pair.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

interface Entry extends Keyed {
  readonly name: string;
}

const entry = (local: IpEndpoint, remote: IpEndpoint): Entry => ({
  name: JSON.stringify([local, remote]),
  local,
  remote,
  hash: 0,
  nextKeyed: undefined,
});

/** One of a few endpoints, so that they meet again. */
function someEndpoint(random: SeededRandom): IpEndpoint {
  const host = random.chance(0.5) ? `10.0.0.${random.below(8)}` : `2001:db8::${random.below(8)}`;
  return endpoint(host, 1 + random.below(16));
}

describe('the table of flows', () => {
  test('finds what a map of texts finds, however elements come and go', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = new SeededRandom(seed);
      const table = new FlowTable<Entry>(random);
      const model = new Map<string, Entry>();
      for (let step = 0; step < 5000; step++) {
        const wanted = entry(someEndpoint(random), someEndpoint(random));
        const known = model.get(wanted.name);
        assert.equal(table.find(wanted.local, wanted.remote), known);
        if (step % 1000 === 0) assert.deepEqual(new Set(table.toArray()), new Set(model.values()));
        if (known === undefined && random.chance(0.7)) {
          table.add(wanted);
          model.set(wanted.name, wanted);
        } else if (known && random.chance(0.5)) {
          table.remove(known);
          table.remove(known);
          model.delete(known.name);
        }
        assert.equal(table.size, model.size);
      }
      const names = [...table].map(({ name }) => name);
      assert.deepEqual(new Set(names), new Set(model.keys()));
      assert.equal(names.length, model.size);
    }
  });

  test('spreads the ports of one client over its chains', () => {
    const table = new FlowTable<Entry>(new SeededRandom(3));
    const local = endpoint('192.0.2.1', 443);
    const slots = new Map<number, number>();
    const count = 32_768;
    for (let port = 1; port <= count; port++) {
      const item = entry(local, endpoint('10.0.0.1', port));
      table.add(item);
      const slot = item.hash & (count - 1);
      slots.set(slot, (slots.get(slot) ?? 0) + 1);
    }
    assert.ok(Math.max(...slots.values()) <= 12, 'a long chain');
  });

  test('lets the present element be removed while all are visited', () => {
    const table = new FlowTable<Entry>(new SeededRandom(4));
    const local = endpoint('192.0.2.1', 443);
    for (let port = 1; port <= 500; port++) table.add(entry(local, endpoint('10.0.0.1', port)));
    let visited = 0;
    for (const item of table) {
      visited++;
      table.remove(item);
    }
    assert.equal(visited, 500);
    assert.equal(table.size, 0);
  });
});

describe('own ports', () => {
  test('are dynamic ports that are free, from an unpredictable one on', () => {
    const random = new SeededRandom(5);
    const used = new Set<number>();
    for (let count = 0; count < 1000; count++) {
      const port = chooseLocalPort(random, (candidate) => (used.has(candidate) ? 'used' : 'free'));
      assert.ok(port !== undefined && port >= FIRST_LOCAL_PORT && port <= LAST_LOCAL_PORT);
      assert.ok(!used.has(port));
      used.add(port);
    }
    assert.equal(
      chooseLocalPort(random, () => 'used'),
      undefined,
    );
  });

  test('are free ones nearby, or else those in TIME-WAIT, the safest first', () => {
    const random = new SeededRandom(6);
    const cases: readonly (readonly [string, PortState[]])[] = [
      ['free', ['used', 'last resort', 'reusable', 'free']],
      ['reusable', ['used', 'last resort', 'reusable', 'reusable']],
      ['last resort', ['used', 'last resort', 'used', 'last resort']],
    ];
    for (const [expected, states] of cases) {
      const stateOf = (port: number): PortState => states[port % states.length] ?? 'used';
      const port = chooseLocalPort(random, stateOf);
      assert.ok(port !== undefined);
      assert.equal(stateOf(port), expected);
    }
  });

  test('are not searched for long where all are in TIME-WAIT, and bounded where all are used', () => {
    const random = new SeededRandom(7);
    for (const [state, most] of [
      ['reusable', UNUSED_ATTEMPTS],
      ['last resort', PORT_ATTEMPTS],
      ['used', PORT_ATTEMPTS],
    ] as const) {
      let looked = 0;
      chooseLocalPort(random, () => {
        looked++;
        return state;
      });
      assert.equal(looked, most, state);
    }
  });
});
