import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { NodeDatagramSocket } from '../../../../src/net/node/datagram-socket.ts';
import { bindUdpSocket } from '../../../../src/net/node/udp-socket.ts';

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
  const transmit = {
    destination: socket.local,
    data: Uint8Array.of(1, 2, 3, 4, 5),
    segmentSize: 2,
  };
  // The first two datagrams find room.
  const counts = [0, 255];
  const count = t.mock.method(bound, 'getSendQueueCount', () => counts.shift() ?? 256);
  const result = socket.send([transmit, transmit]);
  assert.deepEqual(result, { done: 0, offset: 4, full: true });
  assert.equal(calls, 0);
  count.mock.mockImplementation(() => 0);
  await room.promise;
  assert.deepEqual(socket.send([transmit, transmit], result.offset), {
    done: 2,
    offset: 0,
    full: false,
  });
  assert.equal(socket.dropped, 0);
  socket.close();
  await socket.closed;
  assert.equal(calls, 1);
});

test('the own address is reported where the socket is bound to one', async () => {
  const own = Promise.withResolvers<Uint8Array | undefined>();
  const socket = await NodeDatagramSocket.bind(LOOPBACK, {
    onDatagrams: ({ local }) => own.resolve(local),
  });
  socket.send([{ destination: socket.local, data: Uint8Array.of(1) }]);
  assert.deepEqual([...((await own.promise) ?? [])], [127, 0, 0, 1]);
  socket.close();
  const wildcard = Promise.withResolvers<Uint8Array | undefined>();
  const other = await NodeDatagramSocket.bind(
    { family: 4 },
    { onDatagrams: ({ local }) => wildcard.resolve(local) },
  );
  const destination = { address: Uint8Array.of(127, 0, 0, 1), port: other.local.port, scope: 0 };
  other.send([{ destination, data: Uint8Array.of(1) }]);
  assert.equal(await wildcard.promise, undefined);
  other.close();
});

test('a link-local address of an interface that does not exist is not reached', async () => {
  const socket = await NodeDatagramSocket.bind({ family: 6 }, { onDatagrams: () => undefined });
  const used = Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ scopeid }) => scopeid ?? 0),
  );
  const address = new Uint8Array(16);
  address.set([0xfe, 0x80], 0);
  address[15] = 1;
  const destination = { address, port: 9, scope: Math.max(0, ...used) + 1 };
  socket.send([{ destination, data: Uint8Array.of(1) }]);
  assert.equal(socket.dropped, 1);
  socket.close();
});
