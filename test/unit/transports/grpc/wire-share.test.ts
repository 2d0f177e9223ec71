import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { WireShare } from '../../../../src/transports/grpc/wire-share.ts';

test('one tunnel has all bytes of its connection', () => {
  const wire = { bytesRead: 0, bytesWritten: 0 };
  const own = { received: 0, sent: 0 };
  const tunnel = new WireShare(wire).join(own);
  Object.assign(wire, { bytesRead: 130, bytesWritten: 60 });
  Object.assign(own, { received: 100, sent: 50 });
  assert.deepEqual([tunnel.bytesRead, tunnel.bytesWritten], [130, 60]);
});

test('what the connection moved besides is shared by what each moved', () => {
  const wire = { bytesRead: 0, bytesWritten: 0 };
  const [a, b] = [
    { received: 0, sent: 0 },
    { received: 0, sent: 0 },
  ];
  const share = new WireShare(wire);
  const [first, second] = [share.join(a), share.join(b)];
  wire.bytesRead = 440;
  a.received = 300;
  b.received = 100;
  assert.deepEqual([first.bytesRead, second.bytesRead], [330, 110]);
  // What a tunnel that has left moved later is nobody's.
  first.leave();
  a.received = 999;
  assert.equal(first.bytesRead, 330);
});

test('counters never fall, and together never exceed the socket by more than is under way', () => {
  const step = fc.record({
    which: fc.nat(2),
    bytes: fc.nat(1000),
    extra: fc.nat(50),
    look: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const wire = { bytesRead: 0, bytesWritten: 0 };
      const own = [0, 1, 2].map(() => ({ received: 0, sent: 0 }));
      const share = new WireShare(wire);
      const tunnels = own.map((bytes) => share.join(bytes));
      const before = [0, 0, 0];
      for (const { which, bytes, extra, look } of steps) {
        const tunnel = own[which];
        assert.ok(tunnel);
        tunnel.received += bytes;
        wire.bytesRead += bytes + extra;
        if (!look) continue;
        const now = tunnels.map(({ bytesRead }) => bytesRead);
        now.forEach((value, i) => assert.ok(value >= (before[i] ?? 0)));
        now.forEach((value, i) => (before[i] = value));
        const sum = now.reduce((total, value) => total + value, 0);
        assert.ok(sum <= wire.bytesRead, `${sum} of ${wire.bytesRead}`);
      }
    }),
  );
});
