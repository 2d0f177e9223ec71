import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  atOnce,
  type Defer,
  type Steps,
  type TurnHandlers,
  TurnLoop,
  Turns,
  TurnShare,
  FLOWS_RESUMED_A_TURN,
  resumedInTurns,
} from '../../../../src/net/time/turns.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

/** A loop whose scheduled turns run when the test says so, and handlers that record what is called. */
class Fixture implements TurnHandlers {
  readonly clock = new ManualClock();
  readonly calls: string[] = [];
  readonly soon: (() => void)[] = [];
  readonly later: (() => void)[] = [];
  readonly loop = new TurnLoop({
    clock: this.clock,
    handlers: this,
    soon: (task) => this.soon.push(task),
    later: (task) => this.later.push(task),
  });
  deadline = Infinity;
  /** Turns that are still needed. */
  left = 0;
  onTurn: () => void = () => undefined;
  onDeadline: () => void = () => {
    this.deadline = Infinity;
  };

  turn(): void {
    this.calls.push('turn');
    if (this.left > 0) this.left--;
    this.onTurn();
  }

  hasMore(): boolean {
    return this.left > 0;
  }

  nextTimeout(): number {
    return this.deadline;
  }

  onTimeout(now: number): void {
    this.calls.push(`timeout at ${now}`);
    this.onDeadline();
  }

  /** Runs what is deferred at this moment. */
  runDeferred(tasks: (() => void)[]): void {
    for (const task of tasks.splice(0)) task();
  }
}

const fail = (): never => {
  throw new Error('the fault');
};

describe('scheduled turns', () => {
  test('run once for any number of calls', () => {
    const fixture = new Fixture();
    for (let call = 0; call < 3; call++) fixture.loop.schedule();
    assert.deepEqual([fixture.soon.length, fixture.calls], [1, []]);
    fixture.runDeferred(fixture.soon);
    fixture.loop.schedule();
    fixture.runDeferred(fixture.soon);
    assert.deepEqual(fixture.calls, ['turn', 'turn']);
  });

  test('are not nested in another one, nor scheduled by it', () => {
    const fixture = new Fixture();
    fixture.onTurn = () => {
      fixture.loop.run();
      fixture.loop.schedule();
    };
    fixture.loop.run();
    assert.deepEqual([fixture.calls, fixture.soon.length], [['turn'], 0]);
  });

  test('run again, later, until nothing is left', () => {
    const fixture = new Fixture();
    fixture.left = 3;
    fixture.loop.run();
    assert.deepEqual([fixture.soon.length, fixture.later.length], [0, 1]);
    // Others take turns between these.
    for (const more of [1, 0]) {
      fixture.runDeferred(fixture.later);
      assert.equal(fixture.later.length, more);
    }
    assert.deepEqual(fixture.calls, ['turn', 'turn', 'turn']);
  });

  test('use the event loop when nothing else is given', async () => {
    const order: string[] = [];
    const work = new Fixture();
    work.left = 2;
    work.onTurn = () => order.push('turn');
    const loop = new TurnLoop({ clock: work.clock, handlers: work });
    loop.schedule();
    order.push('callback');
    await new Promise<void>((resolve) => setImmediate(resolve));
    assert.deepEqual(order, ['callback', 'turn']);
    await new Promise<void>((resolve) => setImmediate(resolve));
    assert.deepEqual(order, ['callback', 'turn', 'turn']);
  });
});

describe('the timer', () => {
  test('is one, for the earliest deadline', () => {
    const fixture = new Fixture();
    for (const deadline of [90, 50, 70, 20.5]) {
      fixture.deadline = deadline;
      fixture.loop.run();
      assert.equal(fixture.clock.timers, 1);
    }
    fixture.calls.length = 0;
    fixture.clock.advance(100);
    assert.deepEqual(fixture.calls, ['timeout at 21', 'turn']);
    assert.equal(fixture.clock.timers, 0);
  });

  test('stays for a deadline that was moved to a later time, and is set again when it fires', () => {
    const fixture = new Fixture();
    fixture.deadline = 50;
    fixture.loop.run();
    fixture.deadline = 80;
    fixture.onDeadline = () => {
      if (fixture.clock.now() >= fixture.deadline) fixture.deadline = Infinity;
    };
    fixture.loop.arm();
    fixture.clock.advance(100);
    assert.deepEqual(fixture.calls, ['turn', 'timeout at 50', 'turn', 'timeout at 80', 'turn']);
  });

  test('is cancelled when there is no deadline', () => {
    const fixture = new Fixture();
    fixture.deadline = 50;
    fixture.loop.arm();
    fixture.deadline = Infinity;
    fixture.loop.arm();
    assert.equal(fixture.clock.timers, 0);
    fixture.deadline = 60;
    fixture.loop.arm();
    fixture.clock.advance(60);
    assert.deepEqual(fixture.calls, ['timeout at 60', 'turn']);
  });

  test('fires once a millisecond for a deadline that is always due', () => {
    const fixture = new Fixture();
    fixture.deadline = 0;
    fixture.onDeadline = () => undefined;
    fixture.loop.run();
    fixture.clock.advance(10);
    assert.equal(fixture.calls.filter((call) => call !== 'turn').length, 10);
  });
});

describe('a turn that throws', () => {
  test('passes its error on, and the next one runs', () => {
    const fixture = new Fixture();
    fixture.onTurn = fail;
    assert.throws(() => fixture.loop.run(), /the fault/);
    fixture.onTurn = () => undefined;
    fixture.loop.run();
    fixture.loop.schedule();
    fixture.runDeferred(fixture.soon);
    assert.deepEqual(fixture.calls, ['turn', 'turn', 'turn']);
  });

  test('was scheduled: another one can be', () => {
    const fixture = new Fixture();
    fixture.onTurn = fail;
    fixture.loop.schedule();
    assert.throws(() => fixture.runDeferred(fixture.soon), /the fault/);
    fixture.loop.schedule();
    assert.equal(fixture.soon.length, 1);
  });

  test('is followed by one for what it left, and by its deadlines', () => {
    const fixture = new Fixture();
    fixture.onTurn = fail;
    fixture.left = 2;
    fixture.deadline = 10;
    assert.throws(() => fixture.loop.run(), /the fault/);
    assert.deepEqual([fixture.later.length, fixture.clock.timers], [1, 1]);
  });

  test('may have been that of a timer, which is set again', () => {
    const fixture = new Fixture();
    fixture.deadline = 10;
    fixture.loop.run();
    fixture.onDeadline = () => {
      fixture.deadline = 30;
      fail();
    };
    assert.throws(() => fixture.clock.advance(10), /the fault/);
    assert.deepEqual(fixture.calls, ['turn', 'timeout at 10', 'turn']);
    fixture.onDeadline = () => {
      fixture.deadline = Infinity;
    };
    fixture.clock.advance(20);
    assert.deepEqual(fixture.calls.slice(3), ['timeout at 30', 'turn']);
  });
});

describe('after a stop', () => {
  test('no turn runs, and no timer is left', () => {
    const fixture = new Fixture();
    fixture.deadline = 10;
    fixture.left = 5;
    fixture.loop.run();
    fixture.loop.schedule();
    fixture.calls.length = 0;
    fixture.loop.stop();
    fixture.loop.stop();
    fixture.runDeferred(fixture.soon);
    fixture.runDeferred(fixture.later);
    fixture.loop.run();
    fixture.loop.schedule();
    fixture.loop.arm();
    fixture.clock.advance(100);
    assert.deepEqual([fixture.calls, fixture.clock.timers], [[], 0]);
    assert.deepEqual([fixture.soon.length, fixture.later.length], [0, 0]);
  });

  test('during a turn nothing follows that turn', () => {
    const fixture = new Fixture();
    fixture.onTurn = () => fixture.loop.stop();
    fixture.left = 5;
    fixture.deadline = 10;
    fixture.loop.run();
    assert.deepEqual([fixture.later.length, fixture.clock.timers], [0, 0]);
  });
});

test('a loop that always has more leaves turns of the event loop to others', async () => {
  const order: string[] = [];
  const fixture = new Fixture();
  const immediate: Defer = (task) => setImmediate(task);
  const loop = new TurnLoop({ clock: fixture.clock, handlers: fixture, later: immediate });
  fixture.left = 4;
  fixture.onTurn = () => order.push('turn');
  loop.run();
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      order.push('other');
      setImmediate(resolve);
    });
  });
  loop.stop();
  assert.deepEqual(order.slice(0, 3), ['turn', 'turn', 'other']);
});

/** Steps of a millisecond each. */
function* work(clock: ManualClock, steps: number, taken: { count: number }): Steps<string> {
  for (; taken.count < steps; taken.count++) {
    clock.advance(1);
    yield;
  }
  return 'result';
}

test('steps run for eight milliseconds in each turn of the event loop', async () => {
  const clock = new ManualClock();
  const taken = { count: 0 };
  const result = new Turns(clock).run(work(clock, 40, taken));
  const counts: number[] = [];
  while (taken.count < 40) {
    counts.push(taken.count);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(await result, 'result');
  // Turns of this test and of the work may fall together in either order.
  const longest = Math.max(...counts.map((count, i) => count - (counts[i - 1] ?? 0)));
  assert.ok(longest <= 16, `${longest} ms at a stretch`);
});

test('an error in a step is that of the run', async () => {
  const failure = new RangeError('no such thing');
  function* failing(): Steps<void> {
    yield;
    throw failure;
  }
  await assert.rejects(new Turns(new ManualClock()).run(failing()), failure);
  assert.throws(() => atOnce(failing()), failure);
});

test('steps may be taken all at once', () => {
  const clock = new ManualClock();
  assert.equal(atOnce(work(clock, 40, { count: 0 })), 'result');
});

/** Turns that the test begins itself. */
function start(limit: number) {
  const scheduled: (() => void)[] = [];
  const share = new TurnShare(limit, (task) => void scheduled.push(task));
  const done: string[] = [];
  const work = async (name: string): Promise<void> => {
    const turn = share.take();
    if (turn) await turn;
    done.push(name);
  };
  const nextTurn = async (): Promise<void> => {
    for (const task of scheduled.splice(0)) task();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { share, scheduled, done, work, nextTurn };
}

describe('the share of a turn', () => {
  test('is used at once, and the rest waits in order for later turns', async () => {
    const { done, work, nextTurn, scheduled } = start(2);
    const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map(work));
    assert.deepEqual(done, ['a', 'b']);
    await nextTurn();
    assert.deepEqual(done, ['a', 'b', 'c', 'd']);
    await nextTurn();
    await all;
    assert.deepEqual(done, ['a', 'b', 'c', 'd', 'e']);
    await nextTurn();
    assert.equal(scheduled.length, 0, 'nothing is scheduled without work');
  });

  test('is whole again after a turn whose share was used in part', async () => {
    const { share, work, nextTurn } = start(3);
    const all = Promise.all(['a', 'b', 'c', 'd'].map(work));
    await nextTurn();
    await all;
    await nextTurn();
    assert.deepEqual(
      Array.from({ length: 4 }, () => share.take() === undefined),
      [true, true, true, false],
    );
  });

  test('of a turn in which others were released does not grow', async () => {
    const { share, work, nextTurn } = start(1);
    void work('a');
    void work('b');
    await nextTurn();
    assert.notEqual(share.take(), undefined, 'b has used this turn');
  });
});

describe('flows that wait for one result', () => {
  const COUNT = 4 * FLOWS_RESUMED_A_TURN;

  for (const outcome of ['arrives', 'fails'] as const) {
    test(`go on in turns, in order, when it ${outcome}`, async () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const order: number[] = [];
      for (let flow = 0; flow < COUNT; flow++) {
        const resumed = resumedInTurns(promise);
        void resumed.catch(() => 'failed').then(() => order.push(flow));
      }
      if (outcome === 'arrives') resolve('it');
      else reject(new Error('refused'));
      let turns = 0;
      for (; order.length < COUNT; turns++) await new Promise(setImmediate);
      assert.ok(turns >= COUNT / FLOWS_RESUMED_A_TURN - 2, `${turns} turns`);
      assert.deepEqual(
        order,
        Array.from({ length: COUNT }, (_, flow) => flow),
      );
    });
  }
});
