import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Cubic } from '../../../../../congestion/src/cubic.ts';
import { SendControl } from '@weir/congestion';
import { Recovery } from '../../../../src/tcp/recovery/recovery.ts';
import {
  MSS,
  RecoveryRig,
  runRecovery,
} from '../../../../../../test/support/netstack/tcp/recovery-rig.ts';

/** Ten segments, the first of which is really lost: a recovery that nothing undoes. */
const RECOVERED = `
  send 10 | +100 | ack 0 sack 1-10 | > again 0 ... | +100 | ack 10 | window < 10 | mark`;

const SCRIPTS: Readonly<Record<string, string>> = {
  'RFC 6928: ten segments leave at first, and slow start adds one for each acknowledged': `
    send 100 | > 0 1 2 3 4 5 6 7 8 9 | +100 | ack 2 | > 10 11 12 13 | ack 4 | > 14 15 16 17`,
  'RFC 6675 §5: three segments that SACK reports begin a recovery, behind limited transmit': `
    send 20 | +100 | ack 0 sack 1-2 | > 10 11 | ack 0 sack 1-3 | > 12 13
    ack 0 sack 1-4 | > again 0 | window < 10 | mark
    ack 0 sack 1-5 | ack 0 sack 1-6 | ack 0 sack 1-8 | ack 0 sack 1-10 | ack 0 sack 1-12
    flight <= 8 | +100 | ack 15 | window = mark`,
  'RFC 8985 §6.2: an overtaken segment is lost a quarter of the round trip later, and not before': `
    send 10 | +100 | ack 0 sack 1-2 | > nothing | wait 25 | early 24 | expire | > again 0`,
  'RFC 8985 §6.2: a lost retransmission is found by what was sent after it': `
    send 20 | +100 | ack 0 sack 1-4 | +10 | ack 0 sack 1-10 | > 10 ... | +100
    ack 0 sack 1-11 | > again 0 ...`,
  'RFC 8985 §6.2: reordering once seen is waited for, also with many segments reported': `
    send 10 | +100 | ack 0 sack 1-2 | ack 2 | ack 2 sack 3-7 | > nothing | wait > 24
    ack 7 | flight 3`,
  'RFC 8985 §6.2: a duplicate that DSACK reports widens the reordering window': `
    send 10 | +100 | ack 0 sack 1-4 | > again 0 | mark | +10 | ack 4 | window = mark
    +90 | ack 4 sack 0-1 | window 10 | send 10 | +100 | ack 4 sack 5-6 | wait > 49`,
  'RFC 8985 §6.2: blocks that come in one acknowledgement are no reordering, in whatever order':
    'send 10 | +100 | ack 0 sack 7-8,3-5 | > again 0 ...',
  'RFC 8985 §6.2: blocks reported at several places are repeated in the order of the stream': `
    send 10 | +100 | ack 0 sack 3-5 | > nothing | ack 0 sack 6-7,3-5 | > again 0 again 1 again 2
    ack 0 sack 9-10,6-8,3-5 | > again 5 again 8 | +100 | ack 6 sack 9-10,6-8 | > nothing
    ack 10 | > nothing | window 6 | idle`,
  'RFC 3522: a timestamp older than the retransmission takes the reduction back': `
    send 10 | +100 | ack 0 sack 1-4 echo -100 | window < 10 | +20 | ack 4 echo -120
    window >= 10`,
  'RFC 3708: a spurious recovery after a genuine one is undone': `${RECOVERED}
    send 5 | +100 | ack 10 sack 11-15 | > again 10 | window < mark | +10 | ack 15 | +90
    ack 15 sack 10-11 | window >= mark`,
  'RFC 3522: timestamps undo a spurious recovery of two segments after a genuine one': `${RECOVERED}
    send 5 | +100 | ack 10 sack 12-15 echo -100 | > again 10 ... | +1
    ack 10 sack 12-15 echo -101 | window < mark | +20 | ack 15 echo -121 | window >= mark`,
  'RFC 3708: a late duplicate of an earlier recovery does not undo the present one': `${RECOVERED}
    send 5 | +100 | ack 10 sack 11-15 | > again 10 | mark | ack 10 sack 0-1,11-15 | window = mark`,
  'RFC 3708: the duplicate of a tail loss probe does not undo the recovery that it begins': `
    send 5 | expire | > again 4 | +50 | ack 0 sack 1-5 | > again 0 | window < 10 | mark | +10
    ack 0 sack 4-5,1-5 | window = mark`,
  'RFC 8985 §7: the tail is probed after two round trips, and the timeout is next': `
    send 5 | wait 200 | expire | > again 4 | wait > 200`,
  'RFC 8985 §7: new data is the probe where there is some': 'send 10 | queue 5 | expire | > 10',
  'RFC 8985 §7.2: with one segment in flight the probe waits for a delayed acknowledgement as well':
    'send 1 | wait >= 300',
  'RFC 8985 §7.4: a probe that repaired a loss counts as congestion': `
    send 5 | expire | +100 | ack 5 | mark | send 1 | +100 | ack 6 | window < mark`,
  'RFC 8985 §7.4: a probe that came twice does not': `
    send 5 | expire | +100 | ack 5 sack 4-5 | mark | send 1 | +100 | ack 6 | window >= mark`,
  'RFC 8985 §7.4: with timestamps the first acknowledgement says whether a probe repaired a loss':
    'send 5 | expire | +100 | ack 5 echo -100 | window < 10',
  'RFC 6298 §5: the timeout doubles, is taken back by progress, and only one segment leaves': `
    with nosack | send 10 | wait 300 | expire | > again 0 | wait 600 | expire | > again 0
    wait 1200 | timeouts 2 | ${'expire | '.repeat(20)} wait 60000 | +100 | ack 1 | timeouts 0
    wait < 1000`,
  'RFC 5681 §3.1: after a timeout slow start begins again, and everything in flight is sent again': `
    send 10 | expire | +1 | expire | window 10 | +100 | ack 1 echo -100
    > again 1 again 2 again 3 | window 3 | +100 | ack 3 | > again 4 again 5 again 6 again 7
    +100 | ack 7 | +100 | ack 10 | idle`,
  'RFC 3522: a spurious timeout, by timestamps, costs one segment and no window': `
    with nosack | send 10 | expire | > again 0 | +5 | ack 2 echo -305 | > nothing | window >= 10
    flight 8`,
  'RFC 5682: a spurious timeout, by SACK, costs one segment and no window': `
    send 10 | expire | expire | > again 0 | +5 | ack 2 | > nothing | window >= 10 | flight 8`,
  'RFC 2883: a timeout of a segment that is reported as a duplicate was spurious': `
    send 1 | expire | > again 0 | timeouts 1 | +1 | ack 1 sack 0-1 echo -1 | window >= 10`,
  'RFC 6298 §5.7: the timeout is three seconds after a lost SYN':
    'with nosack lostsyn | send 1 | wait 3000',
  'RFC 2018 §8: a peer that drops what it reported gets it again after a timeout': `
    send 6 | +100 | ack 0 sack 1-6 | +100 | ack 1 | flight 0 | expire | > again 1 | +100
    ack 2 | > again 2 again 3 again 4 | +100 | ack 4 | +100 | ack 6 | held 0 | idle`,
  'RFC 6582 §3.2: without SACK three duplicates repeat the first segment, and partial ones the next': `
    with nosack window=20 | send 20 | +100 | ack 1 | ack 1 dup | > nothing | ack 1 dup
    ack 1 dup | > again 1 | +100 | ack 4 | > again 4 | +100 | ack 20 | flight 0`,
  'RFC 3042: without SACK the first two duplicates let a new segment leave each': `
    with nosack | send 30 | +100 | ack 1 | queue 5 | ack 1 dup | > 12 | ack 1 dup | > 13`,
  'RFC 3042: with offload, too': `
    with nosack largest=64 | send 20 | > 0-9 | +100 | ack 0 dup | > 10 | ack 0 dup | > 11`,
  'a large segment is acknowledged, reported and repeated in part': `
    with largest=64 | send 10 | > 0-9 | +100 | ack 2 | flight 8 | ack 2 sack 4-9 | > again 2-3
    flight 3 | +100 | ack 9 | flight 1`,
  'RFC 6675 §4: parts of packets that SACK reports are ignored':
    'with largest=64 | send 10 | +100 | ack 0 sack 2.5-4.5 | flight 9 | held 3',
  'with offload a small opening of the window waits for more of it': `
    with largest=64 window=80 | send 300 | +100 | ack 2 | > nothing | ack 20 | > 64-119`,
  'a smaller path MTU repeats what was too large, and is no congestion': `
    send 10 | mss 500 | window 10 | > again 0 again 0.5 again 1 ... | +100 | ack 10 | flight 0`,
  'RFC 2018: blocks that are empty, reversed, behind SND.NXT or below SND.UNA report nothing': `
    send 10 | +100 | ack 3 | ack 3 sack 5-5,7-4,9-11 | ack 3 sack NaN-5,4-NaN,3-5 | flight 7`,
  'a deadline that has not come does nothing': 'send 3 | early 199 | expire | > again 2',
  'one probe, then the timeout, when nothing is acknowledged any more': `
    send 10 | expire | > again 9 | timeouts 0 | expire | > again 0 | timeouts 1 | expire
    > again 0 | timeouts 2`,
  // The public scripts of packetdrill and of Linux: fast_retransmit, sack, undo, slow_start.
  'one of ten is lost: repeated at the third report, and one reduction': `
    send 10 | +100 | ack 0 sack 1-2 | > nothing | ack 0 sack 1-3 | > nothing | ack 0 sack 1-4
    > again 0 | ack 0 sack 1-10 | > nothing | +100 | ack 10 | window 6 | idle`,
  'one of four is lost: the three others are enough': `
    send 4 | +100 | ack 0 sack 1-4 | > again 0 | +100 | ack 4 | window 5 | idle`,
  'a block of several is lost: all are repeated as far as the window allows, in one reduction': `
    send 10 | +100 | ack 1 | mark | ack 1 sack 5-6 | > nothing | ack 1 sack 5-8
    > again 1 again 2 again 3 again 4 | window < mark | mark | ack 1 sack 5-10 | +100
    ack 3 sack 5-10 | ack 10 | window = mark | idle`,
  'an acknowledgement ends within what was reported': `
    send 10 | +100 | ack 0 sack 2-6 | > again 0 | +5 | ack 1 sack 2-6 | > again 1 | +5
    ack 4 sack 4-6 | > nothing | ack 10 | window 5 | idle`,
  'blocks of old acknowledgements below SND.UNA are no loss': `
    send 10 | +100 | ack 5 | ack 5 sack 1-3 | > nothing | ack 5 sack 2-4 | > nothing | ack 10
    window >= 10 | idle`,
  'acknowledgements that come out of order change nothing': `
    send 10 | +100 | ack 8 | ack 3 | > nothing | ack 5 sack 6-7 | > nothing | ack 10
    window >= 10 | idle`,
  'reordering by one place is waited out': `
    send 10 | +100 | ack 0 sack 1-2 | > nothing | +5 | ack 2 | ack 2 sack 3-4 | > nothing | +5
    ack 4 | ack 10 | window >= 10 | idle`,
  'a lost segment is repeated as often as it is lost, without a timeout': `
    with window=20 | send 60 | +100 | ack 0 sack 1-4
    ${[10, 21, 31, 40]
      .map((to) => `+100 | ack 0 sack 1-${to} | +60 | ack 0 sack 1-${to + 1}`)
      .join(' | ')}
    timeouts 0`,
  'a window that the application does not use does not grow': `
    send 2 | +100 | ack 2 | mark
    ${Array.from({ length: 50 }, (_, i) => `send 2 | +100 | ack ${2 * i + 4} | window = mark`).join(' | ')}`,
  'what SACK reports of the tail leaves nothing to a probe': `
    send 4 | +100 | ack 0 sack 3-4 | wait < 30 | expire | > again 0 again 1 again 2`,
  'a lost tail is found by its probe: the rest leaves a round trip later, without a timeout': `
    send 10 | +100 | ack 6 | expire | > again 9 | +100 | ack 6 sack 9-10
    > again 6 again 7 again 8 | timeouts 0`,
  'losses after a recovery begin another one, and reduce the window again': `
    with window=40 | mark
    ${[0, 10, 20]
      .map(
        (from) => `send 10 | +100 | ack ${from} sack ${from + 1}-${from + 10} | window < mark
        mark | +100 | ack ${from + 10}`,
      )
      .join(' | ')}`,
};

describe('what recovery sends, and when', () => {
  for (const [name, script] of Object.entries(SCRIPTS)) test(name, () => void runRecovery(script));
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

test('what is lost, probed, repeated after a timeout, and found to be spurious is traced', () => {
  const rig = runRecovery('send 10 | +100 | ack 0 sack 1-4 echo -100 | +20 | ack 10 echo -120');
  assert.deepEqual(rig.traced.splice(0), [
    { kind: 'lost', bytes: MSS },
    { kind: 'spurious', what: 'loss' },
  ]);
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

test('what is acknowledged before its repetition has left is not sent again', () => {
  const timeout = new RecoveryRig({ sack: false });
  timeout.send(3);
  for (let i = 0; i < 5; i++) {
    timeout.now = timeout.recovery.timeout;
    timeout.recovery.onTimeout(timeout.now);
    timeout.recovery.onTimeout(timeout.now);
  }
  assert.equal(timeout.recovery.timeouts, 1, 'one that the peer could not answer');
  assert.deepEqual(timeout.ack(1), []);
  assert.ok(timeout.window >= 10);
  const loss = new RecoveryRig();
  loss.send(10);
  loss.now += 100;
  const blocks = Float64Array.of(2 * MSS, 6 * MSS);
  const ack = { offset: 0, blocks, blockCount: 1, echo: -1, isDuplicate: false };
  loss.recovery.onAck(ack, loss.now);
  assert.ok(loss.window < 10);
  assert.deepEqual(loss.ack(6), []);
  assert.equal(loss.window, 10);
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

test('RFC 5681 §4.1: after a pause no more leaves at once than at first', () => {
  const rig = new RecoveryRig({ window: 40 });
  rig.now += 10_000;
  assert.equal(rig.send(100).length, 10);
  rig.now += 100;
  assert.equal(rig.ack(rig.written - 95).length, 10);
});

test('an acknowledgement of what was never sent is refused and changes nothing', () => {
  const rig = runRecovery('send 3');
  const { timeout } = rig.recovery;
  for (const offset of [3001, 2 ** 31, Infinity, NaN]) {
    const blocks = new Float64Array(8);
    const ack = { offset, blocks, blockCount: 0, echo: -1, isDuplicate: false };
    assert.equal(rig.recovery.onAck(ack, rig.now), false);
  }
  assert.equal(rig.recovery.timeout, timeout);
  assert.equal(rig.inFlight, 3);
});
