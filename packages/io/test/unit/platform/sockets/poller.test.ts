import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KernelIo } from '../../../../src/platform/sockets/kernel-io.ts';
import { EPOLLET, EPOLLIN, EPOLLOUT } from '../../../../src/platform/sockets/linux.ts';
import { LIGHT_BYTES, Poller, TurnBudget } from '../../../../src/platform/sockets/poller.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkedIo,
  descriptorPair,
  noKernelSockets,
  until,
} from '../../../../../../test/support/links/kernel-io.ts';

const READ = 64 << 10;

/** A budget on a clock, and turns that return how many reads they had. */
function start() {
  let now = 1000;
  let processor = 0;
  const budget = new TurnBudget({ now: () => now, processor: () => processor });
  /** @param milliseconds of work for each read; @param most reads that there are; @param waits for the processor. */
  const turn = (milliseconds: number, most = Infinity, waits = 0): number => {
    let reads = 0;
    budget.begin();
    for (; budget.mayMove && reads < most; reads++) {
      budget.move(READ);
      now += milliseconds;
      processor += milliseconds;
    }
    now += waits;
    budget.end();
    return reads;
  };
  return { budget, turn, pass: (milliseconds: number) => (now += milliseconds) };
}

test('turns move twice as much as the one before while that takes little, up to 4 MB', () => {
  const { turn } = start();
  const reads = Array.from({ length: 7 }, () => turn(1 / 128));
  assert.deepEqual(reads, [2, 4, 8, 16, 32, 64, 64]);
});

test('turns move less once their work has taken too long, and one read at least', () => {
  const { turn } = start();
  for (let i = 0; i < 6; i++) turn(1 / 128);
  assert.equal(turn(2), 64);
  // 128 ms have led to what takes 10.
  assert.equal(turn(2), 5);
  assert.equal(turn(200), 10);
  assert.equal(turn(200), 1);
  assert.equal(turn(200), 1);
  assert.deepEqual([turn(1 / 128), turn(1 / 128), turn(1 / 128)], [1, 2, 4]);
});

test('a turn after quiet ones moves no more than 128 KB', () => {
  const { turn } = start();
  for (let i = 0; i < 6; i++) turn(1 / 128);
  assert.equal(turn(1 / 128, 1), 1);
  assert.equal(turn(1 / 128), 2);
});

test('a turn that waited for the processor is not slow', () => {
  const { turn } = start();
  for (let i = 0; i < 6; i++) turn(1 / 128);
  assert.equal(turn(1 / 128, Infinity, 100), 64);
  assert.equal(turn(1 / 128), 64);
});

test('a slow turn that moved less than a read has no effect', () => {
  const { budget, turn, pass } = start();
  budget.begin();
  budget.move(READ - 1);
  pass(1000);
  budget.end();
  assert.equal(turn(0), 2);
});

/** A socket pair, one end of which is to be watched. */
function watched(io: KernelIo) {
  const [near, far] = descriptorPair(io);
  return {
    near,
    far,
    poke: () => assert.equal(io.calls.send(far, io.scratch.at, 1, 0), 1),
    close: () => [near, far].forEach((fd) => io.calls.close(fd)),
  };
}

describe('the poller', { skip: noKernelSockets }, () => {
  test('reports readiness to the handler of the descriptor', async () => {
    using io = checkedIo().io;
    const pair = watched(io);
    let events = 0;
    const slot = io.poller.add(pair.near, { ready: (bits) => (events |= bits) }, EPOLLIN + EPOLLET);
    await nextTurn();
    assert.equal(events, 0);
    pair.poke();
    await until(() => events !== 0);
    assert.equal(events, EPOLLIN);
    io.poller.remove(slot);
    pair.close();
  });

  test('moves less in a turn once the work of a turn has taken too long', async () => {
    using io = checkedIo().io;
    let now = 0;
    const poller = new Poller(io.calls, new TurnBudget({ now: () => now, processor: () => now }));
    const pair = watched(io);
    const may: boolean[] = [];
    const ready = (): void => {
      poller.moved(100 << 10);
      may.push(poller.mayMove);
      // Work that begins after the handlers of the turn.
      void Promise.resolve().then(() => (now += 100));
    };
    const slot = poller.add(pair.near, { ready }, EPOLLIN + EPOLLET);
    pair.poke();
    await until(() => may.length === 1 && now === 100);
    await nextTurn();
    pair.poke();
    await until(() => may.length === 2);
    assert.deepEqual(may, [true, false]);
    poller.remove(slot);
    poller.close();
    pair.close();
  });

  test('watches for other events when it is asked to', async () => {
    using io = checkedIo().io;
    const pair = watched(io);
    let events = 0;
    const slot = io.poller.add(pair.near, { ready: (bits) => (events |= bits) }, EPOLLIN);
    io.poller.modify(slot, pair.near, EPOLLIN | EPOLLOUT);
    await until(() => events === EPOLLOUT);
    io.poller.remove(slot);
    pair.close();
  });

  test('delivers no event of a registration that was removed, though number and slot are reused', async () => {
    const { io, calls } = checkedIo();
    using _ = io;
    const wrong: string[] = [];
    for (let round = 0; round < 500; round++) {
      const pairs = [watched(io), watched(io)] as const;
      const slots: number[] = [];
      let fresh: ReturnType<typeof watched> | undefined;
      let freshSlot = -1;
      // Both are ready in one batch; whichever handler runs first closes the other's descriptor.
      for (const index of [0, 1] as const) {
        const other = pairs[1 - index] as (typeof pairs)[0];
        const ready = (): void => {
          if (fresh) {
            wrong.push('the handler of a closed descriptor');
            return;
          }
          io.poller.remove(slots[1 - index] as number);
          other.close();
          fresh = watched(io);
          freshSlot = io.poller.add(
            fresh.near,
            { ready: () => wrong.push('the handler of a new one') },
            EPOLLIN + EPOLLET,
          );
          assert.equal(freshSlot, slots[1 - index]);
          io.poller.remove(slots[index] as number);
          pairs[index].close();
        };
        slots.push(io.poller.add(pairs[index].near, { ready }, EPOLLIN + EPOLLET));
      }
      for (const pair of pairs) pair.poke();
      await until(() => fresh !== undefined);
      await nextTurn();
      io.poller.remove(freshSlot);
      fresh?.close();
    }
    assert.deepEqual(wrong, []);
    assert.equal(io.poller.size, 0);
    assert.equal(calls.debug.open().length, 1);
  });

  test('goes on with the events and the work behind a handler that throws', async () => {
    using io = checkedIo().io;
    const thrown: unknown[] = [];
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    try {
      const pairs = [watched(io), watched(io), watched(io), watched(io)];
      const heard = new Set<number>();
      const resumed: number[] = [];
      const slots = pairs.map((pair, index) =>
        io.poller.add(
          pair.near,
          {
            ready: () => {
              heard.add(index);
              throw new Error(`handler ${index}`);
            },
          },
          EPOLLIN + EPOLLET,
        ),
      );
      for (const index of [0, 1, 2]) {
        io.poller.later({
          resume: () => {
            resumed.push(index);
            throw new Error(`work ${index}`);
          },
        });
      }
      for (const pair of pairs) pair.poke();
      await until(() => heard.size === 4 && resumed.length === 3);
      assert.deepEqual(resumed, [0, 1, 2]);
      assert.equal(thrown.length, 7);
      for (const slot of slots) io.poller.remove(slot);
      for (const pair of pairs) pair.close();
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
  });

  test('resumes deferred work in order, and what that defers in the turn after', async () => {
    using io = checkedIo().io;
    const seen: string[] = [];
    const { poller } = io;
    const first = poller.turn;
    poller.later({
      resume: () => {
        seen.push(`a ${poller.turn - first}`);
        poller.later({ resume: () => seen.push(`c ${poller.turn - first}`) });
      },
    });
    poller.later({ resume: () => seen.push(`b ${poller.turn - first}`) });
    await until(() => seen.length === 3);
    assert.deepEqual(seen, ['a 1', 'b 1', 'c 2']);
  });

  test('gives every turn a bounded number of bytes', async () => {
    using io = checkedIo().io;
    assert.ok(io.poller.mayMove);
    io.poller.moved(1 << 30);
    assert.ok(!io.poller.mayMove);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    io.poller.later({ resume: () => resolve(io.poller.mayMove) });
    assert.ok(await promise);
  });

  test('lets those that a full turn left out go first in the next one', async () => {
    using io = checkedIo().io;
    const { poller } = io;
    const served: string[] = [];
    const start = (name: string): void => {
      const work = {
        resume: () => {
          if (served.length >= 6) return;
          // As a pump does: each would take the whole turn, and wants another.
          if (poller.mayMove) {
            served.push(name);
            poller.moved(1 << 30);
          }
          poller.later(work);
        },
      };
      poller.later(work);
    };
    for (const name of ['a', 'b', 'c']) start(name);
    await until(() => served.length === 6);
    assert.deepEqual(served, ['a', 'b', 'c', 'a', 'b', 'c']);
  });

  test('serves those with little to move before those that always have more, which go on', async () => {
    using io = checkedIo().io;
    const { poller } = io;
    const turns = { light: [] as number[], heavy: 0 };
    const HEAVY = 50;
    const ROUNDS = 20;
    let asked = 0;
    for (let i = 0; i < HEAVY; i++) {
      const work = {
        resume: () => {
          if (turns.light.length === ROUNDS) return;
          if (poller.mayMove) {
            turns.heavy++;
            poller.moved(1 << 20);
          }
          poller.later(work, LIGHT_BYTES);
        },
      };
      poller.later(work, LIGHT_BYTES);
    }
    const echo = {
      resume: () => {
        turns.light.push(poller.turn - asked);
        poller.moved(1);
        ask();
      },
    };
    const ask = (): void => {
      asked = poller.turn;
      if (turns.light.length < ROUNDS) poller.later(echo, 1);
    };
    ask();
    await until(() => turns.light.length === ROUNDS);
    assert.deepEqual(new Set(turns.light), new Set([1]), 'a turn, not a round of all');
    assert.ok(turns.heavy >= ROUNDS - 1, `${turns.heavy} turns of the others`);
  });

  test('says nothing any more once it is closed, and may be closed twice', async () => {
    const { io, calls } = checkedIo();
    const pair = watched(io);
    let heard = 0;
    const slot = io.poller.add(pair.near, { ready: () => heard++ }, EPOLLIN);
    pair.poke();
    io.close();
    io.close();
    await nextTurn();
    await nextTurn();
    assert.equal(heard, 0);
    io.poller.remove(slot);
    io.poller.remove(slot);
    pair.close();
    assert.deepEqual(calls.debug.open(), []);
  });

  test('leaves no listener on the process', () => {
    const before = process.listenerCount('exit');
    const { io } = checkedIo();
    io.close();
    assert.equal(process.listenerCount('exit'), before);
  });
});
