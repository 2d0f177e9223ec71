import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { NewReno } from '../../../../congestion/src/classic-window.ts';
import { SendControl } from '@weir/congestion';
import { ReceiveBuffer } from '../../../src/tcp/receive-buffer.ts';
import { Recovery } from '../../../src/tcp/recovery/recovery.ts';
import type { ReceivedAck } from '../../../src/tcp/recovery/sack-scoreboard.ts';
import {
  FIRST_RECEIVE_WINDOW,
  MAX_RANGES,
  MOST_BLOCK,
  OUT_OF_ORDER_BLOCK,
  MAX_SEGMENTS,
} from '../../../src/limits.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import { countSteps } from '../../../../../test/support/netstack/tcp/count-steps.ts';
import { MSS, RecoveryRig } from '../../../../../test/support/netstack/tcp/recovery-rig.ts';

/** Steps of one acknowledgement: four searches in thousands of segments and ranges, and what they find. */
const STEPS_PER_ACK = 200;

/** Recovery with `count` segments in flight, sent one by one. */
function inFlight(count: number, size = MSS, mss = MSS): Recovery {
  const control = new SendControl(new NewReno(mss), mss);
  // A window that hostile acknowledgements have no part in.
  Object.defineProperty(control.controller, 'window', { value: 2 ** 40 });
  const recovery = new Recovery(control, mss, false);
  recovery.start(true, mss);
  recovery.onHandshake(100, 0);
  for (let i = 1; i <= count; i++) {
    while (recovery.plan(1000, i * size, 2 ** 40, size)) recovery.onSent(1000);
  }
  return recovery;
}

function acknowledgement(offset: number, ...bounds: number[]): ReceivedAck {
  const blocks = new Float64Array(8);
  blocks.set(bounds.slice(0, 8));
  const blockCount = Math.floor(Math.min(bounds.length, 8) / 2);
  return { offset, blocks, blockCount, echo: -1, isDuplicate: false };
}

test('the same blocks again and again cost a few searches each', () => {
  const recovery = inFlight(4000);
  const blocks = [
    [1, 1000],
    [1001, 2000],
    [2001, 3000],
    [3001, 4000],
  ]
    .flat()
    .map((n) => n * MSS);
  recovery.onAck(acknowledgement(0, ...blocks), 1001);
  const steps = countSteps(() => {
    for (let i = 0; i < 1000; i++) recovery.onAck(acknowledgement(0, ...blocks), 1001);
  });
  assert.ok(steps < 1000 * STEPS_PER_ACK, `${steps}`);
});

test('blocks that report every second segment, singly and in any order, cost what they report', () => {
  const recovery = inFlight(4000);
  const random = new SeededRandom(1);
  const order = Array.from({ length: 2000 }, (_, i) => i * 2 + 1);
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random.fraction() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  const steps = countSteps(() => {
    for (const n of order) recovery.onAck(acknowledgement(0, n * MSS, (n + 1) * MSS), 1001);
    const all = acknowledgement(0, MSS, 4000 * MSS);
    for (let i = 0; i < 1000; i++) recovery.onAck(all, 1001);
  });
  assert.ok(steps < 3000 * STEPS_PER_ACK, `${steps}`);
});

test('blocks of single bytes do not divide what was sent, however large it is', () => {
  const recovery = inFlight(16, 64 * MSS);
  const steps = countSteps(() => {
    for (let at = 1; at < 100_000; at += 3) {
      recovery.onAck(acknowledgement(0, at, at + 1, at + 500, at + 501), 1001);
    }
  });
  assert.equal(recovery.segments, 16);
  assert.ok(steps < 33_334 * STEPS_PER_ACK, `${steps}`);
});

test('blocks at any offset divide large segments into packets at most', () => {
  const recovery = inFlight(16, 64 * MSS);
  const random = new SeededRandom(2);
  const end = 16 * 64 * MSS;
  for (let i = 0; i < 20_000; i++) {
    const start = Math.floor(random.fraction() * (end - 3000));
    recovery.onAck(
      acknowledgement(0, start, start + 1 + Math.floor(random.fraction() * 3000)),
      1001,
    );
  }
  assert.ok(recovery.segments <= 16 * 64, `${recovery.segments}`);
});

test('acknowledgements of single bytes cost a constant each', () => {
  const recovery = inFlight(16, 64 * MSS);
  const steps = countSteps(() => {
    for (let at = 1; at <= 50_000; at++) recovery.onAck(acknowledgement(at), 1001);
  });
  assert.ok(recovery.segments <= 16);
  assert.ok(steps < 50_000 * 60, `${steps}`);
});

test('no more segments are in flight than there is room for, and large ones not beyond their bytes', () => {
  assert.equal(inFlight(2 * MAX_SEGMENTS, 1).segments, MAX_SEGMENTS);
  const recovery = inFlight(10_000, 64 * MSS);
  assert.equal(recovery.sndNxt, MAX_SEGMENTS * MSS);
  // Then an acknowledgement lets more leave.
  recovery.onAck(acknowledgement(MSS), 1001);
  assert.equal(recovery.plan(1001, 2 ** 40, 2 ** 40, 64 * MSS), true);
});

test('recoveries, timeouts and reneging over thousands of segments cost what they repeat', () => {
  const recovery = inFlight(3000);
  let now = 1001;
  let sent = 0;
  const steps = countSteps(() => {
    for (let i = 0; i < 300; i++) {
      const start = recovery.sndUna;
      recovery.onAck(acknowledgement(start, start + MSS, 3000 * MSS), now);
      now = Math.max(now, recovery.timeout);
      recovery.onTimeout(now);
      while (sent < 100_000 && recovery.plan(now, 3000 * MSS, 2 ** 40, MSS)) {
        recovery.onSent(now);
        sent++;
      }
      now += 100;
      recovery.onAck(acknowledgement(start + MSS), now);
    }
  });
  // Each turn reports, forgets and repeats every segment.
  assert.ok(steps < 300 * 3000 * 30, `${steps}`);
});

test('duplicates that are reported without end change no window beyond the one they take back', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  rig.ack(0, { sack: [[1, 4]] });
  rig.now += 100;
  rig.ack(10);
  const steps = countSteps(() => {
    for (let i = 0; i < 1000; i++) rig.ack(10, { sack: [[0, 9]] });
  });
  assert.ok(rig.window <= 11, `${rig.window}`);
  assert.ok(steps < 1000 * 30, `${steps}`);
});

test('any acknowledgements leave the counts right and nothing in flight at the end', () => {
  const number = fc.oneof(
    { weight: 10, arbitrary: fc.integer({ min: -2, max: 40 }).map((n) => n * MSS) },
    { weight: 3, arbitrary: fc.integer({ min: -3000, max: 45_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, 2 ** 53) },
  );
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        offset: fc.integer({ min: -1, max: 4 }),
        blocks: fc.array(number, { minLength: 0, maxLength: 8 }),
        echo: fc.constantFrom(-1, 900, 1000, 1100, 2 ** 40),
        isDuplicate: fc.boolean(),
      }),
    },
    { weight: 3, arbitrary: fc.record({ wait: fc.nat(300) }) },
    { weight: 3, arbitrary: fc.record({ send: fc.nat(20), largest: fc.constantFrom(1, 5, 64) }) },
    { weight: 1, arbitrary: fc.record({ mss: fc.constantFrom(300, 536, 1000) }) },
  );
  fc.assert(
    fc.property(fc.boolean(), fc.array(step, { maxLength: 120, size: 'max' }), (sack, steps) => {
      const rig = new RecoveryRig({ sack });
      const { recovery, control } = rig;
      for (const one of steps) {
        if ('wait' in one) {
          rig.now += one.wait;
          recovery.onTimeout(rig.now);
        } else if ('send' in one) {
          rig.largest = one.largest * MSS;
          rig.send(one.send);
        } else if ('mss' in one) recovery.setMss(one.mss, rig.now);
        else {
          const ack = acknowledgement(recovery.sndUna + one.offset * 700, ...one.blocks);
          const isPossible = ack.offset <= recovery.sndNxt;
          assert.equal(
            recovery.onAck({ ...ack, echo: one.echo, isDuplicate: one.isDuplicate }, rig.now),
            isPossible,
          );
          rig.send();
        }
        assert.ok(control.inFlight >= 0);
        assert.ok(control.inFlight <= recovery.sndNxt - recovery.sndUna);
        assert.equal(recovery.timeout === Infinity, recovery.sndNxt === recovery.sndUna);
      }
      rig.now += 1000;
      while (recovery.sndUna < recovery.sndNxt) {
        assert.ok(recovery.onAck(acknowledgement(recovery.sndNxt), rig.now));
        rig.send();
      }
      assert.equal(recovery.segments, 0);
      assert.equal(control.inFlight, 0);
      assert.equal(recovery.timeout, Infinity);
    }),
    { numRuns: 500 },
  );
});

test('a probe of the end of a lost segment leaves the rest to be sent, and nothing after its acknowledgement', () => {
  const rig = new RecoveryRig();
  const { recovery } = rig;
  rig.send(10);
  rig.now = recovery.timeout;
  recovery.onTimeout(rig.now);
  // The path MTU decreases while the probe waits: what is in flight has to be sent again.
  recovery.setMss(300, rig.now);
  assert.deepEqual(rig.send().slice(0, 1), ['again 9.9']);
  recovery.onAck(acknowledgement(recovery.sndNxt), rig.now + 1000);
  assert.deepEqual(rig.send(), []);
  assert.equal(recovery.timeout, Infinity);
});

test('thousands of tiny and overlapping segments out of order cost a few steps each', () => {
  const buffer = new ReceiveBuffer(0);
  buffer.announce(MSS, 7);
  const random = new SeededRandom(3);
  const bytes = new Uint8Array(100);
  const steps = countSteps(() => {
    for (let i = 0; i < 20_000; i++) {
      const start = 1 + Math.floor(random.fraction() * (FIRST_RECEIVE_WINDOW - 200));
      buffer.insert(start, bytes, 0, 1 + Math.floor(random.fraction() * 100));
    }
  });
  const blocks = new Float64Array(8);
  assert.equal(buffer.report(blocks, 4), 4);
  assert.ok(steps < 20_000 * 80, `${steps}`);
  assert.ok(buffer.memory <= FIRST_RECEIVE_WINDOW + OUT_OF_ORDER_BLOCK);
});

test('a stream of bytes in reverse holds no more ranges than the bound, and its bytes once', () => {
  const buffer = new ReceiveBuffer(0);
  buffer.announce(MSS, 7);
  const one = new Uint8Array(1);
  let dropped = 0;
  for (let at = 4 * MAX_RANGES; at > 0; at -= 2) {
    if (buffer.insert(at, one, 0, 1) === 'dropped') dropped++;
  }
  assert.equal(dropped, MAX_RANGES);
  assert.ok(buffer.memory <= MOST_BLOCK + OUT_OF_ORDER_BLOCK);
});
