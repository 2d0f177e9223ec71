import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SystemCalls } from '../../../../src/platform/sockets/bindings.ts';
import { DescriptorRoom } from '../../../../src/platform/sockets/descriptor-room.ts';
import { nativeMemory } from '../../../../src/platform/native-memory.ts';

const FD = 3;

/** What 1,000 descriptors leave to the operator. */
const OPERATOR = 62;

/** A room of a process that may open `limit` descriptors, and has opened `open`. */
class Process {
  limit = 0;
  open = 0;
  /** How often the kernel was asked. */
  looks = 0;
  readonly room: DescriptorRoom;

  constructor() {
    const memory = nativeMemory(16, () => 1);
    const calls: Pick<SystemCalls, 'getrlimit' | 'memory' | 'fcntl' | 'close'> = {
      memory: () => memory,
      getrlimit: () => {
        memory.bytes.writeBigUInt64LE(BigInt(this.limit));
        return 0;
      },
      fcntl: () => -1,
      close: () => 0,
    };
    this.room = new DescriptorRoom(calls, () => {
      this.looks++;
      return this.open;
    });
  }
}

test('the kernel is asked about each connection while few descriptors are free', () => {
  const process = new Process();
  process.limit = 1000;
  process.open = 900;
  assert.equal(process.room.free(FD), 100 - OPERATOR);
  process.open = 936;
  assert.equal(process.room.free(FD), 2);
  assert.equal(process.looks, 2);
});

test('with plenty of them it is asked once for many connections', () => {
  const process = new Process();
  process.limit = 20_000;
  process.open = 10;
  assert.equal(process.room.free(FD), 19_990 - 64);
  for (let i = 0; i < 32; i++) {
    process.room.opened('accepted');
    process.room.opened('dialled');
    assert.ok(process.room.free(FD) >= 1024);
  }
  assert.equal(process.looks, 1);
  process.room.opened('accepted');
  process.open = 19_000;
  assert.equal(process.room.free(FD), 1000 - 64 - process.room.reserved);
  assert.equal(process.looks, 2);
});

test('connections whose destinations are not dialled yet lead to a look', () => {
  const process = new Process();
  process.limit = 20_000;
  process.open = 10;
  process.room.free(FD);
  for (let i = 0; i < 60; i++) process.room.opened('accepted');
  process.open = 19_900;
  assert.equal(process.room.free(FD), 100 - 64 - 60);
});

test('a kernel that does not count is asked each time', () => {
  const process = new Process();
  process.limit = 20_000;
  assert.equal(process.room.free(FD), 0);
  assert.equal(process.room.free(FD), 0);
  assert.equal(process.looks, 2);
});

test('UDP associations leave a quarter of the descriptors, and 4,096 at most, to everything else', () => {
  for (const [limit, reserved] of [
    [1000, 250],
    [100_000, 4096],
  ] as const) {
    const process = new Process();
    process.limit = limit;
    process.open = 20;
    let taken = 0;
    while (process.room.takeForAssociation()) {
      process.room.opened('datagrams');
      process.open++;
      taken++;
    }
    assert.equal(taken, limit - reserved - 20);
    assert.equal(process.room.free(FD), reserved - (limit === 1000 ? OPERATOR : 64));
    process.open--;
    assert.ok(process.room.takeForAssociation());
  }
});

test('dials of devices leave a sixteenth of the descriptors, and 1,024 at most', () => {
  for (const [limit, reserved] of [
    [1600, 100],
    [100_000, 1024],
  ] as const) {
    const process = new Process();
    process.limit = limit;
    process.open = limit - reserved - 1;
    assert.ok(process.room.takeForDial());
    process.open++;
    assert.ok(!process.room.takeForDial());
    assert.ok(!process.room.takeForAssociation());
  }
});

test('UDP associations leave room for the destinations of accepted connections', () => {
  const process = new Process();
  process.limit = 1000;
  process.open = 700;
  for (let i = 0; i < 50; i++) process.room.opened('accepted');
  assert.ok(!process.room.takeForAssociation());
});

test('where the kernel does not count descriptors, the sockets are counted', () => {
  const process = new Process();
  process.limit = 2000;
  let taken = 0;
  while (process.room.takeForAssociation()) {
    process.room.opened('datagrams');
    taken++;
  }
  assert.ok(taken > 0 && taken <= 2000 - 500, `${taken}`);
});

test('UDP sockets that were opened lead to a look before a connection is accepted', () => {
  const process = new Process();
  process.limit = 20_000;
  process.open = 10;
  process.room.free(FD);
  for (let i = 0; i < 65; i++) process.room.opened('datagrams');
  process.open = 19_935;
  assert.equal(process.room.free(FD), 1);
});

test('a part of the descriptors is left to the operator, whatever clients take', () => {
  for (const [limit, left] of [
    [64, 8],
    [256, 16],
    [512, 32],
    [1024, 64],
    [1_048_576, 64],
  ] as const) {
    const process = new Process();
    process.limit = limit;
    process.open = limit - left - 2;
    assert.equal(process.room.free(FD), 2, `${limit}`);
    assert.ok(process.room.has(2) && !process.room.has(3));
    process.open = limit - left;
    assert.ok(!process.room.has(1));
    assert.ok(process.room.mayLook);
    process.open = limit - left / 2;
    assert.ok(!process.room.mayLook);
  }
});

test('with plenty of descriptors a dial asks the kernel nothing', () => {
  const process = new Process();
  process.limit = 1_048_576;
  process.open = 10;
  assert.ok(process.room.has(1));
  for (let i = 0; i < 50; i++) {
    process.room.opened('dialled');
    assert.ok(process.room.has(1));
  }
  assert.equal(process.looks, 1);
});
