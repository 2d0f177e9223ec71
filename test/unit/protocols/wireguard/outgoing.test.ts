import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MAX_BATCH_DATAGRAMS, MAX_BATCHES } from '../../../../src/protocols/wireguard/limits.ts';
import { Outgoing } from '../../../../src/protocols/wireguard/outgoing.ts';
import { FakeSocket, FakeUdp } from './fake-udp.ts';
import { endpoint } from './pair.ts';

const [HERE, THERE] = [endpoint('127.0.0.1', 1), endpoint('127.0.0.1', 2)];
const handlers = { onDatagrams: () => undefined };

function made(): { readonly socket: FakeSocket; readonly outgoing: Outgoing } {
  const socket = new FakeSocket(new FakeUdp(), HERE, handlers);
  return { socket, outgoing: new Outgoing(socket) };
}

/** Writes a datagram of so many bytes, all of them `octet`. @returns whether there was room. */
function write(outgoing: Outgoing, length: number, octet = 1, to = THERE): boolean {
  const at = outgoing.reserve(length);
  if (at < 0) return false;
  outgoing.buffer.fill(octet, at, at + length);
  outgoing.commit(length, to);
  return true;
}

describe('datagrams on their way to the socket', () => {
  test('of one size leave together, and a shorter one ends them', () => {
    const { socket, outgoing } = made();
    for (const length of [100, 100, 60, 100]) write(outgoing, length);
    outgoing.flush();
    assert.deepEqual(socket.sent, [
      { length: 260, segmentSize: 100 },
      { length: 100, segmentSize: 100 },
    ]);
  });

  test('do not leave behind smaller ones', () => {
    const { socket, outgoing } = made();
    for (const length of [60, 100]) write(outgoing, length);
    outgoing.flush();
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
    const outgoing = new Outgoing(new FakeSocket(net, HERE, handlers));
    write(outgoing, 2, 1, THERE);
    write(outgoing, 2, 2, HERE);
    write(outgoing, 2, 3, HERE);
    outgoing.flush();
    assert.deepEqual(passed, ['2: 0101', '1: 02020303']);
  });

  test('are at most so many at a time', () => {
    const { socket, outgoing } = made();
    for (let i = 0; i < MAX_BATCH_DATAGRAMS + 1; i++) write(outgoing, 10);
    outgoing.flush();
    assert.deepEqual(
      socket.sent.map(({ length }) => length),
      [MAX_BATCH_DATAGRAMS * 10, 10],
    );
  });

  test('wait while the socket is full, up to a bound, and then go on', () => {
    const { socket, outgoing } = made();
    socket.room = 0;
    let count = 0;
    while (write(outgoing, 1000, count)) count++;
    assert.ok(count >= (MAX_BATCHES - 1) * MAX_BATCH_DATAGRAMS, `${count} datagrams`);
    assert.ok(count <= (MAX_BATCHES + 1) * MAX_BATCH_DATAGRAMS, `${count} datagrams`);
    assert.deepEqual(socket.sent, []);
    socket.room = Infinity;
    outgoing.onWritable();
    const bytes = socket.sent.reduce((sum, { length }) => sum + length, 0);
    assert.equal(bytes, count * 1000);
    assert.ok(write(outgoing, 1000));
  });

  test('larger than a buffer find no room', () => {
    assert.equal(write(made().outgoing, 70_000), false);
  });
});
