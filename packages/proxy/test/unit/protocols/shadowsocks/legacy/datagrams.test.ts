import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '@weir/io/addresses';
import type { DatagramCodec } from '../../../../../src/protocols/shadowsocks/packets.ts';
import { costOfDatagram } from '@weir/io/bounds';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';
import {
  codec,
  FakeSocket,
  listening,
  text,
} from '../../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  clientAt,
  keyFor,
  LEGACY,
  SITE,
} from '../../../../../../../test/support/protocols/shadowsocks/harness.ts';
import { WaitingDatagrams } from '../../../../../src/protocols/shadowsocks/legacy/datagram-server.ts';

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

const method = 'aes-128-gcm';
const at = (last: number): Endpoint => ({ host: `203.0.113.${last}`, port: 9 });
const from = (byte: number, seed: string): DatagramCodec =>
  codec(method, [keyFor(method, byte)], { seed });
const hello = (of: DatagramCodec, data = 'x') => of.encode({ data: text(data), peer: SITE });

/** Users with the keys 10, 11 and so on. */
const usersFrom10 = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: keyFor(method, i + 10), email: `${i + 10}` }));

/** Lets turns and time pass until a condition holds; returns how many turns that took. */
async function turnsUntil(clock: ManualClock, condition: () => boolean): Promise<number> {
  for (let turns = 0; turns < 10_000; turns++) {
    if (condition()) return turns;
    await settle();
    clock.advance(100);
  }
  throw new Error('the condition never held');
}

describe('a legacy server of many users that unauthenticated clients send datagrams to', () => {
  const known = from(11, 'known');

  /** Reading the clock takes 15 ms, and so does the trial of a key. */
  class SlowClock extends ManualClock {
    override now(): number {
      this.advance(15);
      return super.now();
    }
  }
  const busy = async () => {
    const to = listening(method, { users: usersFrom10(3) }, new SlowClock());
    to.receive(hello(known));
    await turnsUntil(to.clock, () => to.dispatcher.associations.length === 1);
    to.clock.advance(10_000);
    return to;
  };
  const flood = ({ receive }: ReturnType<typeof listening>): void => {
    for (let i = 0; i < 100; i++) receive(Buffer.alloc(100, i), at(i));
  };

  test('still serves known users at once', async () => {
    const to = await busy();
    flood(to);
    assert.ok(to.receive(hello(known)));
    assert.ok(to.receive(hello(from(11, 'other port')), { host: clientAt.host, port: 1 }));
  });

  test('does not know a user by the source of a replay', async () => {
    const to = await busy();
    const datagram = hello(from(12, 'once'));
    to.receive(datagram, at(200));
    await turnsUntil(to.clock, () => to.dispatcher.associations.length === 2);
    for (let i = 0; i < 100; i++) assert.ok(!to.receive(datagram, at(i)));
    to.receive(hello(from(10, 'new')), at(201));
    // A search takes two trials a turn at most, and none was made for the replays.
    const turns = await turnsUntil(to.clock, () => to.dispatcher.associations.length === 3);
    assert.ok(turns < 10, `${turns} turns`);
  });

  test('needs no search when it has one user', () => {
    const to = listening(method, {}, new SlowClock());
    flood(to);
    assert.ok(to.receive(hello(codec(method)), at(201)));
  });
});

describe('the search for the user of a datagram', () => {
  const USERS = 40;
  const last = USERS + 9;

  /** Reading the clock takes a millisecond: a turn has time for one trial. */
  class TickingClock extends ManualClock {
    override now(): number {
      this.advance(1);
      return super.now();
    }
  }
  const start = (clock = new ManualClock()) =>
    listening(method, { users: usersFrom10(USERS) }, clock);

  test('tries the keys in turns of the event loop, some in each', async () => {
    const to = start(new TickingClock());
    const client = from(last, 'client');
    assert.equal(to.receive(hello(client)), false);
    assert.equal(to.dispatcher.associations.length, 0);
    const turns = await turnsUntil(to.clock, () => to.dispatcher.associations.length === 1);
    assert.ok(turns >= USERS, `${turns} turns`);
    assert.equal(to.dispatcher.associations[0]?.origin.user, `${last}`);
    assert.ok(to.receive(hello(client)), 'a known user is served at once');
  });

  test('keeps the datagrams of its client in order', async () => {
    const to = start(new TickingClock());
    const client = from(last, 'client');
    const sent = ['first', 'second', 'third'];
    for (const data of sent) to.receive(hello(client, data));
    await turnsUntil(to.clock, () => to.socket.sent.length === 3);
    const received = to.socket.sent.map(({ data }) => String(client.decode(data)?.data));
    assert.deepEqual(received, sent);
    assert.equal(to.dispatcher.associations.length, 1);
  });

  test('begins again for a datagram of another user that waited', async () => {
    const to = start(new TickingClock());
    for (const user of [last, last - 1]) to.receive(hello(from(user, `${user}`)));
    await turnsUntil(to.clock, () => to.dispatcher.associations.length === 2);
    const users = to.dispatcher.associations.map(({ origin }) => origin.user);
    assert.deepEqual(users, [`${last}`, `${last - 1}`]);
  });

  test('keeps what was received when the buffer of the datagram is used again', async () => {
    const to = start();
    const client = from(last, 'client');
    const buffers = ['first', 'second'].map((data) => hello(client, data));
    for (const data of buffers)
      to.datagrams.receive({ data: data!, peer: clientAt }, to.socket, false);
    for (const buffer of buffers) buffer?.fill(0);
    await settle();
    await settle();
    const received = to.socket.sent.map(({ data }) => String(client.decode(data)?.data));
    assert.deepEqual(received, ['first', 'second']);
  });

  test('opens no association when its listener has stopped serving new clients', async () => {
    const to = start();
    const client = from(last, 'client');
    for (const data of ['first', 'second']) to.receive(hello(client, data));
    to.socket.acceptsClients = false;
    await settle();
    await settle();
    assert.deepEqual([to.dispatcher.associations.length, to.socket.holds], [0, 0]);
    to.socket.acceptsClients = true;
    to.receive(hello(client, 'third'));
    await settle();
    await settle();
    assert.equal(to.dispatcher.associations.length, 1);
  });

  test('is made once for what a client sends at once from several ports', async () => {
    const to = start(new TickingClock());
    for (let port = 1; port <= 8; port++) {
      to.receive(hello(from(last, `port ${port}`)), { host: clientAt.host, port });
    }
    await turnsUntil(to.clock, () => to.dispatcher.associations.length === 1);
    const turns = await turnsUntil(to.clock, () => to.dispatcher.associations.length === 8);
    assert.ok(turns <= 2 * 7, `${turns} turns`);
  });

  test('holds back 16 datagrams of a client, and drops the others', async () => {
    const to = start();
    const client = from(last, 'client');
    for (let i = 0; i < 30; i++) to.receive(hello(client, `${i}`));
    await settle();
    await settle();
    assert.equal(to.socket.sent.length, 17);
    assert.equal(String(client.decode(to.socket.sent.at(-1)!.data)?.data), '16');
  });

  test('ends after five seconds, when its listener closes, and when its handler is replaced', async () => {
    const ends: ((to: ReturnType<typeof start>) => void)[] = [
      ({ clock }) => clock.advance(5_000),
      ({ socket }) => socket.close(),
      ({ datagrams }) => datagrams.retire?.(),
    ];
    for (const end of ends) {
      const to = start();
      to.receive(hello(from(last, 'client')));
      // Before the event loop has had a turn, in which the user would be found.
      end(to);
      await settle();
      await settle();
      assert.equal(to.dispatcher.associations.length, 0);
    }
  });
});

describe('datagrams that wait for a search', () => {
  const replyPath = new FakeSocket();
  const arrived = (length: number) => ({
    packet: { data: new Uint8Array(length), peer: clientAt },
    replyPath,
  });

  test('take 4 MiB at most, which is free again when they are released', () => {
    const waiting = new WaitingDatagrams();
    const fill = (): number => {
      let kept = 0;
      while (waiting.add(`${kept}`, arrived(64 * 1024))) kept++;
      return kept;
    };
    // Each costs some memory beside its data.
    const most = Math.floor((4 * 1024 * 1024) / costOfDatagram(64 * 1024));
    assert.equal(fill(), most);
    assert.equal(waiting.has(`${most - 1}`), true);
    assert.equal(waiting.has(`${most}`), false);
    for (let i = 0; i < most; i++) assert.deepEqual(waiting.release(`${i}`), []);
    assert.equal(fill(), most);
  });
});
