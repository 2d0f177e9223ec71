import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '../../../../src/net/address.ts';
import type { DatagramServer } from '../../../../src/protocols/contract.ts';
import { AssociationTable } from '../../../../src/protocols/shadowsocks/association-table.ts';
import { DatagramCodec2022 } from '../../../../src/protocols/shadowsocks/edition-2022/datagram-codec.ts';
import type { DatagramCodec } from '../../../../src/protocols/shadowsocks/packets.ts';
import { LegacyDatagramCodec } from '../../../../src/protocols/shadowsocks/legacy/datagrams.ts';
import { METHODS, type MethodName } from '../../../../src/protocols/shadowsocks/methods.ts';
import type { ShadowsocksInboundSettings } from '../../../../src/protocols/shadowsocks/settings.ts';
import type { User } from '../../../../src/protocols/shadowsocks/user-table.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { uncollected } from '../../../support/uncollected.ts';
import { inboundContext } from '../inbound-context.ts';
import {
  clientAt,
  EchoDispatcher,
  FakeAnswers,
  FakeSessions,
  keyFor,
  KnownRandom,
  METHOD_NAMES,
  MODERN,
  LEGACY,
  server,
  settle,
  WITH_IDENTITIES,
} from './harness.ts';

const SITE: Endpoint = { host: 'example.com', port: 5000 };
const ELSEWHERE: Endpoint = { host: '198.51.100.4', port: 1234 };

function codec(
  name: MethodName,
  keys: readonly string[] = [keyFor(name, 1)],
  { seed = 'client', clock = new ManualClock() } = {},
): DatagramCodec {
  const { [name]: method } = METHODS;
  const random = new KnownRandom(seed);
  const chain = keys.map((key) => Buffer.from(key, 'base64'));
  return method.edition === 'legacy'
    ? new LegacyDatagramCodec(method, chain.at(-1)!, random) // tests give at least one
    : new DatagramCodec2022({ method, clock, random }, chain);
}

function listening(
  name: MethodName,
  settings: Partial<ShadowsocksInboundSettings> = {},
  clock = new ManualClock(),
) {
  const { handler, dispatcher } = server(name, settings, 'server', clock);
  const sessions = new FakeSessions();
  const answers = new FakeAnswers();
  const datagrams = handler.serveDatagrams?.(sessions);
  assert.ok(datagrams);
  const receive = (data: Uint8Array | undefined, peer = clientAt, known = false): boolean => {
    assert.ok(data);
    return datagrams.receive({ data: Buffer.from(data), peer }, answers, known);
  };
  return {
    datagrams: datagrams satisfies DatagramServer,
    dispatcher,
    clock,
    sessions,
    answers,
    receive,
  };
}

const text = (data: string): Buffer => Buffer.from(data);

for (const method of METHOD_NAMES) {
  describe(`datagrams of ${method}`, () => {
    test('go to any peer and come back with their source, in one association', async () => {
      const { receive, answers, dispatcher, sessions } = listening(method);
      const from = codec(method);
      const peers = [SITE, ELSEWHERE, { host: '2001:db8::9', port: 53 }, SITE];
      for (const [i, peer] of peers.entries()) {
        assert.ok(receive(from.encode({ data: text(`packet ${i}`), peer })));
        await settle();
        const answer = answers.sent[i];
        assert.deepEqual(answer?.peer, clientAt);
        const packet = from.decode(answer.data);
        assert.equal(String(packet?.data), `packet ${i}`);
        assert.deepEqual(packet?.peer, peer);
        // An answer counts once.
        if (METHODS[method].edition === '2022') assert.equal(from.decode(answer.data), undefined);
      }
      assert.equal(dispatcher.associations.length, 1);
      assert.equal(dispatcher.associations[0]?.origin.source, clientAt.host);
      assert.equal(sessions.live.size, 1);
      const [wire] = sessions.wires;
      assert.ok(wire && wire.bytesRead > 100 && wire.bytesWritten > 100);
    });

    test('may be empty, or as large as UDP has them', async () => {
      const { receive, answers } = listening(method);
      const from = codec(method);
      for (const size of [0, 1, 65_000]) {
        const data = Buffer.alloc(size, 3);
        receive(from.encode({ data, peer: ELSEWHERE }));
        await settle();
        assert.deepEqual(from.decode(answers.sent.pop()?.data ?? data)?.data, data);
      }
    });

    test('count once: a repeated one is dropped', async () => {
      const { receive, answers } = listening(method);
      const datagram = codec(method).encode({ data: text('once'), peer: SITE });
      receive(datagram);
      receive(datagram);
      await settle();
      assert.equal(answers.sent.length, 1);
    });

    test('are dropped with a wrong key, any changed byte, or cut', async () => {
      const { receive, answers, dispatcher, sessions } = listening(method);
      assert.ok(
        !receive(codec(method, [keyFor(method, 2)]).encode({ data: text('x'), peer: SITE })),
      );
      const good = codec(method).encode({ data: text('x'), peer: SITE });
      assert.ok(good);
      for (let at = 0; at < good.length; at++) {
        const changed: Buffer = Buffer.from(good);
        changed[at]! ^= 1;
        assert.ok(!receive(changed));
        assert.ok(!receive(good.subarray(0, at)));
      }
      await settle();
      assert.deepEqual([answers.sent.length, dispatcher.associations.length], [0, 0]);
      assert.equal(sessions.live.size, 0);
      assert.ok(receive(good));
    });

    test('of our own, sent back to us, are no requests', async () => {
      const { receive, answers, dispatcher } = listening(method);
      receive(codec(method).encode({ data: text('x'), peer: SITE }));
      await settle();
      receive(answers.sent[0]?.data, { host: '192.0.2.66', port: 1 });
      await settle();
      assert.equal(dispatcher.associations.length, 1);
    });

    test('end their association after 300 s without any', async () => {
      const { receive, clock, sessions } = listening(method);
      const from = codec(method, undefined, { clock });
      receive(from.encode({ data: text('x'), peer: SITE }));
      clock.advance(299_000);
      receive(from.encode({ data: text('y'), peer: SITE }));
      await settle();
      clock.advance(299_999);
      await settle();
      assert.equal(sessions.live.size, 1);
      clock.advance(1);
      await settle();
      assert.equal(sessions.live.size, 0);
      assert.equal(clock.timers, 0);
    });

    test('end with their socket, and when the engine says so', async () => {
      const { receive, sessions, answers } = listening(method);
      receive(codec(method).encode({ data: text('x'), peer: SITE }));
      const [destroy] = sessions.live.values();
      destroy?.(new Error('over'));
      await settle();
      assert.equal(sessions.live.size, 0);
      const other = codec(method, undefined, { seed: 'other' });
      receive(other.encode({ data: text('y'), peer: SITE }));
      assert.equal(sessions.live.size, 1);
      answers.close();
      await settle();
      assert.equal(sessions.live.size, 0);
    });

    test('leave nothing behind on a socket that outlives their association', async () => {
      const { receive, sessions, dispatcher, answers } = listening(method);
      /** A datagram of a client of its own, whose association ends at once. */
      const passing = async (seed: string): Promise<WeakRef<object>> => {
        receive(codec(method, undefined, { seed }).encode({ data: text('x'), peer: SITE }));
        await settle();
        for (const destroy of sessions.live.values()) destroy(new Error('over'));
        await settle();
        const [request] = dispatcher.associations.splice(0);
        sessions.wires.length = 0;
        assert.ok(request);
        return new WeakRef(request.client);
      };
      const refs = [await passing('one'), await passing('two'), await passing('three')];
      assert.deepEqual(await uncollected(refs), []);
      assert.equal(answers.sent.length, 3);
    });

    test('are taken by a handler that was replaced when they are of its associations only', () => {
      const { receive } = listening(method);
      const [one, two] = [codec(method), codec(method, undefined, { seed: 'two' })];
      const first = one.encode({ data: text('x'), peer: SITE });
      assert.equal(receive(first, clientAt, true), false);
      assert.equal(receive(first), true);
      assert.equal(receive(one.encode({ data: text('y'), peer: SITE }), clientAt, true), true);
      const elsewhere = { host: '192.0.2.8', port: 1 };
      assert.equal(receive(two.encode({ data: text('z'), peer: SITE }), elsewhere, true), false);
    });
  });
}

for (const method of LEGACY) {
  test(`${method}: users are found by trial, and a client's address may change hands`, async () => {
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

describe('a legacy server of many users that strangers write to', () => {
  const method = 'aes-128-gcm';
  const users = [10, 11, 12].map((byte) => ({ key: keyFor(method, byte), email: `${byte}` }));
  const from = (byte: number, seed: string): DatagramCodec =>
    codec(method, [keyFor(method, byte)], { seed });
  const at = (last: number): Endpoint => ({ host: `203.0.113.${last}`, port: 9 });
  const hello = (of: DatagramCodec) => of.encode({ data: text('x'), peer: SITE });
  const known = from(11, 'known');

  /** Looking at the clock takes 15 ms: so does a search. */
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

  test('looks for a sender a bounded part of its time, and goes on to serve those it knows', () => {
    const to = busy();
    assert.ok(to.receive(hello(from(12, 'before')), at(200)));
    flood(to);
    assert.ok(!to.receive(hello(from(12, 'after')), at(201)));
    assert.ok(to.receive(hello(known)));
    assert.ok(to.receive(hello(from(11, 'other port')), { host: clientAt.host, port: 1 }));
    to.clock.advance(1_000);
    assert.ok(to.receive(hello(from(12, 'later')), at(202)));
  });

  test('does not look for the sender of what it has heard before', () => {
    const to = busy();
    const heard = hello(from(12, 'once'));
    assert.ok(to.receive(heard, at(200)));
    to.clock.advance(1_000);
    for (let i = 0; i < 100; i++) assert.ok(!to.receive(heard, at(i)));
    assert.ok(to.receive(hello(from(10, 'new')), at(201)));
  });

  test('has time for everybody when it has one user', () => {
    const to = listening(method, {}, new SlowClock());
    flood(to);
    assert.ok(to.receive(hello(codec(method)), at(201)));
  });
});

for (const method of WITH_IDENTITIES) {
  test(`${method}: users are known by their identity headers`, async () => {
    const users = [10, 11].map((byte) => ({ key: keyFor(method, byte), email: `${byte}` }));
    const { receive, dispatcher, answers } = listening(method, { users });
    for (const [i, { key, email }] of users.entries()) {
      const from = codec(method, [keyFor(method, 1), key], { seed: email });
      assert.ok(receive(from.encode({ data: text(email), peer: SITE })));
      await settle();
      assert.equal(dispatcher.associations[i]?.origin.user, email);
      assert.equal(String(from.decode(answers.sent[i]!.data)?.data), email);
    }
    const key = keyFor(method, 10);
    for (const keys of [[keyFor(method, 1)], [key], [keyFor(method, 2), key]]) {
      assert.ok(!receive(codec(method, keys).encode({ data: text('x'), peer: SITE })));
    }
  });
}

test('a user who opens more and more associations ends his own, not those of others', async () => {
  const method = '2022-blake3-aes-128-gcm';
  // Of so many that an equal part would be less than 256.
  const users = Array.from({ length: 40 }, (_, i) => ({
    key: keyFor(method, i + 10),
    email: `${i}`,
  }));
  const { receive, sessions, dispatcher, clock } = listening(method, { users });
  const session = (i: number, seed: string): DatagramCodec => {
    const { key } = users[i]!; // tests ask for those there are
    return codec(method, [keyFor(method, 1), key], { seed, clock });
  };
  const hello = (of: DatagramCodec) => of.encode({ data: text('x'), peer: SITE });
  const quiet = session(0, 'quiet');
  assert.ok(receive(hello(quiet)));
  const first = session(1, 'greedy 0');
  const second = session(1, 'greedy 1');
  for (const each of [first, second]) {
    clock.advance(1);
    assert.ok(receive(hello(each)));
  }
  clock.advance(1);
  assert.ok(receive(hello(first)));
  for (let i = 2; i < 600; i++) {
    clock.advance(1);
    assert.ok(receive(hello(session(1, `greedy ${i}`))));
    // Whoever is heard of goes last.
    if (i % 100 === 0) assert.ok(receive(hello(first), clientAt, true));
  }
  await settle();
  assert.equal(sessions.live.size, 1 + 256);
  assert.ok(receive(hello(quiet), clientAt, true));
  assert.ok(!receive(hello(second), clientAt, true));
  assert.equal(dispatcher.associations.length, 1 + 600);
});

for (const method of MODERN) {
  test(`${method}: a session survives a change of the client's address`, async () => {
    const { receive, answers, dispatcher } = listening(method);
    const from = codec(method);
    receive(from.encode({ data: text('a'), peer: SITE }));
    await settle();
    const moved = { host: '203.0.113.9', port: 9 };
    receive(from.encode({ data: text('b'), peer: SITE }), moved);
    await settle();
    assert.deepEqual(
      answers.sent.map(({ peer }) => peer),
      [clientAt, moved],
    );
    assert.equal(dispatcher.associations.length, 1);
  });

  test(`${method}: packets may come late and in any order, but not too late`, async () => {
    const { receive, answers } = listening(method);
    const from = codec(method);
    const packets = Array.from({ length: 3000 }, (_, i) =>
      from.encode({ data: text(`${i}`), peer: SITE }),
    );
    for (const i of [5, 3, 4, 2999, 2998, 952, 951, 950, 0, 3]) receive(packets[i]);
    await settle();
    const arrived = answers.sent.map(({ data }) => String(from.decode(data)?.data));
    assert.deepEqual(arrived, ['5', '3', '4', '2999', '2998', '952']);
  });

  test(`${method}: clocks more than 30 s apart are not taken`, async () => {
    const { receive, answers, clock } = listening(method);
    for (const [skew, taken] of [
      [-31, 0],
      [-30, 1],
      [30, 2],
      [31, 2],
    ] as const) {
      const there = new ManualClock(0, clock.wall() + skew * 1000);
      const from = codec(method, undefined, { seed: `${skew}`, clock: there });
      receive(from.encode({ data: text('x'), peer: SITE }));
      await settle();
      assert.equal(answers.sent.length, taken);
    }
  });

  test(`${method}: a client follows one new session of its server, not a third at once`, async () => {
    const clock = new ManualClock();
    const from = codec(method, undefined, { clock });
    const request = from.encode({ data: text('x'), peer: SITE });
    const answerOf = async (seed: string): Promise<Uint8Array> => {
      const { handler } = server(method, {}, seed);
      const answers = new FakeAnswers();
      const datagrams = handler.serveDatagrams?.(new FakeSessions());
      datagrams?.receive({ data: request!, peer: clientAt }, answers, false);
      await settle();
      return answers.sent[0]!.data;
    };
    assert.ok(from.decode(await answerOf('one')));
    assert.ok(from.decode(await answerOf('two')));
    assert.equal(from.decode(await answerOf('three')), undefined);
    clock.advance(60_000);
    clock.stepWall(-60_000);
    assert.ok(from.decode(await answerOf('three')));
    from[Symbol.dispose]();
  });

  test(`${method}: packets to port 53 are padded, no others`, () => {
    const lengths = (port: number): number => {
      const from = codec(method);
      const sizes = Array.from(
        { length: 30 },
        () => from.encode({ data: text('x'), peer: { host: '192.0.2.53', port } })?.length,
      );
      return new Set(sizes).size;
    };
    assert.ok(lengths(53) > 15);
    assert.equal(lengths(443), 1);
  });
}

function tableOf(users: number, limit: number) {
  const sessions = new FakeSessions();
  const context = inboundContext('ss', {
    dispatcher: new EchoDispatcher(),
    clock: new ManualClock(),
  });
  return {
    sessions,
    associations: new AssociationTable<undefined>(context, sessions, users, limit),
  };
}
const userOf = (index: number): User => ({ index, key: Buffer.alloc(16), label: undefined });

test('few users have an equal part of the associations each', async () => {
  const { associations, sessions } = tableOf(2, 1024);
  const sealer = { seal: () => undefined, [Symbol.dispose]: () => undefined };
  associations.open('quiet', userOf(0), clientAt, sealer, undefined);
  const greedy = userOf(1);
  for (let i = 0; i < 1100; i++) associations.open(`${i}`, greedy, clientAt, sealer, undefined);
  await settle();
  assert.equal(sessions.live.size, 1 + 512);
  assert.ok(associations.find('quiet'));
});

test('beyond their bound the association that was silent longest makes room', async () => {
  const { associations, sessions } = tableOf(1, 2);
  const user = userOf(0);
  let disposed = 0;
  const sealer = { seal: () => undefined, [Symbol.dispose]: () => void disposed++ };
  const [a, b, c] = ['a', 'b', 'c'] as const;
  associations.open(a, user, clientAt, sealer, undefined);
  associations.open(b, user, clientAt, sealer, undefined);
  assert.ok(associations.find(a));
  associations.open(c, user, clientAt, sealer, undefined);
  await settle();
  assert.deepEqual(
    [a, b, c].map((key) => associations.find(key) !== undefined),
    [true, false, true],
  );
  assert.deepEqual([sessions.live.size, disposed], [2, 1]);
});
