import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nativeMemory } from '../../../../../src/platform/native-memory.ts';
import type { SystemCalls } from '../../../../../src/platform/sockets/bindings.ts';
import {
  SO_BUF_LOCK,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SOL_SOCKET,
  TCP_INFO,
} from '../../../../../src/platform/sockets/linux.ts';
import { getOption, setOption } from '../../../../../src/platform/sockets/socket-options.ts';
import { StreamListener } from '../../../../../src/platform/sockets/streams/stream-listener.ts';
import { StreamSocket } from '../../../../../src/platform/sockets/streams/stream-socket.ts';
import { ReceiveBuffers } from '../../../../../src/platform/sockets/streams/receive-buffers.ts';

import {
  checkedIo,
  noKernelSockets,
  until,
} from '../../../../../../../test/support/links/kernel-io.ts';

const MB = 1 << 20;

/** A connection of which the test chooses the path and the size of the buffer; notes what is set. */
class FakeConnection {
  rtt = 50;
  infoBytes = 232;
  /** As the kernel reports it: twice what is asked for. */
  size = 64 * MB;
  readonly set: (readonly [name: number, value: number])[] = [];
  readonly #option = nativeMemory(160, () => 0);
  readonly #privileged: boolean;

  constructor(privileged = true) {
    this.#privileged = privileged;
  }

  get io(): ConstructorParameters<typeof ReceiveBuffers>[0] {
    const { words, bytes } = this.#option;
    const getsockopt: SystemCalls['getsockopt'] = (_fd, _level, name, _at, lengthAt) => {
      if (name === TCP_INFO) {
        bytes.writeUInt32LE(this.rtt, 148);
        bytes.writeUInt32LE(Math.min(this.infoBytes, bytes.readUInt32LE(lengthAt)), lengthAt);
      } else words[0] = this.size;
      return 0;
    };
    const setsockopt: SystemCalls['setsockopt'] = (_fd, _level, name) => {
      if (name === SO_RCVBUFFORCE && !this.#privileged) return -1;
      const value = words[0] ?? 0;
      this.set.push([name, value]);
      if (name !== SO_BUF_LOCK) this.size = 2 * value;
      return 0;
    };
    return {
      calls: { getsockopt, setsockopt } as unknown as SystemCalls,
      option: this.#option,
    };
  }
}

describe('the receive buffer of a connection', () => {
  test('that has grown is bounded by what its path needs', () => {
    for (const [rtt, bytes] of [
      [0, MB],
      [50, MB + 125_000],
      [5000, MB + 12_500_000],
    ] as const) {
      const connection = new FakeConnection();
      connection.rtt = rtt;
      assert.equal(new ReceiveBuffers(connection.io).fit(3, false), true);
      assert.deepEqual(connection.set, [[SO_RCVBUFFORCE, bytes]]);
    }
  });

  test('that has not grown so far is left to grow', () => {
    const connection = new FakeConnection();
    connection.size = 2 * MB;
    assert.equal(new ReceiveBuffers(connection.io).fit(3, false), false);
    assert.deepEqual(connection.set, []);
  });

  test('of a long path, of an unknown one, and on a kernel that does not tell is left alone', () => {
    for (const [rtt, infoBytes] of [
      [5001, 232],
      [0xffff_ffff, 232],
      [50, 104],
    ] as const) {
      const connection = new FakeConnection();
      connection.rtt = rtt;
      connection.infoBytes = infoBytes;
      assert.equal(new ReceiveBuffers(connection.io).fit(3, false), false);
      assert.deepEqual(connection.set, []);
    }
  });

  test('follows a path that becomes longer', () => {
    const connection = new FakeConnection();
    const buffers = new ReceiveBuffers(connection.io);
    buffers.fit(3, false);
    connection.rtt = 1000;
    assert.equal(buffers.fit(3, true), true);
    connection.rtt = 80_000;
    assert.equal(buffers.fit(3, true), false);
    assert.deepEqual(connection.set.slice(1), [
      [SO_RCVBUFFORCE, MB + 2_500_000],
      [SO_BUF_LOCK, 0],
    ]);
  });

  test('needs what the system permits a process without privileges', () => {
    const some = new FakeConnection(false);
    assert.equal(new ReceiveBuffers(some.io, () => 4 * MB).fit(3, false), true);
    assert.deepEqual(some.set, [[SO_RCVBUF, MB + 125_000]]);

    some.rtt = 4000;
    some.size = 64 * MB;
    assert.equal(new ReceiveBuffers(some.io, () => 4 * MB).fit(3, false), true);
    assert.equal(some.size, 2 * 4 * MB);

    const few = new FakeConnection(false);
    const buffers = new ReceiveBuffers(few.io, () => 212_992);
    for (let look = 0; look < 3; look++) assert.equal(buffers.fit(3, false), false);
    assert.deepEqual(few.set, []);
  });
});

test(
  'the buffer of a connection over loopback is bounded',
  { skip: noKernelSockets },
  async (t) => {
    const { io } = checkedIo();
    using _ = io;
    const accepted: StreamSocket[] = [];
    const listener = new StreamListener(
      io,
      { host: '127.0.0.1', port: 0 },
      { onSocket: (socket) => accepted.push(socket) },
    );
    const { socket: far } = StreamSocket.connect(io, listener.local, () => undefined);
    await until(() => accepted.length === 1);
    listener.close();
    const [near] = accepted as [StreamSocket];
    const size = (): number => (getOption(io, near.fd, SOL_SOCKET, SO_RCVBUF) ?? 0) / 2;
    try {
      // As if it had grown so far, and with the kernel in charge.
      if (setOption(io, near.fd, SOL_SOCKET, SO_RCVBUFFORCE, 64 * MB) !== 0) {
        t.skip('needs CAP_NET_ADMIN');
        return;
      }
      setOption(io, near.fd, SOL_SOCKET, SO_BUF_LOCK, 0);
      const chunk = Buffer.alloc(64 << 10);
      let received = 0;
      await until(() => {
        far.send(chunk);
        received += Math.max(0, near.receive());
        return received >= 2 * MB;
      });
      assert.ok(size() >= MB && size() < 16 * MB, String(size()));
    } finally {
      near.close();
      far.close();
    }
  },
);
