import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { after, describe, test } from 'node:test';
import { systemClock } from '../../../../src/net/clock.ts';
import {
  getControl,
  putControl,
  type ReceiveControl,
} from '../../../../src/platform/sockets/control-messages.ts';
import type {
  ReceivedDatagram,
  Transmit,
} from '../../../../src/platform/sockets/datagram-batch.ts';
import {
  DatagramSocket,
  type DatagramSocketOptions,
} from '../../../../src/platform/sockets/datagram-socket.ts';
import { KernelIo } from '../../../../src/platform/sockets/kernel-io.ts';
import * as linux from '../../../../src/platform/sockets/linux.ts';
import { checkedIo, noKernelSockets } from '../../../support/kernel-io.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

/** What was received, kept beyond the call. */
type Kept = Omit<ReceivedDatagram, 'buffer' | 'start'> & { readonly data: Buffer };

describe('a datagram socket of the kernel', { skip: noKernelSockets }, () => {
  if (noKernelSockets !== false) return;
  const { io, calls } = checkedIo();
  after(() => {
    assert.equal(io.poller.size, 0);
    assert.equal(calls.debug.open().length, 1, 'a descriptor is left open');
    io.close();
  });

  const open = (
    host: string,
    options: Partial<DatagramSocketOptions> = {},
    use: KernelIo = io,
  ): { readonly socket: DatagramSocket; readonly got: Kept[] } => {
    const got: Kept[] = [];
    const socket = new DatagramSocket(use, {
      local: { host, port: 0 },
      onDatagram: ({ buffer, start, length, ...rest }) =>
        got.push({ ...rest, length, data: Buffer.from(buffer.subarray(start, start + length)) }),
      ...options,
    });
    return { socket, got };
  };

  for (const host of hasIPv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']) {
    test(`batches keep their order, and one longer than the slots goes whole, to ${host}`, async () => {
      const [near, far] = [open(host), open(host, { receiveBuffer: 1 << 20 })];
      const transmits = Array.from({ length: 150 }, (_, index): Transmit => ({
        destination: far.socket.local,
        bytes: Buffer.from(`datagram ${index}`),
      }));
      const result = near.socket.send(transmits);
      assert.deepEqual(result, { done: 150, offset: 0, failed: 0, full: false });
      await until(() => far.got.length === 150);
      far.got.forEach(({ data, from, stride, length }, index) => {
        assert.equal(data.toString(), `datagram ${index}`);
        assert.deepEqual(from, near.socket.local);
        assert.equal(stride, length);
      });
      near.socket.close();
      far.socket.close();
    });

    test(`a buffer of segments arrives as single datagrams at ${host}, whether coalesced or not`, async () => {
      for (const coalesce of [false, true]) {
        const [near, far] = [open(host), open(host, { coalesce, receiveBuffer: 1 << 20 })];
        const bytes = Buffer.alloc(1200 * 100 + 7);
        for (let i = 0; i < bytes.length; i++) bytes[i] = (i / 1200) & 0xff;
        near.socket.send([{ destination: far.socket.local, bytes, segmentSize: 1200 }]);
        const singles = (): Buffer[] =>
          far.got.flatMap(({ data, stride }) =>
            Array.from({ length: Math.ceil(data.length / stride) }, (_, i) =>
              data.subarray(i * stride, (i + 1) * stride),
            ),
          );
        await until(() => singles().length === 101);
        singles().forEach((single, index) => {
          assert.equal(single.length, index < 100 ? 1200 : 7);
          assert.ok(single.every((byte) => byte === (index & 0xff)));
        });
        near.socket.close();
        far.socket.close();
      }
    });
  }

  test('an answer leaves from the address that the client sent to', async () => {
    const client = open('0.0.0.0', { details: true });
    const server = open('0.0.0.0', { details: true });
    const { port } = server.socket.local;
    for (const host of ['127.0.0.2', '127.0.0.3']) {
      client.socket.send([{ destination: { host, port }, bytes: Buffer.from('question'), ecn: 2 }]);
    }
    await until(() => server.got.length === 2);
    assert.deepEqual(
      server.got.map(({ own, ecn }) => [own, ecn]),
      [
        ['127.0.0.2', 2],
        ['127.0.0.3', 2],
      ],
    );
    server.socket.send(
      server.got.map(({ from, own }) => ({
        destination: from,
        bytes: Buffer.from('answer'),
        source: own,
      })),
    );
    await until(() => client.got.length === 2);
    assert.deepEqual(
      client.got.map(({ from, ecn }) => [from.host, ecn]),
      [
        ['127.0.0.2', 0],
        ['127.0.0.3', 0],
      ],
    );
    client.socket.close();
    server.socket.close();
  });

  test(
    'a dual-stack socket knows its own address for both families',
    { skip: !hasIPv6 },
    async () => {
      const server = open('::', { details: true });
      const { port } = server.socket.local;
      for (const [host, target] of [
        ['127.0.0.1', '127.0.0.9'],
        ['::1', '::1'],
      ] as const) {
        const client = open(host);
        client.socket.send([
          { destination: { host: target, port }, bytes: Buffer.from('q'), ecn: 1 },
        ]);
        await until(() => server.got.length === 1);
        const [{ from, own, ecn } = assert.fail()] = server.got;
        assert.deepEqual([from.host, own, ecn], [host, target, 1]);
        server.socket.send([{ destination: from, bytes: Buffer.from('a'), source: own, ecn: 1 }]);
        await until(() => client.got.length === 1);
        assert.equal(client.got[0]?.from.host, target);
        server.got.length = 0;
        client.socket.close();
      }
      server.socket.close();
    },
  );

  for (const error of [linux.EIO, linux.EINVAL]) {
    test(`segments go one by one for good after the error ${error} that blames the offload`, async () => {
      let refusals = 0;
      let refused = false;
      using own = new KernelIo(
        {
          ...calls,
          // Stands for a device without checksum offload: buffers of segments are refused.
          sendmmsg: (fd, at, count, flags) => {
            if (near.socket.offload) {
              refused = true;
              refusals++;
              return -1;
            }
            return calls.sendmmsg(fd, at, count, flags);
          },
          errno: () => {
            if (!refused) return calls.errno();
            refused = false;
            return error;
          },
        },
        systemClock,
      );
      const near = open('127.0.0.1', {}, own);
      const far = open('127.0.0.1', {}, own);
      assert.ok(near.socket.offload);
      const transmit = {
        destination: far.socket.local,
        bytes: Buffer.alloc(2500, 1),
        segmentSize: 1000,
      };
      for (let round = 1; round <= 2; round++) {
        const { failed, done } = near.socket.send([transmit]);
        assert.deepEqual([failed, done], [0, 1]);
        await until(() => far.got.length === 3 * round);
      }
      assert.equal(refusals, 1);
      assert.deepEqual(
        far.got.map(({ length }) => length),
        [1000, 1000, 500, 1000, 1000, 500],
      );
      near.socket.close();
      far.socket.close();
    });
  }

  test('a datagram that cannot be sent costs itself only', async () => {
    const [near, far] = [open('127.0.0.1'), open('127.0.0.1')];
    const destination = far.socket.local;
    const result = near.socket.send([
      { destination, bytes: Buffer.from('first') },
      { destination: { host: '::1', port: 1 }, bytes: Buffer.from('another family') },
      { destination, bytes: Buffer.alloc(65_508) },
      { destination, bytes: Buffer.alloc(70_000) },
      { destination, bytes: Buffer.alloc(0) },
      { destination, bytes: Buffer.from('last') },
    ]);
    assert.deepEqual(result, { done: 6, offset: 0, failed: 3, full: false });
    await until(() => far.got.length === 3);
    assert.deepEqual(
      far.got.map(({ data }) => data.toString()),
      ['first', '', 'last'],
    );
    near.socket.close();
    far.socket.close();
    assert.deepEqual(near.socket.send([{ destination, bytes: Buffer.from('x') }]).failed, 1);
  });

  test('a full buffer is reported with the place to go on from, and so is room', async () => {
    let full = false;
    let writable = 0;
    using own = new KernelIo(
      {
        ...calls,
        sendmmsg: (fd, at, count, flags) =>
          full ? -1 : ((full = true), calls.sendmmsg(fd, at, Math.min(count, 1), flags)),
        errno: () => (full ? linux.EAGAIN : calls.errno()),
      },
      systemClock,
    );
    const near = open('127.0.0.1', { onWritable: () => writable++ }, own);
    near.socket.offload = false;
    const far = open('127.0.0.1', {}, own);
    const transmit = { destination: far.socket.local, bytes: Buffer.from('aabbc'), segmentSize: 2 };
    const transmits = [transmit];
    let result = near.socket.send(transmits);
    assert.deepEqual(result, { done: 0, offset: 2, failed: 0, full: true });
    await until(() => writable === 1);
    while (result.full) {
      full = false;
      result = near.socket.send(transmits, result.offset);
    }
    await until(() => far.got.length === 3);
    assert.deepEqual(
      far.got.map(({ data }) => data.toString()),
      ['aa', 'bb', 'c'],
    );
    near.socket.close();
    far.socket.close();
  });

  test('datagrams that a full queue dropped are counted', async () => {
    const near = open('127.0.0.1');
    const far = open('127.0.0.1', { receiveBuffer: 4096 });
    const bytes = Buffer.alloc(1000);
    const destination = far.socket.local;
    near.socket.send(Array.from({ length: 64 }, () => ({ destination, bytes })));
    await until(() => far.got.length > 0);
    // The counter comes with the next datagram.
    near.socket.send([{ destination, bytes }]);
    await until(() => far.socket.overflow > 0);
    await nextTurn();
    assert.equal(far.socket.overflow + far.got.length, 65);
    near.socket.close();
    far.socket.close();
  });

  test('a port in use is reported as node:dgram does', () => {
    const { socket } = open('127.0.0.1');
    assert.throws(() => open('127.0.0.1', { local: socket.local }), {
      code: 'EADDRINUSE',
      message: `bind EADDRINUSE 127.0.0.1:${socket.local.port}`,
    });
    socket.close();
    socket.close();
  });
});

describe('control messages', () => {
  const blank = (): ReceiveControl => ({ stride: 9, ecn: 3, own: 'x', overflow: 9 });

  test('carry segment size, source and ECN', () => {
    const out = Buffer.alloc(128, 0xee);
    const length = putControl(out, 0, {
      segmentSize: 1200,
      source: '192.0.2.7',
      ecn: 2,
      toIPv4: true,
      fromIPv6: false,
    });
    assert.equal(length, 24 + 32 + 24);
    assert.equal(
      out.toString('hex', 0, length),
      // Each: length, level, type, data.
      [
        '1200000000000000 11000000 67000000 b004000000000000',
        '1c00000000000000 00000000 08000000 00000000c00002070000000000000000',
        '1400000000000000 00000000 01000000 0200000000000000',
      ]
        .join('')
        .replaceAll(' ', ''),
    );
  });

  test('that are absent leave nothing of the datagram before', () => {
    const control = blank();
    getControl(Buffer.alloc(0), 0, 0, control);
    assert.deepEqual(control, { stride: 0, ecn: 0, own: undefined, overflow: undefined });
  });

  test('that are damaged or unknown are passed over, whatever they hold', () => {
    for (let seed = 0; seed < 2000; seed++) {
      const bytes = Buffer.alloc(128);
      for (let i = 0; i < 128; i++)
        bytes[i] = (seed * 31 + i * i * 7 + (seed >> (i & 7))) & (i % 8 === 0 ? 63 : 3);
      const control = blank();
      getControl(bytes, 0, seed % 129, control);
      assert.ok(control.ecn >= 0 && control.ecn <= 3);
    }
  });
});
