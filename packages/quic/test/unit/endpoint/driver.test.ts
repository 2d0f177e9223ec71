import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QuicStream } from '../../../src/contract.ts';
import { EVENTS_A_TURN, SENT_BYTES_A_TURN } from '../../../src/limits.ts';
import type { PacketObfuscation } from '../../../src/endpoint/driver.ts';
import type { ScriptedCore } from '../../../../../test/support/quic/endpoint/scripted-core.ts';
import { shortPacket } from '../../../../../test/support/quic/endpoint/packets.ts';
import {
  CLIENT,
  EndpointRig,
  noHandlers,
} from '../../../../../test/support/quic/endpoint/endpoint-rig.ts';

/** Connections that are dialled, with what they are to send. */
function dialAll(rig: EndpointRig, count: number): ScriptedCore[] {
  for (let i = 0; i < count; i++) rig.dial();
  return rig.cores.clients;
}

/** The order in which the connections sent, by the first byte of their ids. */
const senders = (rig: EndpointRig): number[] => rig.responses.map((bytes) => bytes[0] as number);

test('connections take turns, one batch each', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const cores = dialAll(rig, 3);
  for (const core of cores)
    for (let i = 0; i < 4; i++) core.toSend.push({ bytes: 1200, segmentSize: 0 });
  await rig.network.settle();
  const order = cores.map(({ id }) => id[0] as number);
  assert.deepEqual(senders(rig), [...order, ...order, ...order, ...order]);
});

test('one turn sends a bounded number of bytes, and the rest is sent in the following ones', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const [core] = dialAll(rig, 1) as [ScriptedCore];
  const BATCH = 60_000;
  for (let i = 0; i < 40; i++) core.toSend.push({ bytes: BATCH, segmentSize: 1200 });
  let turns = 0;
  for (; core.toSend.length > 0; turns++) {
    const before = rig.responses.length;
    await rig.network.turn();
    assert.ok((rig.responses.length - before) * 1200 <= SENT_BYTES_A_TURN + BATCH);
  }
  assert.equal(rig.responses.length, 40 * 50);
  assert.equal(turns, Math.ceil((40 * BATCH) / SENT_BYTES_A_TURN));
});

test('batches of several connections leave with one call of the system', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const cores = dialAll(rig, 10);
  for (const core of cores) core.toSend.push({ bytes: 100, segmentSize: 0 });
  await rig.network.settle();
  assert.equal(rig.responses.length, 10);
  assert.equal(rig.socket.calls, 1);
});

test('a full socket stops all senders, and nothing is lost or sent twice when it has room', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const cores = dialAll(rig, 2);
  for (const core of cores) {
    for (let i = 0; i < 20; i++) core.toSend.push({ bytes: 12_000, segmentSize: 1200 });
  }
  rig.socket.room = 7;
  await rig.network.settle();
  assert.equal(rig.responses.length, 7);
  const waiting = cores.reduce((sum, { toSend }) => sum + toSend.length, 0);
  assert.ok(waiting > 20, `${waiting} batches were left to their connections`);
  for (let i = 0; i < 200 && rig.responses.length < 400; i++) {
    rig.socket.makeRoom(13);
    await rig.network.settle();
  }
  assert.equal(rig.responses.length, 400);
  for (const { id } of cores) {
    assert.equal(senders(rig).filter((byte) => byte === id[0]).length, 200);
  }
});

test('events are handled although the socket is full', async () => {
  const rig = await EndpointRig.open();
  const connection = rig.dial();
  const [core] = rig.cores.clients as [ScriptedCore];
  core.toSend.push({ bytes: 1200, segmentSize: 0 });
  rig.socket.room = 0;
  await rig.network.settle();
  core.events.push({ kind: 'established' });
  await rig.deliver([shortPacket(core.id)]);
  await connection.established;
});

test('one turn handles a bounded number of events, and the end of streams counts among them', async () => {
  const rig = await EndpointRig.open();
  const streams: QuicStream[] = [];
  rig.dial({ handlers: { ...noHandlers, onStream: (stream) => streams.push(stream) } });
  const [core] = rig.cores.clients as [ScriptedCore];
  const COUNT = 8 * EVENTS_A_TURN;
  core.events.push({ kind: 'established' });
  for (let id = 0; id < 4 * COUNT; id += 4) core.events.push({ kind: 'stream-opened', id });
  await rig.deliver([shortPacket(core.id)]);
  assert.equal(streams.length, COUNT);
  let ended = 0;
  for (const stream of streams) void stream.closed.then(() => ended++);
  const turnsUntilEnded = async (count: number): Promise<number> => {
    let turns = 0;
    for (; ended < count; turns++) {
      const before = ended;
      await rig.network.turn();
      for (let i = 0; i < 8; i++) await Promise.resolve();
      // The delivery before the first one was a turn as well.
      assert.ok(ended - before <= (turns === 0 ? 2 : 1) * EVENTS_A_TURN);
    }
    return turns;
  };
  // The peer resets half of them in one packet, and then is gone.
  for (const { id } of streams.slice(COUNT / 2)) {
    core.events.push({ kind: 'stream-reset', id, code: 0 });
  }
  rig.socket.deliver(shortPacket(core.id), CLIENT);
  assert.ok((await turnsUntilEnded(COUNT / 2)) >= COUNT / 2 / EVENTS_A_TURN - 1);
  core.events.push({ kind: 'closed', reason: { kind: 'idle', by: 'self', code: 0, reason: '' } });
  rig.socket.deliver(shortPacket(core.id), CLIENT);
  assert.ok((await turnsUntilEnded(COUNT)) >= COUNT / 2 / EVENTS_A_TURN - 1);
});

test('one timer serves the deadlines of all connections, each in its time', async () => {
  const rig = await EndpointRig.open();
  const cores = dialAll(rig, 5);
  for (const [i, core] of cores.entries()) core.deadline = 100 - 10 * i;
  await rig.network.settle();
  assert.equal(rig.clock.timers, 1);
  await rig.network.pass(200);
  assert.deepEqual(
    cores.map(({ timeouts }) => timeouts),
    [[100], [90], [80], [70], [60]],
  );
  assert.equal(rig.clock.timers, 0);
});

test('a deadline that was moved fires at its new time alone', async () => {
  const rig = await EndpointRig.open();
  const [core] = dialAll(rig, 1) as [ScriptedCore];
  core.deadline = 50;
  await rig.network.settle();
  core.deadline = 120.5;
  await rig.deliver([shortPacket(core.id)]);
  await rig.network.pass(200);
  assert.deepEqual(core.timeouts, [121]);
});

test('a deadline that is always due does not stop the event loop', async () => {
  const rig = await EndpointRig.open();
  const [core] = dialAll(rig, 1) as [ScriptedCore];
  core.onTimeout = (now) => {
    core.timeouts.push(now);
    core.deadline = now;
  };
  core.deadline = 0;
  await rig.network.settle();
  await rig.network.pass(10);
  assert.equal(core.timeouts.length, 10);
});

test('a datagram that the path does not take is reported to its connection', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const [one, two] = dialAll(rig, 2) as [ScriptedCore, ScriptedCore];
  one.toSend.push({ bytes: 1200, segmentSize: 0 });
  two.toSend.push({ bytes: 1501, segmentSize: 0 });
  await rig.network.settle();
  assert.deepEqual(one.tooLarge, []);
  assert.deepEqual(two.tooLarge, [1501]);
});

test('wire counters have the bytes of both directions', async () => {
  const rig = await EndpointRig.open();
  rig.record();
  const connection = rig.dial();
  const [core] = rig.cores.clients as [ScriptedCore];
  core.toSend.push({ bytes: 3000, segmentSize: 1200 });
  await rig.deliver([shortPacket(core.id, 77)]);
  assert.deepEqual({ ...connection.wire }, { bytesRead: 77, bytesWritten: 3000 });
});

/** Adds four bytes in front and inverts the rest. */
const inverting: PacketObfuscation = {
  overhead: 4,
  seal(datagram, out, at) {
    out.fill(0xff, at, at + 4);
    for (const [i, byte] of datagram.entries()) out[at + 4 + i] = byte ^ 0xff;
    return datagram.length + 4;
  },
  open(datagram) {
    if (datagram.length < 4 || datagram[0] !== 0xff) return undefined;
    const payload = datagram.subarray(4);
    for (const [i, byte] of payload.entries()) payload[i] = byte ^ 0xff;
    return payload;
  },
};

test('obfuscation is put on every datagram of a batch, and counts on the wire', async () => {
  const rig = await EndpointRig.open({ obfuscation: inverting });
  rig.record();
  const connection = rig.dial();
  const [core] = rig.cores.clients as [ScriptedCore];
  core.toSend.push({ bytes: 3000, segmentSize: 1200 });
  const packet = shortPacket(core.id, 60);
  const obfuscated = Buffer.alloc(64);
  inverting.seal(packet, obfuscated, 0);
  await rig.deliver([obfuscated, packet, Buffer.alloc(3)]);
  assert.deepEqual(
    rig.responses.map(({ length }) => length),
    [1204, 1204, 604],
  );
  assert.ok(
    rig.responses.every(
      (bytes) => bytes[0] === 0xff && bytes[4] === ((core.id[0] as number) ^ 0xff),
    ),
  );
  assert.deepEqual(core.received, [packet]);
  assert.deepEqual({ ...connection.wire }, { bytesRead: 64, bytesWritten: 3012 });
});

test('the search for the MTU leaves room for obfuscation', async () => {
  const rig = await EndpointRig.open({ obfuscation: inverting });
  rig.dial();
  assert.equal(rig.cores.clients[0]?.options.settings.maxDatagram, 1468);
});

test('a batch with obfuscation still fits into one call of the system', async () => {
  const rig = await EndpointRig.open({ obfuscation: inverting });
  rig.record();
  const [core] = dialAll(rig, 1) as [ScriptedCore];
  core.toSend.push({ bytes: 64 * 1000, segmentSize: 1000 });
  await rig.network.settle();
  assert.equal(rig.responses.length, 64);
  assert.ok(rig.responses.every(({ length }) => length === 1004));
});

test('datagrams are passed on before more is received, so that a burst does not fill the queue', async () => {
  const rig = await EndpointRig.open();
  const seen: [string, number][] = [];
  rig.dial({
    handlers: {
      onStream: () => undefined,
      onDatagram: (data) => seen.push([String(data), core.received.length]),
    },
  });
  const [core] = rig.cores.clients as [ScriptedCore];
  core.events.push({ kind: 'established' });
  await rig.deliver([shortPacket(core.id)]);
  core.datagrams.push(Buffer.from('one'), Buffer.from('two'));
  await rig.deliver([shortPacket(core.id), shortPacket(core.id)]);
  assert.equal(core.received.length, 3);
  assert.deepEqual(seen, [
    ['one', 2],
    ['two', 2],
  ]);
});

test('the work of all connections is counted anew in each turn', async () => {
  const rig = await EndpointRig.open();
  const [one, two] = dialAll(rig, 2) as [ScriptedCore, ScriptedCore];
  const { sharedWork } = one.options;
  assert.ok(sharedWork);
  assert.equal(two.options.sharedWork, sharedWork, 'all connections share it');
  sharedWork.frames = 40_000;
  await rig.deliver([shortPacket(one.id)]);
  assert.equal(sharedWork.frames, 0);
});

test('a connection that throws ends alone, and the others are served in the same turn', async () => {
  const errors: unknown[] = [];
  for (const where of ['transmit', 'onTimeout', 'nextEvent'] as const) {
    const soon = (task: () => void): void =>
      rig.network.soon(() => {
        try {
          task();
        } catch (error) {
          errors.push(error);
        }
      });
    const rig: EndpointRig = await EndpointRig.open({ soon });
    rig.record();
    const [first, faulty, last] = dialAll(rig, 3) as [ScriptedCore, ScriptedCore, ScriptedCore];
    await rig.network.settle();
    const fault = new Error(`the fault in ${where}`);
    let faults = 0;
    const working = faulty[where].bind(faulty);
    faulty[where] = (...args: readonly unknown[]): never => {
      if (faults++ === 0) throw fault;
      return Reflect.apply(working, faulty, args) as never;
    };
    for (const core of [first, faulty, last]) {
      core.toSend.push({ bytes: 1200, segmentSize: 0 });
      core.deadline = rig.clock.now() + 10;
      await rig.deliver([shortPacket(core.id)]);
    }
    rig.clock.advance(20);
    await rig.network.settle();
    assert.deepEqual([errors.pop(), errors.length], [fault, 0]);
    assert.deepEqual([first.abandoned, faulty.abandoned, last.abandoned], [false, true, false]);
    const served = senders(rig).filter((id) => id !== faulty.id[0]);
    assert.deepEqual(served, [first.id[0], last.id[0]]);
    assert.deepEqual([first.timeouts.length, last.timeouts.length], [1, 1]);
  }
});

test('a connection that throws over what it receives ends alone, and the rest of the batch is served', async () => {
  for (const where of ['receiveBatch', 'onDatagram'] as const) {
    const errors: unknown[] = [];
    const soon = (task: () => void): void =>
      rig.network.soon(() => {
        try {
          task();
        } catch (error) {
          errors.push(error);
        }
      });
    const rig: EndpointRig = await EndpointRig.open({ soon });
    rig.record();
    const fault = new Error(`the fault in ${where}`);
    const fail = (): never => {
      throw fault;
    };
    const [first, faulty, last] = [0, 1, 2].map((i) => {
      rig.dial({
        handlers: { onStream: () => undefined, onDatagram: i === 1 ? fail : () => undefined },
      });
      return rig.cores.clients.at(-1);
    }) as [ScriptedCore, ScriptedCore, ScriptedCore];
    for (const core of [first, faulty, last]) core.events.push({ kind: 'established' });
    await rig.network.settle();
    if (where === 'receiveBatch') faulty.receiveBatch = fail;
    else faulty.datagrams.push(Buffer.of(1));
    const before = last.received.length;
    await rig.deliver([shortPacket(first.id), shortPacket(faulty.id), shortPacket(last.id)]);
    assert.deepEqual(errors, [fault]);
    assert.deepEqual([first.abandoned, faulty.abandoned, last.abandoned], [false, true, false]);
    assert.equal(last.received.length, before + 1);
  }
});
