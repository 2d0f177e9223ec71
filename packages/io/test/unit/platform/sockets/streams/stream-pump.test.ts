import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openSystemCalls } from '../../../../../src/platform/sockets/bindings.ts';
import { checkCalls } from '../../../../../src/platform/sockets/probe.ts';
import { KernelIo } from '../../../../../src/platform/sockets/kernel-io.ts';
import { F_GETPIPE_SZ, F_SETPIPE_SZ } from '../../../../../src/platform/sockets/linux.ts';
import { PipePool, type Pipe } from '../../../../../src/platform/sockets/streams/pipe-pool.ts';
import { StreamPump } from '../../../../../src/platform/sockets/streams/stream-pump.ts';
import {
  AGAIN,
  type StreamSocket,
} from '../../../../../src/platform/sockets/streams/stream-socket.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkedIo,
  interrupted,
  noKernelSockets,
  socketPair,
} from '../../../../../../../test/support/links/kernel-io.ts';
import { BudgetGate } from '../../../../../../../test/support/links/budget-gate.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

/** Bytes that differ at every position of a few kilobytes. */
const pattern = (length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 9)) & 0xff;
  return bytes;
};

/** A pump between two socket pairs: what `source` sends, `drain` receives. */
function pumped(io: KernelIo, gate?: BudgetGate) {
  const [source, from] = socketPair(io);
  const [to, drain] = socketPair(io);
  const seen = { moved: 0, reports: 0, ended: false, failures: [] as string[] };
  const pump = new StreamPump(from, to, {
    gate,
    moved: (bytes) => {
      if (gate) gate.left -= bytes;
      seen.moved += bytes;
      seen.reports++;
    },
    ended: () => (seen.ended = true),
    failed: (side, { code }) => seen.failures.push(`${side} ${code}`),
  });
  from.owner = { onReady: () => pump.pump() };
  to.owner = { onReady: () => pump.pump() };
  const close = (): void => {
    pump.stop();
    for (const socket of [source, from, to, drain]) socket.close();
  };
  return { source, from, to, drain, pump, seen, close };
}

/** Sends everything and the end, and receives until the end; as the sockets allow. */
async function transfer(
  source: StreamSocket,
  drain: StreamSocket,
  bytes: Buffer,
  over: () => boolean,
) {
  const got: Buffer[] = [];
  let sent = 0;
  for (;;) {
    if (sent < bytes.length) sent += Math.max(0, source.send(bytes.subarray(sent, sent + 50_000)));
    if (sent === bytes.length) {
      source.shutdown();
      sent++;
    }
    const count = drain.receive();
    if (count > 0) got.push(Buffer.from(drain.io.scratch.bytes.subarray(0, count)));
    else if (over() && drain.unread() === 0) return Buffer.concat(got);
    await nextTurn();
  }
}

describe('a pump between two sockets', { skip: noKernelSockets }, () => {
  for (const length of [0, 1, 1000, 300_000, 5_000_000]) {
    test(`moves ${length} bytes and the end`, async (t) => {
      const { io, calls } = checkedIo();
      using _ = io;
      const flow = pumped(io);
      const { mock } = t.mock.method(flow.to, 'sent');
      const bytes = pattern(length);
      flow.pump.pump();
      const got = await transfer(flow.source, flow.drain, bytes, () => flow.seen.ended);
      assert.ok(got.equals(bytes));
      assert.equal(flow.seen.moved, length);
      const counted = mock.calls.reduce((sum, call) => sum + (call.arguments[0] ?? 0), 0);
      assert.equal(counted, length);
      assert.equal(io.pipes.size > 0, length > 262_144);
      flow.close();
      io.pipes.close();
      // Nothing is left but epoll.
      assert.equal(calls.debug.open().length, 1);
    });
  }

  test('repeats each call that a signal interrupts', async () => {
    const { calls, interruptions } = interrupted(checkCalls(openSystemCalls()));
    using io = new KernelIo(calls, new ManualClock());
    const flow = pumped(io);
    const bytes = pattern(2_000_000);
    flow.pump.pump();
    const got = await transfer(flow.source, flow.drain, bytes, () => flow.seen.ended);
    assert.ok(got.equals(bytes));
    assert.deepEqual(flow.seen.failures, []);
    for (const name of ['recv', 'send', 'sendBytes', 'splice'] as const) {
      assert.ok((interruptions.get(name) ?? 0) > 0, name);
    }
    flow.close();
  });

  test('copies where there are no pipes', async () => {
    const checked = checkCalls(openSystemCalls());
    using io = new KernelIo({ ...checked, pipe2: () => -1 }, new ManualClock());
    const flow = pumped(io);
    const bytes = pattern(2_000_000);
    flow.pump.pump();
    const got = await transfer(flow.source, flow.drain, bytes, () => flow.seen.ended);
    assert.ok(got.equals(bytes));
    flow.close();
  });

  test('copies where the kernel splices no such sockets', async () => {
    const checked = checkCalls(openSystemCalls());
    let refused = false;
    using io = new KernelIo(
      {
        ...checked,
        splice: () => {
          refused = true;
          return -1;
        },
        errno: () => {
          const number = refused ? 22 : checked.errno();
          refused = false;
          return number;
        },
      },
      new ManualClock(),
    );
    const flow = pumped(io);
    const bytes = pattern(2_000_000);
    flow.pump.pump();
    const got = await transfer(flow.source, flow.drain, bytes, () => flow.seen.ended);
    assert.ok(got.equals(bytes));
    flow.close();
  });

  test('copies the messages that follow bulk, with one receive and one send each', async () => {
    const checked = checkCalls(openSystemCalls());
    let splices = 0;
    using io = new KernelIo(
      { ...checked, splice: (...all) => (splices++, checked.splice(...all)) },
      new ManualClock(),
    );
    const flow = pumped(io);
    flow.pump.pump();
    const exchange = async (bytes: Buffer): Promise<void> => {
      for (let sent = 0, got = 0; got < bytes.length;) {
        sent += Math.max(0, flow.source.send(bytes.subarray(sent)));
        got += Math.max(0, flow.drain.receive());
        await nextTurn();
      }
    };
    await exchange(pattern(2_000_000));
    assert.ok(splices > 0);
    // The first one is what shows that there is no more bulk.
    await exchange(pattern(1000));
    const before = splices;
    for (let i = 0; i < 5; i++) await exchange(pattern(1000));
    assert.equal(splices, before);
    flow.close();
  });

  test('holds the source back while the destination takes nothing', async () => {
    using io = checkedIo().io;
    const flow = pumped(io);
    flow.pump.pump();
    const block = Buffer.alloc(65_536);
    let sent = 0;
    for (let idle = 0; idle < 50; idle++) {
      const count = flow.source.send(block);
      if (count > 0) {
        sent += count;
        idle = 0;
      }
      await nextTurn();
    }
    assert.ok(sent < 16 << 20);
    assert.ok(!flow.pump.isWaiting);
    flow.close();
  });

  test('holds no pipe while the flow is idle', async () => {
    using io = checkedIo().io;
    const flow = pumped(io);
    flow.pump.pump();
    const bytes = pattern(600_000);
    for (let sent = 0, got = 0; got < bytes.length;) {
      sent += Math.max(0, flow.source.send(bytes.subarray(sent)));
      got += Math.max(0, flow.drain.receive());
      await nextTurn();
    }
    assert.ok(flow.pump.isWaiting);
    const free: Pipe[] = [];
    const before = io.pipes.size;
    assert.equal(before, 1);
    for (let i = 0; i < before; i++) free.push(io.pipes.take() as Pipe);
    assert.equal(io.pipes.size, before);
    for (const pipe of free) io.pipes.give(pipe);
    flow.close();
  });

  test('drops a pipe that still holds bytes when it is stopped', async () => {
    const { io, calls } = checkedIo();
    using _ = io;
    const flow = pumped(io);
    flow.pump.pump();
    const block = Buffer.alloc(65_536);
    // Past the point where it is worth a pipe, the drain takes no more.
    for (let idle = 0; idle < 50; idle++) {
      if (flow.source.send(block) > 0) idle = 0;
      if (flow.seen.moved < 400_000) flow.drain.receive();
      await nextTurn();
    }
    assert.equal(io.pipes.size, 1);
    flow.close();
    assert.equal(io.pipes.size, 0);
    assert.equal(calls.debug.open().length, 1);
  });

  test('says which side failed', async () => {
    using io = checkedIo().io;
    const flow = pumped(io);
    flow.drain.close();
    flow.source.send(Buffer.from('x'));
    flow.pump.pump();
    while (flow.seen.failures.length === 0) await nextTurn();
    assert.deepEqual(flow.seen.failures, ['to EPIPE']);
    flow.close();
  });

  test('reports nothing any more once it is stopped', async () => {
    using io = checkedIo().io;
    const flow = pumped(io);
    flow.pump.pump();
    flow.pump.stop();
    flow.source.send(Buffer.from('x'));
    flow.source.shutdown();
    await nextTurn();
    await nextTurn();
    assert.deepEqual(flow.seen, { moved: 0, reports: 0, ended: false, failures: [] });
    assert.equal(flow.drain.receive(), AGAIN);
    flow.close();
  });
});

describe('the pool of pipes', { skip: noKernelSockets }, () => {
  for (const { user, isRoot, large } of [
    { user: 'root', isRoot: true, large: 128 },
    { user: 'another user', isRoot: false, large: 32 },
  ]) {
    test(`opens 128 at most, ${large} large ones for ${user}, and takes them back`, () => {
      const calls = checkCalls(openSystemCalls());
      const asked: number[] = [];
      // The kernel may grant this process less than is asked for.
      const granting = (fd: number, command: number, argument: number): number => {
        if (command === F_SETPIPE_SZ) return asked.push(argument);
        return command === F_GETPIPE_SZ ? (asked.at(-1) ?? 0) : calls.fcntl(fd, command, argument);
      };
      const pool = new PipePool({ ...calls, fcntl: granting }, new ManualClock(), isRoot);
      const pipes: Pipe[] = [];
      for (let pipe = pool.take(); pipe; pipe = pool.take()) pipes.push(pipe);
      assert.equal(pipes.length, 128);
      assert.ok(pipes.every(({ size }, index) => size === (index < large ? 1 << 20 : 256 << 10)));
      pool.give(pipes.pop() as Pipe);
      assert.ok(pool.take());
      for (const pipe of pipes) pool.discard(pipe);
      pool.close();
    });
  }

  test('makes do with smaller ones where a root without privileges is refused large ones', () => {
    const calls = checkCalls(openSystemCalls());
    let size = 65_536;
    const refusing = (fd: number, command: number, argument: number): number => {
      if (command === F_GETPIPE_SZ) return size;
      if (command !== F_SETPIPE_SZ) return calls.fcntl(fd, command, argument);
      return argument > 256 << 10 ? -1 : (size = argument);
    };
    const pool = new PipePool({ ...calls, fcntl: refusing }, new ManualClock(), true);
    const pipe = pool.take();
    assert.ok(pipe);
    assert.equal(pipe.size, 256 << 10);
    pool.discard(pipe);
    pool.close();
  });

  test('closes those that were idle for a whole period, and asks again after a refusal', () => {
    const calls = checkCalls(openSystemCalls());
    const clock = new ManualClock();
    let refuse = false;
    const pool = new PipePool(
      { ...calls, pipe2: (...all) => (refuse ? -1 : calls.pipe2(...all)) },
      clock,
    );
    const [a, b] = [pool.take(), pool.take()] as [Pipe, Pipe];
    pool.give(a);
    pool.give(b);
    clock.advance(5_000);
    assert.equal(pool.size, 2);
    pool.give(pool.take() as Pipe);
    clock.advance(5_000);
    assert.equal(pool.size, 1);
    clock.advance(5_000);
    assert.equal(pool.size, 0);
    assert.deepEqual(calls.debug.open(), []);
    assert.equal(clock.timers, 0);
    refuse = true;
    assert.equal(pool.take(), undefined);
    refuse = false;
    assert.equal(pool.take(), undefined);
    clock.advance(5_000);
    assert.ok(pool.take());
    pool.close();
  });

  for (const { system, of16, of64 } of [
    { system: Infinity, of16: 2 << 20, of64: 512 << 10 },
    { system: 1 << 20, of16: 0, of64: 512 << 10 },
    { system: 128 << 10, of16: 0, of64: 0 },
  ]) {
    test(`divides what may wait unsent once there are many, where the system allows ${system}`, () => {
      const calls = checkCalls(openSystemCalls());
      const pool = new PipePool(calls, new ManualClock(), true, () => true, system);
      const pipes: Pipe[] = [];
      const unsentOf = (count: number): number => {
        while (pipes.length < count) pipes.push(pool.take() as Pipe);
        for (const pipe of pipes.splice(count)) pool.discard(pipe);
        return pool.unsentBytes;
      };
      assert.deepEqual([15, 16, 64, 15].map(unsentOf), [0, of16, of64, 0]);
      unsentOf(0);
      pool.close();
    });
  }

  test('refuses pipes that are too small to pay', () => {
    const calls = checkCalls(openSystemCalls());
    const small = (fd: number, command: number, argument: number): number =>
      command === 1032 ? 8192 : calls.fcntl(fd, command, argument);
    const pool = new PipePool({ ...calls, fcntl: small }, new ManualClock());
    assert.equal(pool.take(), undefined);
    assert.deepEqual(calls.debug.open(), []);
    pool.close();
  });
});

describe('a pump with a gate', { skip: noKernelSockets }, () => {
  test('moves exactly what it allows, by copying and by splicing', async () => {
    const { io } = checkedIo();
    using _ = io;
    const gate = new BudgetGate(1000);
    const flow = pumped(io, gate);
    const bytes = pattern(3_000_000);
    const limits = [1000, 100_000, 300_001, 1_234_567, bytes.length];
    let next = 0;
    flow.pump.pump();
    const over = (): boolean => {
      const reached = limits[next] ?? 0;
      assert.ok(flow.seen.moved <= reached, `${flow.seen.moved} of ${reached}`);
      if (flow.seen.moved < reached) return false;
      if (reached === bytes.length) return flow.seen.ended;
      assert.equal(gate.waiters.size, 1);
      assert.equal(flow.pump.isWaiting, false);
      next++;
      // One byte more at the end: without it the end of the stream would not be read.
      gate.grant((limits[next] ?? 0) - reached + (next === limits.length - 1 ? 1 : 0));
      return false;
    };
    const got = await transfer(flow.source, flow.drain, bytes, over);
    assert.ok(got.equals(bytes));
    flow.close();
    io.pipes.close();
  });

  test('receives no more than may be sent, so that a flow that waits keeps nothing in memory', async () => {
    const { io } = checkedIo();
    using _ = io;
    const gate = new BudgetGate(1000);
    const flow = pumped(io, gate);
    const bytes = pattern(50_000);
    while (flow.source.send(bytes) !== bytes.length) await nextTurn();
    flow.pump.pump();
    while (gate.waiters.size === 0) await nextTurn();
    assert.equal(flow.from.unread(), 49_000);
    gate.grant(500);
    gate.grant(500);
    assert.equal(flow.from.unread(), 48_000);
    assert.equal(flow.seen.moved, 2000);
    flow.close();
    io.pipes.close();
  });

  test('holds no pipe while it waits, and leaves the gate when it is stopped', async () => {
    const { io } = checkedIo();
    using _ = io;
    const gate = new BudgetGate(700_000);
    const flow = pumped(io, gate);
    flow.pump.pump();
    const bytes = pattern(1_000_000);
    const done = new AbortController();
    void transfer(flow.source, flow.drain, bytes, () => done.signal.aborted).catch(() => undefined);
    while (gate.waiters.size === 0) await nextTurn();
    assert.equal(flow.seen.moved, 700_000);
    assert.ok(io.pipes.size > 0);
    flow.pump.stop();
    assert.equal(gate.waiters.size, 0);
    done.abort();
    await nextTurn();
    flow.close();
    io.pipes.close();
  });
});
