import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { IDLE, send, wait, type Datagram, type Node } from '../../support/simnet/node.ts';
import {
  addressChange,
  blackHole,
  bottleneck,
  corruption,
  delay,
  drop,
  duplication,
  loss,
  mtu,
} from '../../support/simnet/path.ts';
import { SeededRandom } from '../../support/simnet/seeded-random.ts';
import { simulate, SimulationError } from '../../support/simnet/simulation.ts';

const A = { host: '192.0.2.1', port: 1 };
const B = { host: '192.0.2.2', port: 2 };

/** Sends `count` datagrams of `size` bytes, one every `interval` ms, each with its number. */
function sender(count: number, { size = 4, interval = 0 } = {}): Node {
  let sent = 0;
  return {
    name: 'sender',
    process(_, now) {
      if (sent === count) return IDLE;
      if (now < sent * interval) return wait(sent * interval);
      const data = Buffer.alloc(size);
      data.writeUInt32BE(sent++);
      return send({ data, from: A, to: B });
    },
  };
}

interface Receiver extends Node {
  readonly got: { readonly number: number; readonly at: number; readonly datagram: Datagram }[];
}

/** Takes what comes; done once it has `wanted` datagrams. */
function receiver(wanted: number): Receiver {
  const got: Receiver['got'] = [];
  return {
    name: 'receiver',
    got,
    get done() {
      return got.length >= wanted;
    },
    process(datagram, at) {
      if (datagram) got.push({ number: Buffer.from(datagram.data).readUInt32BE(), at, datagram });
      return IDLE;
    },
  };
}

const OPTIONS = { seed: 1, limit: 60_000 };

describe('the simulated network', () => {
  test('jumps to the next deadline, and says when the goal was reached', async () => {
    const last = receiver(3);
    assert.equal(await simulate([sender(3, { interval: 100 }), delay(50), last], OPTIONS), 250);
    assert.deepEqual(
      last.got.map(({ at }) => at),
      [50, 150, 250],
    );
  });

  test('fails with its seed when nothing is left to happen before the goal', async () => {
    await assert.rejects(
      simulate([sender(2), drop((number) => number === 0), receiver(2)], OPTIONS),
      (error) =>
        error instanceof SimulationError && /receiver did not finish.*seed 1/.test(error.message),
    );
  });

  test('fails when the goal is not reached in time', async () => {
    const slow = simulate([sender(5, { interval: 20_000 }), receiver(5)], OPTIONS);
    await assert.rejects(slow, /did not finish in time/);
  });

  test('fails when an invariant of a node is broken', async () => {
    const broken: Node = {
      ...receiver(1),
      process: () => IDLE,
      check: () => assert.fail('more bytes in flight than the window'),
    };
    await assert.rejects(simulate([sender(1), broken], OPTIONS), /more bytes in flight/);
  });

  test('is the same for the same seed, and another for another', async () => {
    const run = async (seed: number): Promise<string> => {
      const random = new SeededRandom(seed);
      const last = receiver(100);
      const path = [loss(random, 0.3), duplication(random, 0.2), delay(20, 15, random)];
      await simulate([sender(200, { interval: 1 }), ...path, last], { ...OPTIONS, seed });
      return JSON.stringify(last.got.map(({ number, at }) => [number, at]));
    };
    assert.equal(await run(7), await run(7));
    assert.notEqual(await run(7), await run(8));
  });
});

describe('a path', () => {
  /** What arrives of `count` datagrams, all of which were sent. */
  async function arriving(count: number, path: readonly Node[], send = {}) {
    const source = sender(count, send);
    const last = receiver(0);
    let flying = true;
    const goal: Node = {
      name: 'goal',
      get done() {
        return !flying;
      },
      process: () => IDLE,
    };
    const settle = (): Promise<void> => Promise.resolve();
    // Nothing is left to happen: then everything has arrived that does.
    await assert.rejects(
      simulate([source, ...path, last, goal], { ...OPTIONS, settle }),
      /nothing is left/,
    );
    flying = false;
    return last.got;
  }

  test('loses the share that it is to lose', async () => {
    const got = await arriving(2000, [loss(new SeededRandom(3), 0.25)]);
    assert.ok(got.length > 1400 && got.length < 1600, `${got.length}`);
  });

  test('repeats and corrupts the share that it is to', async () => {
    const random = new SeededRandom(4);
    const twice = await arriving(1000, [duplication(random, 0.1)]);
    assert.ok(twice.length > 1050 && twice.length < 1150, `${twice.length}`);
    const changed = await arriving(1000, [corruption(random, 0.1)], { size: 100 });
    const wrong = changed.filter(({ datagram }, index) => {
      const expected = Buffer.alloc(100);
      expected.writeUInt32BE(index);
      return !expected.equals(datagram.data);
    });
    assert.equal(changed.length, 1000);
    assert.ok(wrong.length > 60 && wrong.length < 140, `${wrong.length}`);
  });

  test('with jitter reorders, without keeps the order', async () => {
    const numbers = async (jitter: number): Promise<number[]> =>
      (await arriving(100, [delay(50, jitter, new SeededRandom(5))], { interval: 1 })).map(
        ({ number }) => number,
      );
    const inOrder = Array.from({ length: 100 }, (_, i) => i);
    assert.deepEqual(await numbers(0), inOrder);
    const reordered = await numbers(20);
    assert.notDeepEqual(reordered, inOrder);
    assert.deepEqual(new Set(reordered), new Set(inOrder));
  });

  test('has a rate, a queue, and drops what does not fit', async () => {
    const narrow = bottleneck(1000, 2000);
    const got = await arriving(30, [narrow], { size: 100 });
    assert.equal(got.length, 20);
    assert.equal(narrow.dropped, 10);
    assert.equal(narrow.peak, 2000);
    assert.deepEqual(
      got.map(({ at }) => Math.round(at)),
      Array.from({ length: 20 }, (_, i) => (i + 1) * 100),
    );
  });

  test('drops what is longer than its MTU, and everything while it is a black hole', async () => {
    assert.equal((await arriving(3, [mtu(99)], { size: 100 })).length, 0);
    assert.equal((await arriving(3, [mtu(100)], { size: 100 })).length, 3);
    const got = await arriving(10, [blackHole(30, 60)], { interval: 10 });
    assert.deepEqual(
      got.map(({ number }) => number),
      [0, 1, 2, 6, 7, 8, 9],
    );
  });

  test('can change the address of a client', async () => {
    const moved = { host: '198.51.100.7', port: 9 };
    const got = await arriving(4, [addressChange(20, moved)], { interval: 10 });
    assert.deepEqual(
      got.map(({ datagram }) => datagram.from),
      [A, A, moved, moved],
    );
  });
});
