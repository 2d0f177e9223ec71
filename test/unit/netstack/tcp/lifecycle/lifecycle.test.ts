import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RttEstimator } from '../../../../../src/congestion/rtt.ts';
import { NamedDeadlines } from '../../../../../src/collections/named-deadlines.ts';
import { TCP_DEADLINES, type Deadlines } from '../../../../../src/netstack/tcp/deadlines.ts';
import { EventFlags, type TcpEvent } from '../../../../../src/netstack/tcp/events.ts';
import { PeerProbes } from '../../../../../src/netstack/tcp/lifecycle/peer-probes.ts';
import { StateMachine } from '../../../../../src/netstack/tcp/lifecycle/state-machine.ts';
import { SynRetransmission } from '../../../../../src/netstack/tcp/lifecycle/syn-retransmission.ts';
import {
  FIRST_HANDSHAKE_TIMEOUT,
  FIRST_WINDOW_PROBE,
  KEEP_ALIVE_INTERVAL,
  KEEP_ALIVE_PROBES,
  TIME_WAIT,
  USER_TIMEOUT,
} from '../../../../../src/netstack/tcp/limits.ts';
import { SendBuffer } from '../../../../../src/netstack/tcp/send-buffer.ts';

const createDeadlines = (): Deadlines => new NamedDeadlines(TCP_DEADLINES);

test('an active connection sends its SYN at once, a passive one its SYN-ACK when it is accepted', () => {
  const active = new SynRetransmission('active', createDeadlines());
  const passive = new SynRetransmission('passive', createDeadlines());
  assert.deepEqual([active.isAccepted, active.isDue], [true, true]);
  assert.deepEqual([passive.isAccepted, passive.isDue], [false, false]);
});

test('RFC 6298 §5.5: the timeout of a SYN doubles, and starts again when the path is restored', () => {
  const deadlines = createDeadlines();
  const syn = new SynRetransmission('active', deadlines);
  syn.onSent(0);
  assert.equal(deadlines.next, FIRST_HANDSHAKE_TIMEOUT);
  assert.equal(syn.onTimeout(1), true);
  syn.onSent(FIRST_HANDSHAKE_TIMEOUT);
  assert.equal(deadlines.next, 3 * FIRST_HANDSHAKE_TIMEOUT);
  assert.equal(syn.onTimeout(1), false);
  syn.onPathRestored();
  assert.equal(syn.isDue, true);
  syn.onSent(0);
  assert.equal(deadlines.next, FIRST_HANDSHAKE_TIMEOUT);
});

test('only a SYN that was sent once measures the round trip', () => {
  const deadlines = createDeadlines();
  const once = new SynRetransmission('active', deadlines);
  once.onSent(10);
  assert.equal(once.onAcknowledged(35), 25);
  assert.equal(deadlines.next, Infinity);
  const twice = new SynRetransmission('active', deadlines);
  twice.onSent(10);
  twice.onSent(20);
  assert.equal(twice.onAcknowledged(35), undefined);
});

test('RFC 9293 §3.8.4: a peer that answers no keep-alive probe has failed', () => {
  const deadlines = createDeadlines();
  const probes = new PeerProbes(deadlines, 1000, undefined, 0);
  probes.onEstablished(0);
  assert.equal(deadlines.next, 1000);
  probes.onHeard(400);
  // It was heard in the meantime: the wait is from then on.
  assert.equal(probes.onKeepAliveTimeout(false, 1000), true);
  assert.deepEqual([probes.isDue, deadlines.next], [false, 1400]);
  for (let now = 1400, sent = 1; sent <= KEEP_ALIVE_PROBES; sent++, now += KEEP_ALIVE_INTERVAL) {
    assert.equal(probes.onKeepAliveTimeout(false, now), true);
    assert.deepEqual([probes.isDue, probes.isBackedOff], [true, true]);
    probes.isDue = false;
  }
  assert.equal(probes.onKeepAliveTimeout(false, 100_000), false);
});

test('keep-alive leaves a connection alone that waits for an ACK anyway', () => {
  const deadlines = createDeadlines();
  const probes = new PeerProbes(deadlines, 1000, undefined, 0);
  assert.equal(probes.onKeepAliveTimeout(true, 5000), true);
  assert.deepEqual([probes.isDue, deadlines.next], [false, 6000]);
});

test('RFC 9293 §3.8.6.1: probes of a zero window come after waits that double, until it opens', () => {
  const deadlines = createDeadlines();
  const probes = new PeerProbes(deadlines, 0, undefined, 0);
  const rtt = new RttEstimator();
  probes.onWindowBlocked(rtt, 0);
  assert.equal(deadlines.at('persist'), FIRST_WINDOW_PROBE);
  assert.equal(deadlines.at('user'), USER_TIMEOUT);
  assert.equal(deadlines.take('persist', FIRST_WINDOW_PROBE), true);
  probes.onPersistTimeout(FIRST_WINDOW_PROBE);
  assert.deepEqual([probes.isDue, probes.isProbingWindow, probes.isAnswered], [true, true, true]);
  probes.onWindowBlocked(rtt, 0);
  assert.equal(deadlines.at('persist'), 2 * FIRST_WINDOW_PROBE);
  probes.onPersistTimeout(2 * FIRST_WINDOW_PROBE);
  assert.equal(probes.isAnswered, false);
  probes.onHeard(2 * FIRST_WINDOW_PROBE);
  assert.deepEqual([probes.isAnswered, probes.isProbingWindow], [true, true]);
  probes.onWindowOpened();
  assert.deepEqual([probes.isProbingWindow, deadlines.isSet('persist')], [false, false]);
});

test('the user timeout starts once, and again with every acknowledgement until nothing waits', () => {
  const deadlines = createDeadlines();
  const probes = new PeerProbes(deadlines, 0, undefined, 0);
  probes.startUserTimeout(0);
  probes.startUserTimeout(100);
  assert.equal(deadlines.next, USER_TIMEOUT);
  probes.restartUserTimeout(true, 200);
  assert.equal(deadlines.next, 200 + USER_TIMEOUT);
  probes.restartUserTimeout(false, 300);
  assert.equal(deadlines.next, Infinity);
});

function machineIn(state: 'LISTEN' | 'SYN-SENT'): {
  machine: StateMachine;
  deadlines: Deadlines;
  sendBuffer: SendBuffer;
  events: () => TcpEvent[];
} {
  const deadlines = createDeadlines();
  const flags = new EventFlags();
  const sendBuffer = new SendBuffer();
  const machine = new StateMachine(state, sendBuffer, flags, deadlines, undefined);
  const events = (): TcpEvent[] => {
    const raised: TcpEvent[] = [];
    for (let next = flags.next(true); next !== undefined; next = flags.next(true))
      raised.push(next);
    return raised;
  };
  return { machine, deadlines, sendBuffer, events };
}

test('a transition that figure 5 of RFC 9293 does not have is ignored', () => {
  const { machine, events } = machineIn('LISTEN');
  machine.enter('ESTABLISHED', 0);
  assert.equal(machine.state, 'LISTEN');
  assert.deepEqual(events(), []);
});

test('a failure closes the connection once: timers end, and what was queued is discarded', () => {
  const { machine, deadlines, sendBuffer, events } = machineIn('SYN-SENT');
  sendBuffer.write(new Uint8Array(100));
  deadlines.set('user', 1);
  machine.fail('refused', 0);
  machine.fail('timeout', 0);
  assert.deepEqual([machine.state, machine.failure], ['CLOSED', 'refused']);
  assert.deepEqual([deadlines.next, sendBuffer.size], [Infinity, 0]);
  assert.deepEqual(events(), ['failed', 'closed']);
});

test('TIME-WAIT is closed for the application, and lasts twice the segment lifetime', () => {
  const { machine, deadlines, events } = machineIn('SYN-SENT');
  for (const state of ['ESTABLISHED', 'FIN-WAIT-1', 'FIN-WAIT-2'] as const) machine.enter(state, 0);
  deadlines.set('keepAlive', 1);
  machine.enterTimeWait(
    {
      sendNext: 1,
      receiveNext: 1,
      window: 0,
      timestamps: false,
      timestampOffset: 0,
      recentTimestamp: 0,
      recentTimestampAt: 0,
    },
    0,
  );
  assert.deepEqual([machine.state, deadlines.next], ['TIME-WAIT', TIME_WAIT]);
  assert.deepEqual(events(), ['closed']);
  machine.enter('CLOSED', TIME_WAIT);
  assert.deepEqual(events(), []);
});
