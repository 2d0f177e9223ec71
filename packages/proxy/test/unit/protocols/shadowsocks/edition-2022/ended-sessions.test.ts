import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplayWindow } from '@weir/crypto/replay';
import { EndedSessions } from '../../../../../src/protocols/shadowsocks/edition-2022/receiving-session.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';
import {
  codec,
  listening,
  text,
} from '../../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { setImmediate as settle } from 'node:timers/promises';
import { MODERN, SITE } from '../../../../../../../test/support/protocols/shadowsocks/harness.ts';

/** A server that has had one packet of a session, whose association has ended since. */
async function afterOne(method: (typeof MODERN)[number]) {
  const clock = new ManualClock();
  const { receive, socket, sessions } = listening(method, {}, clock);
  const from = codec(method, undefined, { clock });
  const packet = (data: string): Buffer => {
    const encoded = from.encode({ data: text(data), peer: SITE });
    assert.ok(encoded);
    return encoded;
  };
  const first = packet('first');
  receive(first);
  await settle();
  for (const destroy of sessions.live.values()) destroy(new Error('killed'));
  await settle();
  assert.equal(sessions.live.size, 0);
  const accepted = async (data: Uint8Array): Promise<boolean> => {
    const before = socket.sent.length;
    receive(data);
    await settle();
    return socket.sent.length > before;
  };
  return { clock, packet, first, accepted, method };
}

for (const method of MODERN) {
  test(`${method}: no packet is accepted again after the end of its association`, async () => {
    const { first, packet, accepted } = await afterOne(method);
    assert.ok(!(await accepted(first)));
    // The session may go on, and knows all of its packets then.
    const second = packet('second');
    assert.ok(await accepted(second));
    assert.ok(!(await accepted(first)));
    assert.ok(!(await accepted(second)));
  });

  test(`${method}: no packet is accepted again when the wall clock is set back`, async () => {
    const { clock, first, accepted } = await afterOne(method);
    clock.advance(3_600_000);
    const later = codec(method, undefined, { clock, seed: 'later' });
    assert.ok(await accepted(later.encode({ data: text('a new session'), peer: SITE })!));
    clock.stepWall(-3_600_000);
    assert.ok(!(await accepted(first)));
    // The first second after the time of the last packet that was forgotten.
    clock.stepWall(1_000);
    const next = codec(method, undefined, { clock, seed: 'next' });
    assert.ok(await accepted(next.encode({ data: text('x'), peer: SITE })!));
  });
}

const ended = (latest: number) => ({ window: new ReplayWindow(32), latest });

test('ended sessions are remembered for 61 s', () => {
  const clock = new ManualClock();
  const sessions = new EndedSessions(clock);
  const past = ended(100);
  sessions.keep('a', past);
  clock.advance(60_999);
  assert.equal(sessions.find('a')?.window, past.window);
  assert.equal(sessions.forgotten, -Infinity);
  clock.advance(1);
  assert.equal(sessions.find('a'), undefined);
  assert.equal(sessions.forgotten, 100);
});

test('of too many ended sessions the oldest are forgotten, and later packets demanded', () => {
  const sessions = new EndedSessions(new ManualClock(), 2);
  sessions.keep('a', ended(100));
  sessions.keep('b', ended(90));
  sessions.keep('a', ended(101));
  sessions.keep('c', ended(80));
  assert.equal(sessions.find('b'), undefined);
  assert.equal(sessions.forgotten, 90);
  sessions.resume('a');
  assert.equal(sessions.find('a'), undefined);
  sessions.keep('d', ended(70));
  assert.deepEqual([sessions.find('c')?.latest, sessions.find('d')?.latest], [80, 70]);
  assert.equal(sessions.forgotten, 90, 'a session that went on has not been forgotten');
});

test('the oldest session is forgotten when one too many ends, not when it is looked for', () => {
  const sessions = new EndedSessions(new ManualClock(), 1);
  sessions.keep('a', ended(100));
  sessions.keep('b', ended(90));
  sessions.resume('b');
  assert.equal(sessions.find('a'), undefined);
});

test('the demand for later packets does not wait for another session', () => {
  const clock = new ManualClock();
  const sessions = new EndedSessions(clock);
  sessions.keep('a', ended(100));
  clock.advance(61_000);
  assert.equal(sessions.forgotten, 100);
});
