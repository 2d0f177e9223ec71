import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { FLOWS_ENDED_A_TURN } from '../../../../../io/src/net/links/relay.ts';
import {
  datagramsOf,
  MessageReassembly,
  type UdpSession,
  UdpSessions,
} from '../../../../src/protocols/hysteria2/udp-sessions.ts';
import { ADDRESS_LIMIT, UDP_PAYLOAD_LIMIT } from '../../../../src/protocols/hysteria2/limits.ts';
import {
  decodeUdpMessage,
  encodeUdpMessage,
  udpHeaderSize,
  type UdpMessage,
} from '../../../../src/protocols/hysteria2/wire.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';

const random = new SeededRandom(1);
const ADDRESS = Buffer.from('test:123');

const fragment = (
  packetId: number,
  fragmentId: number,
  fragmentCount: number,
  data: string | Uint8Array,
): UdpMessage => ({
  sessionId: 123,
  packetId,
  fragmentId,
  fragmentCount,
  address: 'test:123',
  data: Buffer.from(data),
});

const split = (data: string | Uint8Array, maxSize: number): UdpMessage[] =>
  datagramsOf({ sessionId: 123, address: ADDRESS, data: Buffer.from(data) }, maxSize, random).map(
    (datagram) => {
      assert.ok(datagram.length <= maxSize);
      const message = decodeUdpMessage(datagram);
      assert.ok(message);
      return message;
    },
  );

/** core/internal/frag/frag_test.go, TestFragUDPMessage. */
for (const [data, maxSize, parts] of [
  ['hello', 100, ['hello']],
  ['hello', 20, ['hel', 'lo']],
  ['abcdefgh', 19, ['ab', 'cd', 'ef', 'gh']],
] as const) {
  test(`${data} in datagrams of ${maxSize} bytes is divided as by the reference`, () => {
    const messages = split(data, maxSize);
    assert.deepEqual(
      messages.map((message) => Buffer.from(message.data).toString()),
      parts,
    );
    assert.deepEqual(
      messages.map(({ fragmentId, fragmentCount }) => [fragmentId, fragmentCount]),
      parts.map((_, index) => [index, parts.length]),
    );
  });
}

test('a whole message has packet id 0, fragments share another', () => {
  assert.equal(split('hello', 100)[0]?.packetId, 0);
  for (let round = 0; round < 100; round++) {
    const [first, second] = split('hello', 20);
    assert.ok(first && second && first.packetId > 0);
    assert.equal(first.packetId, second.packetId);
  }
});

test('the packet ids of fragments are 1 to 65535', () => {
  for (const [below, packetId] of [
    [() => 0, 1],
    [() => 1, 2],
    [(limit: number) => limit - 1, 0xffff],
  ] as const) {
    const chosen = Object.assign(new SeededRandom(1), { below });
    const data = Buffer.from('hello');
    const [first] = datagramsOf({ sessionId: 1, address: ADDRESS, data }, 20, chosen);
    assert.equal(first && decodeUdpMessage(first)?.packetId, packetId);
  }
});

test('an address has 1 byte to ADDRESS_LIMIT bytes', () => {
  const count = (length: number): number =>
    datagramsOf(
      { sessionId: 1, address: Buffer.alloc(length, 'a'), data: Buffer.of(1) },
      ADDRESS_LIMIT + 100,
      random,
    ).length;
  assert.deepEqual([0, 1, ADDRESS_LIMIT, ADDRESS_LIMIT + 1].map(count), [0, 1, 1, 0]);
});

test('what cannot be sent gives no datagrams', () => {
  assert.deepEqual(split('', 100), []);
  assert.deepEqual(split(Buffer.alloc(UDP_PAYLOAD_LIMIT + 1), 1200), []);
  assert.deepEqual(split('hello', udpHeaderSize(ADDRESS.length)), []);
  assert.deepEqual(split('hello', 0), []);
  assert.equal(split(Buffer.alloc(255), udpHeaderSize(ADDRESS.length) + 1).length, 255);
  assert.deepEqual(split(Buffer.alloc(256), udpHeaderSize(ADDRESS.length) + 1), []);
  assert.equal(split(Buffer.alloc(UDP_PAYLOAD_LIMIT), 1200).length, 4);
});

/** TestDefragger: one after the other, into one reassembly. */
test('fragments are joined as by the reference', () => {
  const reassembly = new MessageReassembly();
  for (const [message, whole] of [
    [fragment(987, 0, 1, 'hello'), 'hello'],
    [fragment(987, 0, 2, 'hello '), undefined],
    [fragment(987, 1, 2, 'moto'), 'hello moto'],
    [fragment(987, 0, 3, 'deco'), undefined],
    [fragment(987, 1, 3, '*'), undefined],
    [fragment(987, 2, 3, '27'), 'deco*27'],
    [fragment(233, 1, 2, 'shinsekai'), undefined],
    [fragment(244, 1, 2, 'what???'), undefined],
    [fragment(233, 1, 2, ' annaijo'), undefined],
    [fragment(233, 88, 2, 'shinsekai'), undefined],
    [fragment(233, 2, 2, 'shinsekai'), undefined],
    [fragment(233, 0, 2, 'shinsekai'), 'shinsekai annaijo'],
  ] as const) {
    const result = reassembly.add(message);
    assert.equal(result && Buffer.from(result.data).toString(), whole);
    if (result) assert.deepEqual([result.fragmentId, result.fragmentCount], [0, 1]);
  }
});

test('a message of the same packet id as the one before it is complete again', () => {
  const reassembly = new MessageReassembly();
  for (let round = 0; round < 3; round++) {
    assert.equal(reassembly.add(fragment(5, 0, 2, 'a')), undefined);
    assert.equal(reassembly.add(fragment(5, 0, 2, 'x')), undefined);
    assert.equal(Buffer.from(reassembly.add(fragment(5, 1, 2, 'b'))?.data ?? []).toString(), 'ab');
  }
});

test('a whole message does not disturb one that is being joined', () => {
  const reassembly = new MessageReassembly();
  assert.equal(reassembly.add(fragment(5, 0, 2, 'a')), undefined);
  for (const count of [0, 1]) {
    const whole = fragment(0, 0, count, 'x');
    assert.equal(reassembly.add(whole), whole);
  }
  assert.equal(Buffer.from(reassembly.add(fragment(5, 1, 2, 'b'))?.data ?? []).toString(), 'ab');
});

test('fragments of the same packet id but another count are of another message', () => {
  const reassembly = new MessageReassembly();
  assert.equal(reassembly.add(fragment(5, 0, 2, 'x')), undefined);
  assert.equal(reassembly.add(fragment(5, 1, 3, 'b')), undefined);
  assert.equal(reassembly.add(fragment(5, 0, 3, 'a')), undefined);
  assert.equal(Buffer.from(reassembly.add(fragment(5, 2, 3, 'c'))?.data ?? []).toString(), 'abc');
});

test('a message beyond the limit is dropped, whole or in fragments', () => {
  const reassembly = new MessageReassembly();
  const half = Buffer.alloc(UDP_PAYLOAD_LIMIT / 2);
  assert.equal(reassembly.add(fragment(0, 0, 1, Buffer.alloc(UDP_PAYLOAD_LIMIT + 1))), undefined);
  const longest = fragment(0, 0, 1, Buffer.alloc(UDP_PAYLOAD_LIMIT));
  assert.equal(reassembly.add(longest), longest);
  assert.equal(reassembly.add(fragment(5, 0, 3, half)), undefined);
  assert.equal(reassembly.add(fragment(5, 1, 3, half)), undefined);
  assert.equal(reassembly.add(fragment(5, 2, 3, 'x')), undefined);
  // Nothing of it is kept: another one of the same id is complete.
  assert.equal(reassembly.add(fragment(5, 0, 3, 'a')), undefined);
  assert.equal(reassembly.add(fragment(5, 1, 3, 'b')), undefined);
  assert.equal(reassembly.add(fragment(5, 2, 3, 'c'))?.data.length, 3);
  assert.equal(reassembly.add(fragment(6, 0, 2, half)), undefined);
  assert.equal(reassembly.add(fragment(6, 1, 2, half))?.data.length, UDP_PAYLOAD_LIMIT);
});

test('a packet arrives whole, in whatever order its fragments do', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: UDP_PAYLOAD_LIMIT, size: 'max' }),
      fc.integer({ min: 40, max: 1500 }),
      fc.nat(0xffff_ffff),
      (data, maxSize, seed) => {
        const parts = split(data, maxSize);
        const order = new SeededRandom(seed);
        const shuffled = parts
          .map((part) => [order.next(), part] as const)
          .toSorted(([a], [b]) => a - b);
        const reassembly = new MessageReassembly();
        const results = shuffled.map(([, part]) => reassembly.add(part)).filter(Boolean);
        assert.equal(results.length, parts.length > 0 ? 1 : 0);
        if (results[0]) assert.deepEqual(Buffer.from(results[0].data), Buffer.from(data));
      },
    ),
    { numRuns: 200 },
  );
});

test('any fragments give messages within the limit', () => {
  const anything = fc.record(
    {
      sessionId: fc.constant(1),
      packetId: fc.nat(2),
      fragmentId: fc.nat(255),
      fragmentCount: fc.nat(255),
      address: fc.constant('test:123'),
      data: fc.uint8Array({ minLength: 1, maxLength: 3000, size: 'max' }),
    },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 40, size: 'max' }), (messages) => {
      const reassembly = new MessageReassembly();
      for (const message of messages) {
        assert.ok((reassembly.add(message)?.data.length ?? 0) <= UDP_PAYLOAD_LIMIT);
      }
    }),
  );
});

describe('the UDP sessions of a connection', () => {
  const peer = { host: 'test', port: 123 };

  /** The sessions of one end, what it sent, and the bytes of a message from the other end. */
  function endOf({
    accept,
    lost = () => false,
  }: {
    readonly accept?: (session: UdpSession) => boolean;
    readonly lost?: (datagram: Uint8Array) => boolean;
  } = {}) {
    const sent: UdpMessage[] = [];
    const channel = {
      maxDatagramSize: 20,
      sendDatagram(datagram: Uint8Array): boolean {
        if (lost(datagram)) return false;
        const message = decodeUdpMessage(datagram);
        assert.ok(message);
        sent.push(message);
        return true;
      },
    };
    return { sessions: new UdpSessions(channel, random, accept), sent };
  }
  const arriving = (sessionId: number, data: string, address: string | Buffer = ADDRESS) =>
    encodeUdpMessage({
      ...fragment(0, 0, 1, data),
      sessionId,
      address: Buffer.from(address),
    });
  const received = async (session: UdpSession): Promise<string | undefined> => {
    const packet = await session.receive();
    return (
      packet && `${packet.peer.host}:${packet.peer.port} ${Buffer.from(packet.data).toString()}`
    );
  };

  test('of a client are those that it opened: other messages and malformed ones are ignored', async () => {
    const { sessions } = endOf();
    const session = sessions.open();
    sessions.receive(arriving(session.id + 1, 'of another'));
    sessions.receive(arriving(session.id, 'no data').subarray(0, 12));
    sessions.receive(Buffer.alloc(0));
    assert.equal(sessions.count, 1);
    sessions.receive(arriving(session.id, 'own'));
    assert.equal(await received(session), 'test:123 own');
    assert.equal(session.dropped, 0);
  });

  test('drop and count a packet whose address is no endpoint, and receive the next one', async () => {
    const { sessions } = endOf();
    const session = sessions.open();
    for (const address of ['test', 'test:65536', 'te st:1', Buffer.from([0xff, 0x3a, 0x31])]) {
      sessions.receive(arriving(session.id, 'lost', address));
    }
    assert.equal(session.dropped, 4);
    sessions.receive(arriving(session.id, 'kept', '[2001:db8::7]:53'));
    assert.equal(await received(session), '2001:db8::7:53 kept');
  });

  test('send and receive nothing once they are closed', async () => {
    const { sessions, sent } = endOf();
    let notified = 0;
    const session = sessions.open(() => notified++);
    session.send({ data: Buffer.from('one'), peer });
    assert.deepEqual([sent.length, notified, session.dropped], [1, 1, 0]);
    session.close();
    assert.equal(sessions.count, 0);
    session.send({ data: Buffer.from('two'), peer });
    session.deliver(fragment(0, 0, 1, 'late'));
    assert.deepEqual([sent.length, notified, session.dropped], [1, 1, 1]);
    assert.equal(await session.receive(), undefined);
    assert.equal(await session.closed, undefined);
  });

  test('count a packet as lost with its first fragment that cannot be sent, and send no further one', () => {
    const { sessions, sent } = endOf({
      lost: (datagram) => decodeUdpMessage(datagram)?.fragmentId === 1,
    });
    const session = sessions.open();
    session.send({ data: Buffer.from('abcdefgh'), peer });
    assert.deepEqual(
      sent.map(({ fragmentId, fragmentCount }) => [fragmentId, fragmentCount]),
      [[0, 3]],
    );
    assert.equal(session.dropped, 1);
  });

  test('are closed after the time without a packet in either direction', async () => {
    const { sessions } = endOf();
    const clock = new ManualClock(5_000);
    const session = sessions.open();
    assert.equal(session.lastActive, 0);
    session.closeWhenIdle(clock, 60_000);
    assert.equal(session.lastActive, 5_000);
    clock.advance(50_000);
    session.send({ data: Buffer.from('out'), peer });
    assert.equal(session.lastActive, 55_000);
    clock.advance(50_000);
    sessions.receive(arriving(session.id, 'in'));
    assert.equal(session.lastActive, 105_000);
    clock.advance(59_000);
    assert.equal(sessions.count, 1);
    clock.advance(1_000);
    assert.equal(sessions.count, 0);
    assert.equal(await session.closed, undefined);
    assert.equal(clock.timers, 0);
  });

  test('of a server are those that it accepts, until it has closed them', async () => {
    const accepted: UdpSession[] = [];
    const refused: UdpSession[] = [];
    const { sessions } = endOf({
      accept(session) {
        (session.id === 7 ? refused : accepted).push(session);
        return session.id !== 7;
      },
    });
    for (const id of [0, 7, 0xffff_ffff, 0]) sessions.receive(arriving(id, `to ${id}`));
    assert.deepEqual(
      accepted.map(({ id }) => id),
      [0, 0xffff_ffff],
    );
    assert.equal(sessions.count, 2);
    assert.ok(accepted[0] && accepted[1] && refused[0]);
    assert.equal(await received(accepted[1]), 'test:123 to 4294967295');
    assert.equal(await refused[0].receive(), undefined);
    const cause = new Error('the connection is lost');
    sessions.close(cause);
    assert.equal(await accepted[0].closed, cause);
    sessions.receive(arriving(9, 'too late'));
    assert.equal(sessions.count, 0);
    assert.equal(accepted.length, 2);
  });

  test('of a connection that is lost are closed in turns', async () => {
    const { sessions } = endOf();
    const COUNT = 4 * FLOWS_ENDED_A_TURN;
    for (let i = 0; i < COUNT; i++) sessions.open();
    sessions.close(new Error('the connection is lost'));
    let turns = 0;
    for (; sessions.count > 0; turns++) await new Promise(setImmediate);
    assert.ok(turns >= COUNT / FLOWS_ENDED_A_TURN - 2, `${turns} turns`);
  });

  test('of a client have ids of their own', () => {
    const { sessions } = endOf();
    const [first, second] = [sessions.open(), sessions.open()];
    first.close();
    assert.equal(new Set([first.id, second.id, sessions.open().id]).size, 3);
  });
});
