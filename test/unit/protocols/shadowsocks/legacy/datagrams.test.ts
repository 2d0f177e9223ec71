import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '../../../../../src/net/address.ts';
import type { DatagramCodec } from '../../../../../src/protocols/shadowsocks/packets.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { codec, listening, text } from '../datagram-harness.ts';
import { clientAt, keyFor, LEGACY, settle, SITE } from '../harness.ts';

for (const method of LEGACY) {
  test(`${method}: users are found by trial, and an address may pass to another user`, async () => {
    const users = Array.from({ length: 20 }, (_, i) => ({
      key: keyFor(method, i + 10),
      email: `${i}`,
    }));
    const { receive, dispatcher, sessions } = listening(method, { users });
    for (const [i, { key }] of users.entries()) {
      receive(codec(method, [key], { seed: `${i}` }).encode({ data: text('x'), peer: SITE }));
      await settle();
      assert.equal(dispatcher.associations[i]?.origin.user, `${i}`);
    }
    assert.equal(sessions.live.size, 1);
  });
}

describe('a legacy server of many users that unauthenticated clients send datagrams to', () => {
  const method = 'aes-128-gcm';
  const users = [10, 11, 12].map((byte) => ({ key: keyFor(method, byte), email: `${byte}` }));
  const from = (byte: number, seed: string): DatagramCodec =>
    codec(method, [keyFor(method, byte)], { seed });
  const at = (last: number): Endpoint => ({ host: `203.0.113.${last}`, port: 9 });
  const hello = (of: DatagramCodec) => of.encode({ data: text('x'), peer: SITE });
  const known = from(11, 'known');

  /** Reading the clock takes 15 ms, and so does a search. */
  class SlowClock extends ManualClock {
    override now(): number {
      this.advance(15);
      return super.now();
    }
  }
  const busy = () => {
    const to = listening(method, { users }, new SlowClock());
    assert.ok(to.receive(hello(known)));
    to.clock.advance(10_000);
    return to;
  };
  const flood = ({ receive }: ReturnType<typeof busy>): void => {
    for (let i = 0; i < 100; i++) receive(Buffer.alloc(100, i), at(i));
  };

  test('spends a bounded share of its time on searches, and still serves known users', () => {
    const to = busy();
    assert.ok(to.receive(hello(from(12, 'before')), at(200)));
    flood(to);
    assert.ok(!to.receive(hello(from(12, 'after')), at(201)));
    assert.ok(to.receive(hello(known)));
    assert.ok(to.receive(hello(from(11, 'other port')), { host: clientAt.host, port: 1 }));
    to.clock.advance(1_000);
    assert.ok(to.receive(hello(from(12, 'later')), at(202)));
  });

  test('searches for no user of a replay', () => {
    const to = busy();
    const datagram = hello(from(12, 'once'));
    assert.ok(to.receive(datagram, at(200)));
    to.clock.advance(1_000);
    for (let i = 0; i < 100; i++) assert.ok(!to.receive(datagram, at(i)));
    assert.ok(to.receive(hello(from(10, 'new')), at(201)));
  });

  test('needs no search when it has one user', () => {
    const to = listening(method, {}, new SlowClock());
    flood(to);
    assert.ok(to.receive(hello(codec(method)), at(201)));
  });
});
