import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';
import {
  codec,
  FakeSessions,
  FakeSocket,
  listening,
  text,
} from '../../../../../../../test/support/protocols/shadowsocks/datagram-harness.ts';
import { setImmediate as settle } from 'node:timers/promises';
import {
  clientAt,
  keyFor,
  MODERN,
  server,
  SITE,
  WITH_IDENTITIES,
} from '../../../../../../../test/support/protocols/shadowsocks/harness.ts';

for (const method of WITH_IDENTITIES) {
  test(`${method}: users are identified by their identity headers`, async () => {
    const users = [10, 11].map((byte) => ({ key: keyFor(method, byte), email: `${byte}` }));
    const { receive, dispatcher, socket } = listening(method, { users });
    for (const [i, { key, email }] of users.entries()) {
      const from = codec(method, [keyFor(method, 1), key], { seed: email });
      assert.ok(receive(from.encode({ data: text(email), peer: SITE })));
      await settle();
      assert.equal(dispatcher.associations[i]?.origin.user, email);
      assert.equal(String(from.decode(socket.sent[i]!.data)?.data), email);
    }
    const key = keyFor(method, 10);
    for (const keys of [[keyFor(method, 1)], [key], [keyFor(method, 2), key]]) {
      assert.ok(!receive(codec(method, keys).encode({ data: text('x'), peer: SITE })));
    }
  });
}

for (const method of MODERN) {
  test(`${method}: a session survives a change of the client's address`, async () => {
    const { receive, socket, dispatcher } = listening(method);
    const from = codec(method);
    receive(from.encode({ data: text('a'), peer: SITE }));
    await settle();
    const moved = { host: '203.0.113.9', port: 9 };
    receive(from.encode({ data: text('b'), peer: SITE }), moved);
    await settle();
    assert.deepEqual(
      socket.sent.map(({ peer }) => peer),
      [clientAt, moved],
    );
    assert.equal(dispatcher.associations.length, 1);
  });

  test(`${method}: packets are accepted in any order within the window`, async () => {
    const { receive, socket } = listening(method);
    const from = codec(method);
    const packets = Array.from({ length: 3000 }, (_, i) =>
      from.encode({ data: text(`${i}`), peer: SITE }),
    );
    for (const i of [5, 3, 4, 2999, 2998, 952, 951, 950, 0, 3]) receive(packets[i]);
    await settle();
    const arrived = socket.sent.map(({ data }) => String(from.decode(data)?.data));
    assert.deepEqual(arrived, ['5', '3', '4', '2999', '2998', '952']);
  });

  test(`${method}: datagrams are dropped when clocks differ by more than 30 s`, async () => {
    const { receive, socket, clock } = listening(method);
    for (const [skew, accepted] of [
      [-31, 0],
      [-30, 1],
      [30, 2],
      [31, 2],
    ] as const) {
      const there = new ManualClock(0, clock.wall() + skew * 1000);
      const from = codec(method, undefined, { seed: `${skew}`, clock: there });
      receive(from.encode({ data: text('x'), peer: SITE }));
      await settle();
      assert.equal(socket.sent.length, accepted);
    }
  });

  test(`${method}: a client accepts a second session of its server, but no third at once`, async () => {
    const clock = new ManualClock();
    const from = codec(method, undefined, { clock });
    const request = from.encode({ data: text('x'), peer: SITE });
    const responseOf = async (seed: string): Promise<Uint8Array> => {
      const { handler } = server(method, {}, seed);
      const socket = new FakeSocket();
      const datagrams = handler.serveDatagrams?.(new FakeSessions());
      datagrams?.receive({ data: request!, peer: clientAt }, socket, false);
      await settle();
      return socket.sent[0]!.data;
    };
    assert.ok(from.decode(await responseOf('one')));
    assert.ok(from.decode(await responseOf('two')));
    assert.equal(from.decode(await responseOf('three')), undefined);
    clock.advance(60_000);
    clock.stepWall(-60_000);
    assert.ok(from.decode(await responseOf('three')));
    from[Symbol.dispose]();
  });

  test(`${method}: only packets to port 53 are padded`, () => {
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
