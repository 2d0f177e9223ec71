import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HandshakeQueue } from '../../../src/endpoint/incoming.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { CLIENT } from '../../../../../test/support/quic/endpoint/endpoint-rig.ts';

test('a datagram whose handshake throws leaves the others their turn', () => {
  const tasks: (() => void)[] = [];
  const served: number[] = [];
  let turns = 0;
  const queue = new HandshakeQueue({
    clock: new ManualClock(),
    soon: (task) => void tasks.push(task),
    isBlocked: () => false,
    serve: ({ buffer: [first = -1] }) => {
      served.push(first);
      if (first === 1) throw new Error('the fault');
    },
    onServed: () => turns++,
  });
  for (let i = 0; i < 4; i++) {
    const bytes = Buffer.of(i);
    const at = { buffer: bytes, offset: 0, length: 1, stride: 1, peer: CLIENT } as const;
    queue.add(bytes, 0, 1, { ...at, own: undefined, ecn: 0 }, 1, false);
  }
  assert.throws(() => queue.run(), /the fault/);
  assert.equal(turns, 1, 'those that were served are answered');
  while (tasks.length > 0) tasks.shift()?.();
  assert.deepEqual(served, [0, 1, 2, 3]);
  assert.deepEqual([turns, queue.bytes], [2, 0]);
});
