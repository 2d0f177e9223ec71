import { transmit } from '../../../../conformance/datagram-socket.ts';
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type DatagramHandlers, type DatagramSocketOptions, toEndpoint } from '@weir/base/ip';
import { systemClock } from '../../../../../src/net/time/clock.ts';
import type { SystemCalls } from '../../../../../src/platform/sockets/bindings.ts';
import { KernelDatagramSocket } from '../../../../../src/platform/sockets/datagrams/kernel-datagram-socket.ts';
import { KernelIo } from '../../../../../src/platform/sockets/kernel-io.ts';
import * as linux from '../../../../../src/platform/sockets/linux.ts';
import type { NativeMemory } from '../../../../../src/platform/native-memory.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkedIo,
  interrupted,
  noKernelSockets,
  until,
} from '../../../../../../../test/support/links/kernel-io.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';

const LOOPBACK = toEndpoint('127.0.0.1', 0) ?? assert.fail();

const RESULT = { sentBytes: 0, full: false, tooLarge: 0, firstTooLarge: -1 };

describe('a datagram socket of the kernel', { skip: noKernelSockets }, () => {
  if (noKernelSockets !== false) return;
  const { io, calls } = checkedIo();
  after(() => {
    assert.equal(io.poller.size, 0);
    assert.equal(calls.debug.open().length, 1, 'a descriptor is left open');
    io.close();
  });

  const open = (
    options: Partial<DatagramSocketOptions & DatagramHandlers> = {},
    use: KernelIo = io,
  ) => {
    const got: Buffer[] = [];
    const socket = new KernelDatagramSocket(
      use,
      { local: LOOPBACK, receiveBuffer: 1 << 20, ...options },
      {
        onDatagrams: ({ buffer, offset, length, stride }) => {
          for (let at = 0; at < length; at += stride) {
            const end = offset + Math.min(length, at + stride);
            got.push(Buffer.from(buffer.subarray(offset + at, end)));
          }
        },
        ...options,
      },
    );
    return { socket, got, [Symbol.dispose]: () => socket.close() };
  };

  /**
   * Kernel sockets whose sends fail as `refuse` says: it gets the datagrams of each message of a
   * call, and returns the error for the first one, or 0.
   */
  const refusing = (refuse: (segments: boolean) => number): KernelIo => {
    let error = 0;
    const faulty: SystemCalls = {
      ...calls,
      sendmmsg: (fd, at, count, flags) => {
        // A message with a control message has segments here.
        const words = batchWords.get(at);
        const hasControl = words !== undefined && words() !== 0;
        error = refuse(hasControl);
        // One message a call, so that each is asked about.
        return error === 0 ? calls.sendmmsg(fd, at, Math.min(count, 1), flags) : -1;
      },
      errno: () => {
        const own = error;
        error = 0;
        return own === 0 ? calls.errno() : own;
      },
      memory: (size) => {
        const memory = calls.memory(size);
        for (let word = 0; word + 10 < memory.words.length; word += 16) {
          batchWords.set(memory.at + word * 4, () => memory.words[word + 10] ?? 0);
        }
        return memory;
      },
    };
    /** The length of the control messages of a `mmsghdr`, by its address. */
    const batchWords = new Map<number, () => number>();
    return new KernelIo(faulty, systemClock);
  };

  test('loses no datagram to a signal', async () => {
    const signalled = interrupted(calls);
    using other = new KernelIo(signalled.calls, systemClock);
    using to = open({}, other);
    using from = open({}, other);
    const sent = ['one', 'two', 'three'].map((text) => Buffer.from(text));
    for (const bytes of sent) from.socket.send([transmit(to.socket.local, bytes)]);
    await until(() => to.got.length === sent.length);
    assert.deepEqual(to.got, sent);
    assert.equal(from.socket.dropped, 0);
    assert.ok((signalled.interruptions.get('sendmmsg') ?? 0) > 0);
  });

  test('is not opened at a port that it cannot find out', () => {
    const isOpen = calls.debug.open().length;
    using other = new KernelIo({ ...calls, getsockname: () => -1 }, systemClock);
    assert.throws(() => open({}, other), { syscall: 'getsockname' });
    other.close();
    assert.equal(calls.debug.open().length, isOpen);
  });

  test('has all features on this kernel, as far as they are asked for', () => {
    using plain = open();
    assert.deepEqual(plain.socket.features, {
      segmentation: true,
      coalescing: false,
      ownAddress: false,
      ecn: false,
      dontFragment: false,
      overflow: true,
    });
    for (const host of ['127.0.0.1', '::']) {
      const local = toEndpoint(host, 0) ?? assert.fail();
      using all = open({ local, details: true, coalesce: true, dontFragment: true });
      assert.deepEqual(new Set(Object.values(all.socket.features)), new Set([true]));
    }
  });

  test('datagrams that follow each other to one peer leave with one message', async () => {
    let messages = 0;
    using own = refusing(() => (messages++, 0));
    using near = open({}, own);
    using far = open({}, own);
    const data = Buffer.alloc(1200, 1);
    const send = (lengths: readonly number[]): void => {
      messages = 0;
      const to = far.socket.local;
      near.socket.send(lengths.map((length) => transmit({ ...to }, data, { length })));
    };
    const all: number[] = [];
    for (const [lengths, expected] of [
      [[500, 500, 500, 20], 1],
      [[20, 500, 500], 2],
      [[500, 20, 500, 0, 0], 4],
      [Array.from({ length: 65 }, () => 8), 2],
      [Array.from({ length: 55 }, () => 1200), 2],
    ] as const) {
      send(lengths);
      assert.equal(messages, expected);
      all.push(...lengths);
      await until(() => far.got.length >= all.filter((length) => length > 0).length);
    }
    assert.deepEqual(
      far.got.map(({ length }) => length),
      all.filter((length) => length > 0),
    );
  });

  test('what waits for room is sent after a while when no event can be asked for', async () => {
    const clock = new ManualClock();
    let full = true;
    using own = new KernelIo(
      {
        ...calls,
        sendmmsg: (...all) => (full ? -1 : calls.sendmmsg(...all)),
        epollCtl: (...all) =>
          full && all[1] === linux.EPOLL_CTL_MOD ? -1 : calls.epollCtl(...all),
        errno: () => (full ? linux.EAGAIN : calls.errno()),
      },
      clock,
    );
    let writable = 0;
    using near = open({ onWritable: () => writable++ }, own);
    using far = open();
    const datagram = transmit(far.socket.local, Buffer.from('late'));
    assert.equal(near.socket.send([datagram]).full, true);
    full = false;
    clock.advance(20);
    assert.equal(writable, 1);
    assert.equal(near.socket.send([datagram]).full, false);
    await until(() => far.got.length === 1);
    assert.equal(clock.timers, 0);
  });

  for (const error of [linux.EIO, linux.EINVAL]) {
    test(`segments go one by one for good after the error ${error} that blames the offload`, async () => {
      let refusals = 0;
      // Stands for a device without checksum offload: buffers of segments are refused.
      using own = refusing((segments) => (segments ? (refusals++, error) : 0));
      using near = open({}, own);
      using far = open({}, own);
      const data = Buffer.alloc(2500, 1);
      for (let round = 1; round <= 2; round++) {
        const to = far.socket.local;
        const result = near.socket.send([
          transmit(to, data, { segmentSize: 1000 }),
          transmit(to, data, { length: 10 }),
          transmit(to, data, { length: 10 }),
        ]);
        assert.deepEqual({ ...result }, { ...RESULT, done: 3 });
        await until(() => far.got.length === 5 * round);
      }
      assert.equal(refusals, 1);
      assert.equal(near.socket.features.segmentation, false);
      assert.equal(near.socket.dropped, 0);
      assert.deepEqual(
        far.got.slice(5).map(({ length }) => length),
        [1000, 1000, 500, 10, 10],
      );
    });
  }

  for (const error of [linux.EMSGSIZE, linux.EINVAL]) {
    test(`segments beyond the MTU (error ${error}) are reported, and the offload stays`, async () => {
      let refused = 0;
      using own = refusing((segments) => {
        if (refused === 3) return 0;
        refused++;
        return segments ? error : linux.EMSGSIZE;
      });
      using near = open({}, own);
      using far = open({}, own);
      const data = Buffer.alloc(3000, 1);
      // Refused together, then the first two of three one by one.
      const result = near.socket.send([
        transmit(far.socket.local, data, { segmentSize: 1400 }),
        transmit(far.socket.local, data, { length: 7 }),
      ]);
      assert.deepEqual({ ...result }, { ...RESULT, done: 2, tooLarge: 1, firstTooLarge: 0 });
      await until(() => far.got.length === 2);
      assert.deepEqual(
        far.got.map(({ length }) => length),
        [200, 7],
      );
      assert.equal(near.socket.dropped, 2);
      assert.equal(near.socket.features.segmentation, true);
    });
  }

  test('joined datagrams that are refused together are sent one by one', async () => {
    let refused = false;
    using own = refusing((segments) => {
      if (!segments || refused) return 0;
      refused = true;
      return linux.EMSGSIZE;
    });
    using near = open({}, own);
    using far = open({}, own);
    const data = Buffer.from('abcdef');
    const to = far.socket.local;
    const run = [0, 1, 2, 3].map((offset) => transmit(to, data, { offset, length: 2 }));
    assert.equal(near.socket.send(run).done, 4);
    await until(() => far.got.length === 4);
    assert.equal(far.got.join(), 'ab,bc,cd,de');
  });

  test('a full buffer is reported with the place to go on from, and so is room', async () => {
    let room = 0;
    let writable = 0;
    using own = refusing(() => (room-- > 0 ? 0 : linux.EAGAIN));
    const onWritable = (): void => void writable++;
    using near = open({ onWritable }, own);
    using far = open({}, own);
    const data = Buffer.alloc(100_000);
    data.forEach((_, index) => (data[index] = (index / 1000) & 0xff));
    const transmits = [
      transmit(far.socket.local, data, { length: 3 }),
      transmit(far.socket.local, data, { segmentSize: 1000 }),
    ];
    room = 2;
    let result = near.socket.send(transmits);
    // The first message of segments holds 64 of them.
    assert.deepEqual({ ...result }, { ...RESULT, done: 1, sentBytes: 64_000, full: true });
    assert.equal(near.socket.send(transmits.slice(1), 1, result.sentBytes).full, true);
    await until(() => writable === 1);
    room = 1;
    result = near.socket.send(transmits.slice(1), 1, 64_000);
    assert.deepEqual({ ...result }, { ...RESULT, done: 1 });
    await until(() => far.got.length === 101);
    far.got.slice(1).forEach((datagram, index) => {
      assert.ok(datagram.equals(data.subarray(index * 1000, index * 1000 + 1000)));
    });
    await nextTurn();
    assert.equal(writable, 1);
  });

  test('bytes leave from where they lie, whatever buffer holds them', async () => {
    using near = open();
    using far = open();
    const sent = [
      Uint8Array.of(1, 2, 3), // on the heap
      Buffer.from('in the pool'),
      new Uint8Array(new SharedArrayBuffer(8)).fill(4),
      new Uint8Array(new ArrayBuffer(1 << 20), 1000, 9).fill(5),
    ];
    for (let round = 0; round < 50; round++) {
      near.socket.send(sent.map((data) => transmit(far.socket.local, data)));
      await until(() => far.got.length === sent.length * (round + 1));
    }
    far.got.forEach((data, index) => assert.deepEqual([...data], [...(sent[index % 4] ?? [])]));
  });

  test('datagrams that a full queue dropped are counted', async () => {
    using near = open();
    using far = open({ receiveBuffer: 4096 });
    const data = Buffer.alloc(1000);
    const to = far.socket.local;
    // Each ahead of a shorter one, so that they do not share a message.
    const lengths = Array.from({ length: 64 }, (_, index) => 500 + index);
    near.socket.send(lengths.map((length) => transmit(to, data, { length })));
    await until(() => far.got.length > 0);
    // The counter comes with the next datagram.
    near.socket.send([transmit(to, data)]);
    await until(() => far.socket.overflowed > 0);
    await nextTurn();
    assert.equal(far.socket.overflowed + far.got.length, 65);
  });

  test('large datagrams that never end take their share of a turn', async () => {
    const memories: NativeMemory[] = [];
    const wordsAt = (at: number): Uint32Array => {
      const memory = memories.find((each) => at >= each.at && at < each.at + each.bytes.length);
      assert.ok(memory);
      return memory.words.subarray((at - memory.at) / 4);
    };
    let batches = 0;
    using own = new KernelIo(
      {
        ...calls,
        memory: (size) => {
          const memory = calls.memory(size);
          memories.push(memory);
          return memory;
        },
        // Full batches of 60,000 bytes a message, from 0.0.0.0.
        recvmmsg: (_fd, messages, count) => {
          batches++;
          for (let i = 0; i < count; i++) {
            const message = wordsAt(messages + i * 64);
            const [low = 0, high = 0] = message;
            wordsAt(low + high * 2 ** 32)[0] = linux.AF_INET;
            message[10] = 0;
            message[14] = 60_000;
          }
          return count;
        },
      },
      systemClock,
    );
    using far = open({ onDatagrams: () => undefined, onDrained: () => far.socket.close() }, own);
    using near = open();
    near.socket.send([transmit(far.socket.local, Buffer.of(1))]);
    await far.socket.closed;
    assert.equal(batches, 1, '3.8 MB, where all sockets may move 128 KB');
  });

  test('sockets that a turn has no share for receive in the next ones, one after the other', async () => {
    const { poller } = io;
    const SOCKETS = 4;
    const turns: number[] = [];
    const drained: number[] = [];
    using sender = open();
    using parts = new DisposableStack();
    for (let i = 0; i < SOCKETS; i++) {
      const { socket } = parts.use(
        open({
          onDatagrams: () => {
            turns.push(poller.turn);
            // As datagrams whose work takes the whole turn.
            poller.moved(1 << 30);
          },
          onDrained: () => drained.push(i),
        }),
      );
      sender.socket.send([transmit(socket.local, Buffer.of(1))]);
    }
    await until(() => turns.length >= SOCKETS);
    assert.equal(new Set(turns).size, SOCKETS, `turns ${turns.join(', ')}`);
    assert.deepEqual(new Set(drained), new Set([0, 1, 2, 3]));
  });

  test('a socket may be closed while it waits for its turn', async () => {
    const got: string[] = [];
    using sender = open();
    using parts = new DisposableStack();
    const onDatagrams = (): void => {
      got.push('first');
      io.poller.moved(1 << 30);
    };
    const sockets = [1, 2].map(() => parts.use(open({ onDatagrams })).socket);
    for (const socket of sockets) {
      sender.socket.send([transmit(socket.local, Buffer.of(1))]);
    }
    await until(() => got.length > 0);
    for (const socket of sockets) socket.close();
    await nextTurn();
    await nextTurn();
    assert.equal(got.length, 1);
  });

  test('an error that a receive reports leaves the socket open, unless it is of the socket', async () => {
    let error = 0;
    let [received, fail]: [boolean, number] = [false, linux.ECONNREFUSED];
    using own = new KernelIo(
      {
        ...calls,
        recvmmsg: (...args) => {
          if (received || fail === 0) return calls.recvmmsg(...args);
          received = true;
          error = fail;
          return -1;
        },
        errno: () => {
          const reported = error;
          error = 0;
          return reported === 0 ? calls.errno() : reported;
        },
      },
      systemClock,
    );
    using near = open();
    using far = open({}, own);
    near.socket.send([transmit(far.socket.local, Buffer.from('x'))]);
    await until(() => far.got.length === 1);
    [received, fail] = [false, linux.EINVAL];
    near.socket.send([transmit(far.socket.local, Buffer.from('y'))]);
    const cause = await far.socket.closed;
    assert.equal(cause instanceof Error && 'code' in cause && cause.code, 'EINVAL');
  });

  for (const [local, host] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::', '127.0.0.1'],
    ['::', '::1'],
  ] as const) {
    test(`a socket on ${local} reports the closed port of ${host} to its owner, and loses no other datagram`, async () => {
      const bound = toEndpoint(local, 0) ?? assert.fail();
      const there = toEndpoint(host, 0) ?? assert.fail();
      const reported: string[] = [];
      using near = open({
        local: bound,
        onUnreachable: ({ port }, what) => void reported.push(`${what} ${port}`),
      });
      using far = open({ local: there });
      const gone = open({ local: there });
      const { port } = gone.socket.local;
      gone.socket.close();
      near.socket.reportErrors();
      const closed = { ...there, port };
      for (let i = 0; i < 10; i++) {
        near.socket.send([transmit(closed, Buffer.from('lost'))]);
        near.socket.send([transmit(far.socket.local, Buffer.from(`${i}`))]);
      }
      await until(() => far.got.length === 10 && reported.length > 0);
      assert.equal(near.socket.dropped, 0);
      assert.ok(reported.every((line) => line === `port ${port}`));
      far.socket.send([transmit({ ...there, port: near.socket.local.port }, Buffer.from('back'))]);
      await until(() => near.got.length === 1);
    });
  }

  test('a socket whose owner does not ask for reports gets none', async () => {
    const reported: string[] = [];
    using near = open({ onUnreachable: (_, what) => void reported.push(what) });
    using far = open();
    const gone = open();
    const closed = gone.socket.local;
    gone.socket.close();
    for (let i = 0; i < 10; i++) {
      near.socket.send([transmit(closed, Buffer.from('lost'))]);
      near.socket.send([transmit(far.socket.local, Buffer.from('x'))]);
    }
    await until(() => far.got.length === 10);
    assert.deepEqual(reported, []);
  });

  test('a port in use is reported as node:dgram does', () => {
    using near = open();
    const { local } = near.socket;
    assert.throws(() => open({ local }), {
      code: 'EADDRINUSE',
      message: `bind EADDRINUSE 127.0.0.1:${local.port}`,
    });
  });
});
