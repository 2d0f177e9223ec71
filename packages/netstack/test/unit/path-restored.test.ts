import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RESTORED_A_TURN, RESTORED_INTERVAL } from '../../src/limits.ts';
import { TcpFlag } from '../../src/wire/tcp.ts';
import { CLIENT4, endpoint, segment, tcpPacket } from '../../../../test/support/data/ip-packets.ts';
import { BareStack, sentSegment } from '../../../../test/support/netstack/bare-stack.ts';

const { SYN, ACK } = TcpFlag;
/** So many that all of them have had their turn before the first one has its next SYN due. */
const MANY = 100 * RESTORED_A_TURN;

/** A stack with so many dials, of which each has sent its SYN at 0, 1 and 3 seconds. */
function dialling(count: number): BareStack {
  const stack = new BareStack({ addresses: [CLIENT4] });
  for (let i = 0; i < count; i++) {
    const to = endpoint('198.51.100.1', 1 + i);
    assert.ok(stack.stack.connect(to, 0));
  }
  stack.settle();
  stack.advance(3500);
  return stack;
}

/** Responds to the SYN in a packet. */
function establish(stack: BareStack, packet: Uint8Array | undefined): void {
  const { ip, tcp } = sentSegment(packet);
  const header = segment({
    sourcePort: tcp.destinationPort,
    destinationPort: tcp.sourcePort,
    flags: SYN | ACK,
    acknowledgment: (tcp.sequence + 1) >>> 0,
    window: 65_535,
    mss: 1000,
  });
  const parts = { source: ip.destination, destination: ip.source };
  stack.receive(tcpPacket(header, undefined, parts));
}

describe('a path that is restored', () => {
  test('gets what dials and connections in backoff have sent, and nothing of others', () => {
    const stack = dialling(3);
    for (const port of [80, 81]) {
      const flow = stack.stack.connect(endpoint('203.0.113.1', port), stack.now);
      assert.ok(flow);
      establish(stack, stack.settle()[0]);
      if (port === 80) flow.connection.write(Buffer.alloc(100));
      stack.stack.tcp.touch(flow);
      stack.settle();
    }
    stack.advance(1000);
    stack.stack.onPathRestored(stack.now);
    const sent = stack.advance(0).map((packet) => sentSegment(packet).tcp);
    const syns = sent.filter(({ flags }) => flags === SYN);
    const data = sent.filter(({ flags }) => flags !== SYN);
    assert.equal(syns.length, 3);
    assert.deepEqual(
      data.map(({ payload, payloadEnd }) => payloadEnd - payload),
      [100],
    );
  });

  test('gets them a few at a time, however many there are', () => {
    const stack = dialling(MANY);
    const begun = stack.now;
    stack.stack.onPathRestored(begun);
    let [sent, most] = [0, 0];
    while (sent < MANY) {
      stack.now = stack.stack.nextTimeout();
      stack.stack.onTimeout(stack.now);
      const { length } = stack.settle();
      sent += length;
      most = Math.max(most, length);
    }
    assert.equal(most, RESTORED_A_TURN);
    assert.equal(stack.now - begun, (MANY / RESTORED_A_TURN - 1) * RESTORED_INTERVAL);
  });

  test('begins anew with those that are left when it is restored again', () => {
    const stack = dialling(3 * RESTORED_A_TURN);
    stack.stack.onPathRestored(stack.now);
    assert.equal(stack.advance(0).length, RESTORED_A_TURN);
    stack.stack.onPathRestored(stack.now);
    assert.equal(stack.advance(2 * RESTORED_INTERVAL).length, 3 * RESTORED_A_TURN);
    assert.equal(stack.advance(500).length, 0);
  });

  test('gets nothing of what was aborted meanwhile', () => {
    const stack = dialling(2);
    stack.stack.onPathRestored(stack.now);
    for (const flow of stack.stack.tcp) stack.stack.abort(flow, stack.now);
    assert.equal(stack.advance(100_000).length, 0);
  });
});
