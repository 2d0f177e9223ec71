import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { Rounds, STRIDES_A_TURN, writeList } from '../../../../src/api/feeds/slices.ts';
import type { Clock, Timer } from '@weir/io/time';

/** A clock on which work takes time as well: what is due while something works comes after it. */
class WorkClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now;
  }

  get timers(): number {
    return this.#timers.length;
  }

  after(milliseconds: number, callback: () => void): Timer {
    const timer = { at: this.#now + milliseconds, callback };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((other) => other !== timer)) };
  }

  work(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Lets time pass until `end` and runs what falls due. */
  passUntil(end: number): void {
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
    }
    this.#now = Math.max(this.#now, end);
  }
}

/** Rounds over numbered clients, each of which takes `cost` milliseconds. */
function create(clients: readonly number[], cost: number, gatherMs?: number) {
  const clock = new WorkClock();
  const served: { client: number; at: number }[] = [];
  let ended = 0;
  const rounds = new Rounds(
    clock,
    clients,
    (client) => {
      served.push({ client, at: clock.now() });
      clock.work(cost);
    },
    () => void ended++,
    gatherMs,
  );
  return {
    clock,
    rounds,
    served,
    ended: () => ended,
    names: () => served.map(({ client }) => client),
  };
}

describe('rounds over clients', () => {
  test('serve each once, behind what the turn of the event loop still has to do', async () => {
    const { rounds, names, ended } = create([1, 2, 3], 0);
    rounds.request();
    rounds.request();
    assert.deepEqual(names(), []);
    await turn();
    assert.deepEqual([names(), ended()], [[1, 2, 3], 1]);
    await turn();
    assert.equal(names().length, 3);
  });

  test('rest three times as long as they work, and go on where they were', async () => {
    const { clock, rounds, served, names, ended } = create([1, 2, 3, 4, 5], 1);
    rounds.request();
    await turn();
    assert.deepEqual(names(), [1, 2]);
    clock.passUntil(7.9);
    assert.deepEqual(names(), [1, 2]);
    clock.passUntil(8);
    assert.deepEqual(names(), [1, 2, 3, 4]);
    clock.passUntil(16);
    assert.deepEqual(
      served.map(({ at }) => at),
      [0, 1, 8, 9, 16],
    );
    assert.equal(ended(), 1);
  });

  test('asked for in the middle of one, begin again after it', async () => {
    const { clock, rounds, names } = create([1, 2], 2);
    rounds.request();
    await turn();
    assert.deepEqual(names(), [1]);
    rounds.request();
    rounds.request();
    clock.passUntil(8);
    assert.deepEqual(names(), [1, 2]);
    clock.passUntil(16);
    await turn();
    clock.passUntil(24);
    assert.deepEqual(names(), [1, 2, 1, 2]);
    clock.passUntil(1_000);
    await turn();
    assert.equal(names().length, 4);
  });

  test('gather what is requested in a pause after each, unless it is urgent', async () => {
    const { clock, rounds, names } = create([1], 0, 10);
    rounds.request();
    await turn();
    rounds.request();
    await turn();
    clock.passUntil(9);
    assert.deepEqual(names(), [1]);
    clock.passUntil(10);
    assert.deepEqual(names(), [1, 1]);
    rounds.request();
    rounds.request(true);
    await turn();
    assert.deepEqual([names().length, clock.timers], [3, 0]);
    clock.passUntil(100);
    rounds.request();
    await turn();
    assert.equal(names().length, 4, 'at once after a quiet time');
  });

  test('rest for their work even where a request is urgent', async () => {
    const { clock, rounds, names } = create([1], 4, 10);
    rounds.request();
    await turn();
    clock.passUntil(12);
    rounds.request(true);
    await turn();
    assert.equal(names().length, 1);
    clock.passUntil(16);
    await turn();
    assert.equal(names().length, 2);
  });

  test('stop at once, and can be asked for anew', async () => {
    const { clock, rounds, names } = create([1, 2, 3], 2);
    rounds.request();
    rounds.stop();
    await turn();
    assert.deepEqual(names(), []);
    rounds.request();
    await turn();
    rounds.stop();
    clock.passUntil(100);
    assert.deepEqual([names(), clock.timers], [[1], 0]);
    rounds.request();
    await turn();
    assert.deepEqual(names(), [1, 1]);
  });
});

describe('a long list', () => {
  test('is written in pieces, and a hundred at once in as small turns as one', async () => {
    const items = Array.from({ length: 1_000 }, (_, index) => index);
    const LISTS = 100;
    let written = 0;
    const write = (item: number): string => {
      written++;
      return String(item);
    };
    const lists = Array.from({ length: LISTS }, () => writeList(items, write));
    let turns = 0;
    for (let before = 0; written < LISTS * items.length; turns++) {
      await turn();
      assert.ok(written - before <= 2 * STRIDES_A_TURN * 64, `${written - before} in a turn`);
      before = written;
    }
    assert.ok(turns >= (LISTS * items.length) / (STRIDES_A_TURN * 64) - 2, `${turns} turns`);
    for (const pieces of await Promise.all(lists)) {
      assert.equal(Buffer.concat(pieces).toString(), items.join(','));
    }
  });

  test('may be empty, or one item', async () => {
    const write = async (items: readonly number[]): Promise<string> =>
      Buffer.concat(await writeList(items, String)).toString();
    assert.deepEqual([await write([]), await write([7]), await write([7, 8])], ['', '7', '7,8']);
  });
});
