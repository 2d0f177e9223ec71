import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { type Transmit, toEndpoint, type IpEndpoint } from '@weir/base/ip';
import { NodeDatagramSocket } from '../../../../../src/net/sockets/node/node-datagram-socket.ts';
import { bindUdpSocket } from '../../../../../src/net/sockets/node/udp-socket.ts';

const RESULT = { done: 0, sentBytes: 0, full: false, tooLarge: 0, firstTooLarge: -1 };

const transmitOf = (destination: IpEndpoint, buffer: Uint8Array, segmentSize = 0): Transmit => ({
  destination,
  buffer,
  offset: 0,
  length: buffer.length,
  segmentSize,
  source: undefined,
  ecn: 0,
});

const LOOPBACK = { family: 4, address: '127.0.0.1' } as const;

test('a full socket leaves the rest to the caller and reports room once', async (t) => {
  const bound = await bindUdpSocket(LOOPBACK);
  const room = Promise.withResolvers<void>();
  let calls = 0;
  const socket = new NodeDatagramSocket(bound, {
    onDatagrams: () => undefined,
    onWritable: () => {
      calls++;
      room.resolve();
    },
  });
  const five = Uint8Array.of(1, 2, 3, 4, 5);
  const transmit = transmitOf(socket.local, five, 2);
  // The first two datagrams find room.
  const counts = [0, 255];
  const count = t.mock.method(bound, 'getSendQueueCount', () => counts.shift() ?? 256);
  const result = socket.send([transmit, transmit]);
  assert.deepEqual({ ...result }, { ...RESULT, sentBytes: 4, full: true });
  assert.equal(calls, 0);
  count.mock.mockImplementation(() => 0);
  await room.promise;
  assert.deepEqual({ ...socket.send([transmit, transmit], 2, 4) }, { ...RESULT, done: 2 });
  assert.equal(socket.dropped, 0);
  socket.close();
  await socket.closed;
  assert.equal(calls, 1);
});

test('a link-local address of an interface that does not exist is not reached', async () => {
  const local = toEndpoint('::', 0) ?? assert.fail();
  const socket = await NodeDatagramSocket.bind({ local }, { onDatagrams: () => undefined });
  const used = Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ scopeid }) => scopeid ?? 0),
  );
  const destination = toEndpoint('fe80::1', 9, Math.max(0, ...used) + 1) ?? assert.fail();
  socket.send([transmitOf(destination, Uint8Array.of(1))]);
  assert.equal(socket.dropped, 1);
  socket.close();
});
