import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cubic } from '../../../../../src/congestion/cubic.ts';
import { SendControl } from '../../../../../src/congestion/send-control.ts';
import { Recovery } from '../../../../../src/netstack/tcp/recovery/recovery.ts';
import { MSS, RecoveryRig } from '../../../../support/netstack/tcp/recovery-rig.ts';

const range = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${from + i}`);

test('RFC 6928: ten segments leave at first, and slow start adds one for each acknowledged', () => {
  const rig = new RecoveryRig();
  assert.deepEqual(rig.send(100), range(0, 10));
  rig.now += 100;
  assert.deepEqual(rig.ack(2), range(10, 14));
  assert.deepEqual(rig.ack(4), range(14, 18));
});

test('RFC 6928 §2: the initial window is that of the MSS that the peer has announced', () => {
  for (const [mss, window] of [
    [536, 5360],
    [1460, 14_600],
    [4000, 14_720],
    [8960, 17_920],
  ] as const) {
    const control = new SendControl(new Cubic(8960), 8960);
    new Recovery(control, 8960, false).start(true, mss);
    assert.equal(control.controller.window, window);
  }
});

test('RFC 6675 §5: three segments that SACK reports begin a recovery, in which the rest leaves within the window', () => {
  const rig = new RecoveryRig();
  rig.send(20);
  rig.now += 100;
  // For the first two new segments leave, as in limited transmit (RFC 3042).
  assert.deepEqual(rig.ack(0, { sack: [[1, 2]] }), ['10', '11']);
  assert.deepEqual(rig.ack(0, { sack: [[1, 3]] }), ['12', '13']);
  assert.deepEqual(rig.ack(0, { sack: [[1, 4]] }), ['again 0']);
  assert.ok(rig.window < 10);
  const window = rig.window;
  for (let i = 5; i <= 12; i++) rig.ack(0, { sack: [[1, i]] });
  assert.ok(rig.inFlight <= window);
  rig.now += 100;
  rig.ack(rig.recovery.sndNxt / MSS);
  assert.equal(rig.window, window);
});

test('RFC 8985 §6.2: an overtaken segment is lost a quarter of the round trip later, and not before', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  assert.deepEqual(rig.ack(0, { sack: [[1, 2]] }), []);
  assert.ok(Math.abs(rig.wait - 25) < 0.01, `${rig.wait}`);
  rig.recovery.onTimeout(rig.now + 24);
  assert.deepEqual(rig.send(), []);
  assert.deepEqual(rig.expire(), ['again 0']);
});

test('RFC 8985 §6.2: a lost retransmission is found by what was sent after it', () => {
  const rig = new RecoveryRig();
  rig.send(20);
  rig.now += 100;
  rig.ack(0, { sack: [[1, 4]] });
  rig.now += 10;
  assert.equal(rig.ack(0, { sack: [[1, 10]] })[0], '10');
  rig.now += 100;
  assert.equal(rig.ack(0, { sack: [[1, 11]] })[0], 'again 0');
});

test('RFC 8985 §6.2: reordering once seen is waited for, also with many segments reported', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  rig.ack(0, { sack: [[1, 2]] });
  rig.ack(2);
  assert.deepEqual(rig.ack(2, { sack: [[3, 7]] }), []);
  assert.ok(rig.wait > 24);
  rig.ack(7);
  assert.equal(rig.inFlight, 3);
});

test('RFC 8985 §6.2: a duplicate that DSACK reports widens the reordering window', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  assert.deepEqual(rig.ack(0, { sack: [[1, 4]] }), ['again 0']);
  const reduced = rig.window;
  rig.now += 10;
  rig.ack(4);
  assert.equal(rig.window, reduced);
  rig.now += 90;
  rig.ack(4, { sack: [[0, 1]] });
  assert.equal(rig.window, 10, 'RFC 3708: the reduction is taken back');
  rig.send(10);
  rig.now += 100;
  rig.ack(4, { sack: [[5, 6]] });
  assert.ok(rig.wait > 49, `${rig.wait}`);
});

test('RFC 3522: a timestamp older than the retransmission takes the reduction back', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  const sentAt = rig.now;
  rig.now += 100;
  rig.ack(0, { sack: [[1, 4]], echo: sentAt });
  assert.ok(rig.window < 10);
  rig.now += 20;
  rig.ack(4, { echo: sentAt });
  assert.ok(rig.window >= 10);
});

/** Ten segments, the first of which is really lost: a recovery that nothing undoes. Returns the next segment. */
const recoverOnce = (rig: RecoveryRig): number => {
  rig.send(10);
  rig.now += 100;
  assert.deepEqual(rig.ack(0, { sack: [[1, 10]] }).slice(0, 1), ['again 0']);
  rig.now += 100;
  rig.ack(10);
  assert.ok(rig.window < 10);
  return 10;
};

/** Sends `count` segments from `first`; the later half is reported, so `lost` of them are sent again. */
const loseSome = (rig: RecoveryRig, first: number, lost: number, echo = -1): void => {
  const resent = Array.from({ length: lost }, (_, i) => `again ${first + i}`);
  const left = rig.ack(first, { sack: [[first + lost, first + 5]], echo });
  for (let i = 1; i < lost; i++) {
    rig.now += 1;
    left.push(...rig.ack(first, { sack: [[first + lost, first + 5]], echo }));
  }
  assert.deepEqual(
    left.filter((each) => each.startsWith('again')),
    resent,
  );
};

test('RFC 3708: a spurious recovery after a genuine one is undone', () => {
  const rig = new RecoveryRig();
  const first = recoverOnce(rig);
  const { window } = rig;
  rig.send(5);
  rig.now += 100;
  loseSome(rig, first, 1);
  assert.ok(rig.window < window);
  rig.now += 10;
  rig.ack(first + 5);
  rig.now += 90;
  rig.ack(first + 5, { sack: [[first, first + 1]] });
  assert.ok(rig.window >= window, `${rig.window} after ${window}`);
});

test('RFC 3522: timestamps undo a spurious recovery of two segments after a genuine one', () => {
  const rig = new RecoveryRig();
  const first = recoverOnce(rig);
  const { window } = rig;
  rig.send(5);
  const sentAt = rig.now;
  rig.now += 100;
  loseSome(rig, first, 2, sentAt);
  assert.ok(rig.window < window);
  rig.now += 20;
  rig.ack(first + 5, { echo: sentAt });
  assert.ok(rig.window >= window, `${rig.window} after ${window}`);
});

test('RFC 3708: a late duplicate of an earlier recovery does not undo the present one', () => {
  const rig = new RecoveryRig();
  const first = recoverOnce(rig);
  rig.send(5);
  rig.now += 100;
  loseSome(rig, first, 1);
  const { window } = rig;
  rig.ack(first, {
    sack: [
      [0, 1],
      [first + 1, first + 5],
    ],
  });
  assert.equal(rig.window, window);
});

test('RFC 3708: the duplicate of a tail loss probe does not undo the recovery that it begins', () => {
  const rig = new RecoveryRig();
  rig.send(5);
  assert.deepEqual(rig.expire(), ['again 4']);
  rig.now += 50;
  loseSome(rig, 0, 1);
  const { window } = rig;
  assert.ok(window < 10);
  rig.now += 10;
  const duplicate: readonly [number, number] = [4, 5];
  rig.ack(0, { sack: [duplicate, [1, 5]] });
  assert.equal(rig.window, window);
});

test('what is lost, probed, repeated after a timeout, and found to be spurious is traced', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  const sentAt = rig.now;
  rig.now += 100;
  rig.ack(0, { sack: [[1, 4]], echo: sentAt });
  rig.now += 20;
  rig.ack(10, { echo: sentAt });
  assert.deepEqual(rig.traced, [
    { kind: 'lost', bytes: MSS },
    { kind: 'spurious', what: 'loss' },
  ]);
  rig.traced.length = 0;
  rig.send(2);
  const tailAt = rig.now;
  rig.expire();
  rig.expire();
  rig.ack(12, { echo: tailAt });
  assert.deepEqual(rig.traced, [
    { kind: 'tail-loss-probe' },
    { kind: 'retransmission-timeout', count: 1 },
    { kind: 'spurious', what: 'timeout' },
  ]);
});

test('a lost segment that arrives before it was sent again is not sent again, and was no loss', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  rig.recovery.onAck(
    {
      offset: 0,
      blocks: Float64Array.of(2 * MSS, 6 * MSS),
      blockCount: 1,
      echo: -1,
      isDuplicate: false,
    },
    rig.now,
  );
  assert.ok(rig.window < 10);
  assert.deepEqual(rig.ack(6), []);
  assert.equal(rig.window, 10);
});

test('RFC 8985 §7: the tail is probed after two round trips, with new data where there is some', () => {
  const rig = new RecoveryRig();
  rig.send(5);
  assert.equal(rig.wait, 200);
  assert.deepEqual(rig.expire(), ['again 4']);
  assert.ok(rig.wait > 200, 'the retransmission timeout is next');

  const withData = new RecoveryRig();
  withData.send(10);
  withData.written += 5;
  assert.deepEqual(withData.expire(), ['10']);
});

test('RFC 8985 §7.2: with one segment in flight the probe waits for a delayed acknowledgement as well', () => {
  const rig = new RecoveryRig();
  rig.send(1);
  // No later than the timeout of 300 + 2 × 100, which comes first here.
  assert.ok(rig.wait >= 300, `${rig.wait}`);
});

test('RFC 8985 §7.4: a probe that repaired a loss counts as congestion, and one that came twice does not', () => {
  for (const [isDuplicate, isReduced] of [
    [false, true],
    [true, false],
  ] as const) {
    const rig = new RecoveryRig();
    rig.send(5);
    rig.expire();
    rig.now += 100;
    rig.ack(5, { sack: isDuplicate ? [[4, 5]] : [] });
    const before = rig.window;
    rig.send(1);
    rig.now += 100;
    rig.ack(6);
    assert.equal(rig.window < before, isReduced);
  }
});

test('RFC 8985 §7.4: with timestamps the first acknowledgement says whether a probe repaired a loss', () => {
  const rig = new RecoveryRig();
  rig.send(5);
  rig.expire();
  rig.now += 100;
  rig.ack(5, { echo: rig.now - 100 });
  assert.ok(rig.window < 10);
});

test('RFC 6298 §5: the timeout doubles, is taken back by progress, and only one segment leaves', () => {
  const rig = new RecoveryRig({ sack: false });
  rig.send(10);
  assert.equal(rig.wait, 300);
  assert.deepEqual(rig.expire(), ['again 0']);
  assert.equal(rig.wait, 600);
  assert.deepEqual(rig.expire(), ['again 0']);
  assert.equal(rig.wait, 1200);
  assert.equal(rig.recovery.timeouts, 2);
  for (let i = 0; i < 20; i++) rig.expire();
  assert.equal(rig.wait, 60_000);
  rig.now += 100;
  rig.ack(1);
  assert.equal(rig.recovery.timeouts, 0);
  assert.ok(rig.wait < 1000);
});

test('RFC 5681 §3.1: after a timeout slow start begins again, and everything in flight is sent again', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.expire();
  rig.now += 1;
  rig.expire();
  assert.equal(rig.window, 10, 'nothing is known before an acknowledgement');
  rig.now += 100;
  assert.deepEqual(rig.ack(1, { echo: rig.now - 100 }), ['again 1', 'again 2', 'again 3']);
  assert.equal(rig.window, 3);
  rig.now += 100;
  assert.deepEqual(rig.ack(3), ['again 4', 'again 5', 'again 6', 'again 7']);
  rig.now += 100;
  rig.ack(7);
  rig.now += 100;
  rig.ack(10);
  assert.equal(rig.inFlight, 0);
  assert.equal(rig.recovery.timeout, Infinity);
});

test('RFC 3522: a spurious timeout, by timestamps, costs one segment and no window', () => {
  const rig = new RecoveryRig({ sack: false });
  rig.send(10);
  const sentAt = rig.now;
  assert.deepEqual(rig.expire(), ['again 0']);
  rig.now += 5;
  assert.deepEqual(rig.ack(2, { echo: sentAt }), []);
  assert.ok(rig.window >= 10);
  assert.equal(rig.inFlight, 8);
});

test('RFC 5682: a spurious timeout, by SACK, costs one segment and no window', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.expire();
  assert.deepEqual(rig.expire(), ['again 0']);
  rig.now += 5;
  assert.deepEqual(rig.ack(2), []);
  assert.ok(rig.window >= 10);
  assert.equal(rig.inFlight, 8);
});

test('an acknowledgement that comes before the segment of a timeout has left cancels it', () => {
  const rig = new RecoveryRig({ sack: false });
  rig.send(3);
  rig.now = rig.recovery.timeout;
  rig.recovery.onTimeout(rig.now);
  assert.deepEqual(rig.ack(1), []);
  assert.ok(rig.window >= 10);
});

test('RFC 6298 §5.7: the timeout is three seconds after a lost SYN', () => {
  const rig = new RecoveryRig({ lostSyn: true, sack: false });
  rig.send(1);
  assert.equal(rig.wait, 3000);
});

test('RFC 2018 §8: a peer that drops what it reported gets it again after a timeout', () => {
  const rig = new RecoveryRig();
  rig.send(6);
  rig.now += 100;
  rig.ack(0, { sack: [[1, 6]] });
  rig.now += 100;
  // It acknowledges segment 0, and nothing of what it reported.
  rig.ack(1);
  assert.equal(rig.inFlight, 0);
  assert.deepEqual(rig.expire(), ['again 1']);
  rig.now += 100;
  assert.deepEqual(rig.ack(2), ['again 2', 'again 3', 'again 4']);
  rig.now += 100;
  rig.ack(4);
  rig.now += 100;
  rig.ack(6);
  assert.equal(rig.recovery.segments, 0);
  assert.equal(rig.inFlight, 0);
});

test('RFC 6582 §3.2: without SACK three duplicates repeat the first segment, and partial ones the next', () => {
  const rig = new RecoveryRig({ sack: false, window: 20 });
  const base = rig.written;
  rig.send(20);
  rig.now += 100;
  rig.ack(base + 1);
  const again = rig.ack(base + 1, { isDuplicate: true });
  assert.deepEqual(again, []);
  rig.ack(base + 1, { isDuplicate: true });
  assert.deepEqual(rig.ack(base + 1, { isDuplicate: true }), [`again ${base + 1}`]);
  rig.now += 100;
  assert.deepEqual(rig.ack(base + 4), [`again ${base + 4}`]);
  rig.now += 100;
  rig.ack(base + 20);
  assert.equal(rig.inFlight, 0);
});

test('RFC 3042: without SACK the first two duplicates let a new segment leave each', () => {
  const rig = new RecoveryRig({ sack: false });
  rig.send(30);
  rig.now += 100;
  rig.ack(1);
  rig.written += 5;
  assert.equal(rig.ack(1, { isDuplicate: true }).length, 1);
  assert.equal(rig.ack(1, { isDuplicate: true }).length, 1);
});

test('RFC 5681 §4.1: after a pause no more leaves at once than at first', () => {
  const rig = new RecoveryRig({ window: 40 });
  rig.now += 10_000;
  assert.equal(rig.send(100).length, 10);
  rig.now += 100;
  const next = rig.written - 90;
  assert.equal(rig.ack(next - 5).length, 10);
});

test('RFC 9293 §3.8.6.2.1: the sender waits for room for a full segment while anything is in flight', () => {
  const rig = new RecoveryRig();
  rig.edge = 2.3;
  assert.deepEqual(rig.send(10), ['0', '1']);
  assert.equal(rig.recovery.isWindowBlocked, false);
  rig.now += 100;
  assert.deepEqual(rig.ack(2), ['2']);
  rig.now += 100;
  rig.ack(2.3);
  assert.equal(rig.recovery.isWindowBlocked, true);
  assert.equal(rig.recovery.timeout, Infinity);
});

test('a large segment is acknowledged, reported and repeated in part', () => {
  const rig = new RecoveryRig({ largest: 64 * MSS });
  assert.deepEqual(rig.send(10), ['0-9']);
  rig.now += 100;
  rig.ack(2);
  assert.equal(rig.inFlight, 8);
  assert.deepEqual(rig.ack(2, { sack: [[4, 9]] }), ['again 2-3']);
  assert.equal(rig.inFlight, 3);
  rig.now += 100;
  rig.ack(9);
  assert.equal(rig.inFlight, 1);
});

test('RFC 6675 §4: parts of packets that SACK reports are ignored', () => {
  const rig = new RecoveryRig({ largest: 64 * MSS });
  rig.send(10);
  rig.now += 100;
  rig.ack(0, { sack: [[2.5, 4.5]] });
  assert.equal(rig.inFlight, 9);
  assert.equal(rig.recovery.segments, 3);
});

test('RFC 3042: with offload, too, the first two duplicates let a segment leave each', () => {
  const rig = new RecoveryRig({ sack: false, largest: 64 * MSS });
  assert.deepEqual(rig.send(20), ['0-9']);
  rig.now += 100;
  assert.deepEqual(rig.ack(0, { isDuplicate: true }), ['10']);
  assert.deepEqual(rig.ack(0, { isDuplicate: true }), ['11']);
});

test('with offload a small opening of the window waits for more of it', () => {
  const rig = new RecoveryRig({ largest: 64 * MSS, window: 80 });
  const base = rig.written;
  const left = rig.send(300);
  rig.now += 100;
  assert.equal(left.length, 1);
  assert.deepEqual(rig.ack(base + 2), []);
  assert.equal(rig.ack(base + 20).length, 1);
});

test('a smaller path MTU repeats what was too large, and is no congestion', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.recovery.setMss(500, rig.now);
  rig.largest = 500;
  assert.equal(rig.window, 10);
  assert.deepEqual(rig.send().slice(0, 3), ['again 0', 'again 0.5', 'again 1']);
  rig.now += 100;
  rig.ack(10);
  assert.equal(rig.inFlight, 0);
});

test('an acknowledgement of what was never sent is refused and changes nothing', () => {
  const rig = new RecoveryRig();
  rig.send(3);
  const { timeout } = rig.recovery;
  for (const offset of [3001, 2 ** 31, Infinity, NaN]) {
    const ack = {
      offset,
      blocks: new Float64Array(8),
      blockCount: 0,
      echo: -1,
      isDuplicate: false,
    };
    assert.equal(rig.recovery.onAck(ack, rig.now), false);
  }
  assert.equal(rig.recovery.timeout, timeout);
  assert.equal(rig.inFlight, 3);
});

test('RFC 2018: blocks that are empty, reversed, behind SND.NXT or below SND.UNA report nothing', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  rig.ack(3);
  const block = [
    [5, 5],
    [7, 4],
    [9, 11],
    [-3, -1],
  ] as const;
  rig.ack(3, { sack: block });
  rig.ack(3, {
    sack: [
      [NaN, 5],
      [4, NaN],
      [-1, 8],
      [3, 5],
    ],
  });
  assert.equal(rig.inFlight, 7);
});

test('a deadline that has not come does nothing, and a call twice is a call once', () => {
  const rig = new RecoveryRig();
  rig.send(3);
  rig.recovery.onTimeout(rig.recovery.timeout - 0.01);
  assert.deepEqual(rig.send(), []);
  rig.now = rig.recovery.timeout;
  rig.recovery.onTimeout(rig.now);
  rig.recovery.onTimeout(rig.now);
  assert.deepEqual(rig.send(), ['again 2']);
});

test('a timeout whose segment could not leave is not counted as one that the peer did not answer', () => {
  const rig = new RecoveryRig({ sack: false });
  rig.send(3);
  for (let i = 0; i < 5; i++) {
    rig.now = rig.recovery.timeout;
    rig.recovery.onTimeout(rig.now);
  }
  assert.equal(rig.recovery.timeouts, 1);
  assert.deepEqual(rig.send(), ['again 0']);
});

test('RFC 2883: a timeout of a segment that is reported as a duplicate was spurious', () => {
  const rig = new RecoveryRig();
  rig.send(1);
  const wait = rig.expire();
  assert.deepEqual(wait, ['again 0']);
  assert.equal(rig.recovery.timeouts, 1);
  // The delayed acknowledgement leaves for the repeated segment, and echoes its timestamp.
  rig.now += 1;
  rig.ack(1, { sack: [[0, 1]], echo: rig.now - 1 });
  assert.ok(rig.window >= 10);
});

test('RFC 8985 §6.2: blocks that come in one acknowledgement are no reordering, in whatever order', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  assert.equal(
    rig.ack(0, {
      sack: [
        [7, 8],
        [3, 5],
      ],
    })[0],
    'again 0',
  );
});
