import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_BATCH_DATAGRAMS } from '@weir/io/datagrams';
import { MAX_BATCHES } from '../../../../../io/src/net/sockets/transmit-queue.ts';
import {
  FakeSocket,
  FakeUdp,
} from '../../../../../../test/support/protocols/wireguard/fake-udp.ts';
import { endpoint } from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';
import { DatagramOutput } from '../../../../src/protocols/wireguard/tunnel-device.ts';

const [HERE, THERE] = [endpoint('127.0.0.1', 1), endpoint('127.0.0.1', 2)];
const handlers = { onDatagrams: () => undefined };

function made(): { readonly socket: FakeSocket; readonly output: DatagramOutput } {
  const socket = new FakeSocket(new FakeUdp(), HERE, handlers);
  return { socket, output: new DatagramOutput(socket) };
}

/** Writes a datagram of so many bytes, all of them `octet`. @returns whether there was room. */
function write(output: DatagramOutput, length: number, octet = 1, to = THERE): boolean {
  const at = output.reserve(length);
  if (at < 0) return false;
  output.buffer.fill(octet, at, at + length);
  output.commit(length, to);
  return true;
}

describe('datagrams on their way to the socket', () => {
  test('of one size leave together, and a shorter one ends them', () => {
    const { socket, output } = made();
    for (const length of [100, 100, 60, 100]) write(output, length);
    output.flush();
    assert.deepEqual(socket.sent, [
      { length: 260, segmentSize: 100 },
      { length: 100, segmentSize: 100 },
    ]);
  });

  test('do not leave behind smaller ones', () => {
    const { socket, output } = made();
    for (const length of [60, 100]) write(output, length);
    output.flush();
    assert.deepEqual(
      socket.sent.map(({ length }) => length),
      [60, 100],
    );
  });

  test('leave apart for different peers, each with its own bytes', () => {
    const net = new FakeUdp();
    const passed: string[] = [];
    net.passes = (bytes, _from, to) => {
      passed.push(`${to.port}: ${Buffer.from(bytes).toString('hex')}`);
      return false;
    };
    const output = new DatagramOutput(new FakeSocket(net, HERE, handlers));
    write(output, 2, 1, THERE);
    write(output, 2, 2, HERE);
    write(output, 2, 3, HERE);
    output.flush();
    assert.deepEqual(passed, ['2: 0101', '1: 02020303']);
  });

  test('are at most so many at a time', () => {
    const { socket, output } = made();
    for (let i = 0; i < MAX_BATCH_DATAGRAMS + 1; i++) write(output, 10);
    output.flush();
    assert.deepEqual(
      socket.sent.map(({ length }) => length),
      [MAX_BATCH_DATAGRAMS * 10, 10],
    );
  });

  test('wait while the socket is full, up to a bound, and then go on', () => {
    const { socket, output } = made();
    socket.room = 0;
    let count = 0;
    while (write(output, 1000, count)) count++;
    assert.ok(count >= (MAX_BATCHES - 1) * MAX_BATCH_DATAGRAMS, `${count} datagrams`);
    assert.ok(count <= (MAX_BATCHES + 1) * MAX_BATCH_DATAGRAMS, `${count} datagrams`);
    assert.deepEqual(socket.sent, []);
    socket.room = Infinity;
    output.onWritable();
    const bytes = socket.sent.reduce((sum, { length }) => sum + length, 0);
    assert.equal(bytes, count * 1000);
    assert.ok(write(output, 1000));
  });

  test('larger than a buffer find no room', () => {
    assert.equal(write(made().output, 70_000), false);
  });
});
