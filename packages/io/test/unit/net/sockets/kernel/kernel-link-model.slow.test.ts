import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { OWNED } from '../../../../../src/net/links/link.ts';
import * as fc from 'fast-check';
import { systemClock } from '../../../../../src/net/time/clock.ts';
import { KernelLink } from '../../../../../src/net/sockets/kernel/kernel-link.ts';
import type { SystemCalls } from '../../../../../src/platform/sockets/bindings.ts';
import { KernelIo } from '../../../../../src/platform/sockets/kernel-io.ts';
import {
  FEW_BYTES,
  type StreamSocket,
} from '../../../../../src/platform/sockets/streams/stream-socket.ts';
import * as linux from '../../../../../src/platform/sockets/linux.ts';
import { setOption } from '../../../../../src/platform/sockets/socket-options.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkedIo,
  noKernelSockets,
  recordingWatchdog,
  socketPair,
} from '../../../../../../../test/support/links/kernel-io.ts';
import { kernelPair } from '../../../../../../../test/support/links/kernel-links.ts';

/**
 * Random interleavings of calls and events on both ends of a real connection, compared with a model
 * that only knows what was written: what is read must be a prefix of it, and all of it after the end.
 */
type Step =
  | { readonly kind: 'write'; readonly side: 0 | 1; readonly size: number; readonly how: 0 | 1 | 2 }
  | { readonly kind: 'read'; readonly side: 0 | 1; readonly back: number }
  | { readonly kind: 'abortRead'; readonly side: 0 | 1; readonly turns: number }
  | { readonly kind: 'closeWrite'; readonly side: 0 | 1 }
  | { readonly kind: 'destroy'; readonly side: 0 | 1; readonly cause: boolean }
  | { readonly kind: 'turn'; readonly count: number };

const side = fc.constantFrom(0 as const, 1 as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      side,
      how: fc.constantFrom(0 as const, 1 as const, 2 as const),
      size: fc.oneof(fc.nat(64), fc.nat(20_000), fc.nat(300_000)),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('read' as const), side, back: fc.nat(40) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('abortRead' as const), side, turns: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('closeWrite' as const), side }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
);
const ending: fc.Arbitrary<readonly Step[]> = fc.oneof(
  { weight: 3, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc
      .record({ kind: fc.constant('destroy' as const), side, cause: fc.boolean() })
      .map((one) => [one]),
  },
);

/** One direction, as the model knows it. */
class Direction {
  /** Bytes that were given to `write`, a counter's worth of pattern. */
  written = 0;
  read = 0;
  closed = false;
  ended = false;

  next(size: number): Buffer {
    const bytes = Buffer.alloc(size);
    for (let i = 0; i < size; i++) bytes[i] = patternAt(this.written + i);
    this.written += size;
    return bytes;
  }

  /** What was read must be what was written at that place. */
  check(chunk: Uint8Array): void {
    assert.ok(this.read + chunk.length <= this.written, 'more was read than written');
    for (let i = 0; i < chunk.length; i++) {
      if (chunk[i] !== patternAt(this.read + i)) assert.fail(`byte ${this.read + i} is wrong`);
    }
    this.read += chunk.length;
  }
}

const patternAt = (index: number): number => (index * 7 + (index >> 8) * 13) & 0xff;

async function run(
  links: readonly [KernelLink, KernelLink],
  steps: readonly Step[],
): Promise<void> {
  // Direction i is what link i writes and the other reads.
  const directions = [new Direction(), new Direction()] as const;
  let destroyed = false;
  const busy: [boolean, boolean] = [false, false];
  const pending: Promise<unknown>[] = [];
  const quiet = (promise: Promise<unknown> | undefined): void => {
    if (promise)
      pending.push(promise.catch((error: unknown) => assert.ok(destroyed, String(error))));
  };
  const readOnce = async (index: 0 | 1, signal?: AbortSignal, back = 0): Promise<boolean> => {
    const direction = directions[1 - index] as Direction;
    busy[index] = true;
    try {
      const chunk = await links[index].read(signal);
      if (chunk === undefined) {
        assert.ok(direction.closed || destroyed, 'an end that was never sent');
        if (!destroyed) assert.equal(direction.read, direction.written);
        direction.ended = true;
        return false;
      }
      const cut = Math.min(back, chunk.length);
      direction.check(chunk.subarray(0, chunk.length - cut));
      links[index].unread(chunk.subarray(chunk.length - cut));
      return true;
    } catch (error) {
      assert.ok(destroyed || signal?.aborted, String(error));
      return false;
    } finally {
      busy[index] = false;
    }
  };

  for (const one of steps) {
    switch (one.kind) {
      case 'write': {
        const direction = directions[one.side];
        if (direction.closed) break;
        const bytes = direction.next(one.size);
        const link = links[one.side];
        if (one.how === 0) quiet(link.write(bytes));
        else if (one.how === 1) quiet(link.write(bytes, OWNED));
        else {
          const third = Math.floor(one.size / 3);
          quiet(link.writeOutput([bytes.subarray(0, third), bytes.subarray(third)]));
        }
        break;
      }
      case 'read':
        if (!busy[one.side]) pending.push(readOnce(one.side, undefined, one.back));
        break;
      case 'abortRead': {
        if (busy[one.side]) break;
        const abort = new AbortController();
        const reading = readOnce(one.side, abort.signal);
        for (let i = 0; i < one.turns; i++) await nextTurn();
        abort.abort(new Error('enough'));
        await reading;
        break;
      }
      case 'closeWrite':
        directions[one.side].closed = true;
        quiet(links[one.side].closeWrite());
        break;
      case 'destroy':
        destroyed = true;
        links[one.side].destroy(one.cause ? new Error('cut') : undefined);
        break;
      case 'turn':
        for (let i = 0; i < one.count; i++) await nextTurn();
        break;
      default:
        one satisfies never;
    }
  }

  // Whatever came before: with both ends closing and reading, everything arrives and both close.
  const finish = async (index: 0 | 1): Promise<void> => {
    directions[index].closed = true;
    quiet(links[index].closeWrite());
    while (busy[index]) await nextTurn();
    while (await readOnce(index));
  };
  await Promise.all([finish(0), finish(1)]);
  await Promise.all(pending);
  if (!destroyed) {
    for (const direction of directions) {
      assert.ok(direction.ended);
      assert.equal(direction.read, direction.written);
    }
  }
  for (const link of links) link.destroy();
  const causes = await Promise.all(links.map(({ closed }) => closed));
  if (!destroyed) assert.deepEqual(causes, [undefined, undefined]);
}

/**
 * The kernel may stop short anywhere without being empty or full, except that a read of a few bytes has emptied
 * the queue (epoll(7)). Lengths are cut by a fixed sequence, so that a counterexample fails again.
 */
function shortCalls(calls: SystemCalls): SystemCalls {
  let state = 1;
  const cut = (length: number): number => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state % 3 === 0 ? 1 + (state % Math.max(length, 1)) : length;
  };
  return {
    ...calls,
    recv: (fd, at, length, flags) =>
      calls.recv(fd, at, Math.max(cut(length), FEW_BYTES + 1), flags),
    send: (fd, at, length, flags) => calls.send(fd, at, Math.min(length, cut(length)), flags),
    sendBytes: (fd, bytes, length, flags) =>
      calls.sendBytes(fd, bytes, Math.min(length, cut(length)), flags),
  };
}

describe('a kernel link under random interleavings', { skip: noKernelSockets }, () => {
  if (noKernelSockets !== false) return;
  const { io, calls } = checkedIo();
  const { watchdog, lost } = recordingWatchdog();
  const short = new KernelIo(shortCalls(calls), systemClock);
  after(() => {
    io.close();
    short.close();
  });

  /** Buffers of a few kilobytes, so that every write meets a full kernel. */
  const shrink = (socket: StreamSocket): void => {
    setOption(io, socket.fd, linux.SOL_SOCKET, linux.SO_SNDBUF, 4096);
    setOption(io, socket.fd, linux.SOL_SOCKET, linux.SO_RCVBUF, 4096);
  };

  for (const [title, make] of [
    ['TCP', () => kernelPair(io, watchdog)],
    ['TCP with calls that stop short', () => kernelPair(short, watchdog)],
    [
      'a unix socket with small buffers',
      () => {
        const sockets = socketPair(io);
        sockets.forEach(shrink);
        const [near, far] = sockets;
        return Promise.resolve([
          new KernelLink(near, watchdog),
          new KernelLink(far, watchdog),
        ] as const);
      },
    ],
  ] as const) {
    test(`loses, repeats and reorders nothing over ${title}, and always ends`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 40, size: 'max' }),
          ending,
          async (steps, last) => {
            await run(await make(), [...steps, ...last]);
            assert.deepEqual(lost, []);
          },
        ),
        { numRuns: Number(process.env['WEIR_MODEL_RUNS'] ?? 150) },
      );
      assert.equal(calls.debug.open().length, 2, 'a descriptor is left open');
      assert.equal(io.poller.size + short.poller.size, 0);
    });
  }
});
