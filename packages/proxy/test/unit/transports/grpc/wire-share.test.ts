import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { WireShare } from '../../../../src/transports/grpc/wire-share.ts';

test('one tunnel has all bytes of its connection', () => {
  const wire = { bytesRead: 0, bytesWritten: 0 };
  const tunnel = new WireShare(wire).join();
  tunnel.addReceived(100);
  tunnel.addSent(50);
  Object.assign(wire, { bytesRead: 130, bytesWritten: 60 });
  assert.deepEqual([tunnel.bytesRead, tunnel.bytesWritten], [130, 60]);
});

test('what the connection moved besides is shared by what each moved', () => {
  const wire = { bytesRead: 0, bytesWritten: 0 };
  const share = new WireShare(wire);
  const [first, second] = [share.join(), share.join()];
  wire.bytesRead = 440;
  first.addReceived(300);
  second.addReceived(100);
  assert.deepEqual([first.bytesRead, second.bytesRead], [330, 110]);
  // Bytes moved after `leave` belong to no tunnel.
  first.leave();
  first.addReceived(699);
  assert.equal(first.bytesRead, 330);
});

test('a tunnel that moves nothing gets no overhead', () => {
  const wire = { bytesRead: 0, bytesWritten: 0 };
  const share = new WireShare(wire);
  const [first, second] = [share.join(), share.join()];
  wire.bytesRead = 330;
  first.addReceived(300);
  assert.equal(first.bytesRead, 330);
  wire.bytesRead += 11;
  second.addReceived(10);
  assert.deepEqual([first.bytesRead, second.bytesRead], [330, 11]);
});

test('what a tunnel moved before it left is not borne by it twice, nor lost for the others', () => {
  const wire = { bytesRead: 100, bytesWritten: 0 };
  const share = new WireShare(wire);
  const [first, second] = [share.join(), share.join()];
  first.addReceived(100);
  first.leave();
  second.addReceived(100);
  wire.bytesRead = 220;
  assert.deepEqual([first.bytesRead, second.bytesRead], [100, 120]);
});

test('counters never fall, and together are those of the socket', () => {
  const step = fc.record({
    which: fc.nat(2),
    bytes: fc.nat(1000),
    extra: fc.nat(50),
    look: fc.boolean(),
    leave: fc.nat(9).map((dice) => dice === 0),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const wire = { bytesRead: 0, bytesWritten: 0 };
      const share = new WireShare(wire);
      const tunnels = [0, 1, 2].map(() => share.join());
      const before = [0, 0, 0];
      const gone = new Set<number>();
      for (const { which, bytes, extra, look, leave } of steps) {
        const tunnel = tunnels[which];
        assert.ok(tunnel);
        if (gone.has(which)) continue;
        tunnel.addReceived(bytes);
        wire.bytesRead += bytes + extra;
        if (leave) {
          gone.add(which);
          tunnel.leave();
        }
        if (!look) continue;
        const now = tunnels.map(({ bytesRead }) => bytesRead);
        now.forEach((value, i) => assert.ok(value >= (before[i] ?? 0)));
        now.forEach((value, i) => (before[i] = value));
        const sum = now.reduce((total, value) => total + value, 0);
        assert.ok(sum <= wire.bytesRead, `${sum} of ${wire.bytesRead}`);
        // Except for a fraction of a byte each, once there was a tunnel to take the overhead.
        if (bytes > 0) assert.ok(sum > wire.bytesRead - 3, `${sum} of ${wire.bytesRead}`);
      }
    }),
  );
});

test('a look at the share of a tunnel costs the same among many as among few', () => {
  const wire = { bytesRead: 0, bytesWritten: 0 };
  const share = new WireShare(wire);
  const tunnels = Array.from({ length: 50_000 }, () => share.join());
  // Minutes of work if each read visited all tunnels, which the time limit of tests would catch.
  for (const tunnel of tunnels) {
    tunnel.addReceived(10);
    wire.bytesRead += 11;
    assert.equal(tunnel.bytesRead, 11);
  }
  for (const tunnel of tunnels) tunnel.leave();
  assert.equal(tunnels[0]?.bytesRead, 11);
});
