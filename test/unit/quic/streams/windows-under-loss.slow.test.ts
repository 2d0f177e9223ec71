import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_CONNECTION_WINDOW,
  MAX_STREAM_WINDOW,
  PROVEN_STREAM_WINDOW,
} from '../../../../src/quic/streams/limits.ts';
import { SeededRandom } from '../../../support/simnet/seeded-random.ts';
import { type End, StreamsPair, type SentPacket } from '../../../support/quic/streams-pair.ts';

const ROUND_TRIP = 50;
const PACKET = 1250;
const CHUNK = Buffer.alloc(65_536, 'x');

/**
 * A sender with more to send than it may, which only the path's rate and the windows hold back. A lost
 * packet fills its gap one round trip after the others that left with it. The reader is quick, but takes
 * a chunk or two in each turn of its event loop.
 *
 * @param packets how many the path takes in a millisecond.
 * @param loss the share of the packets that are lost, in both directions.
 * @returns the share of the packets that the sender had credit for, second by second.
 */
function transfer(packets: number, loss: number, seconds: number): number[] {
  const { client, server } = new StreamsPair();
  const random = new SeededRandom(1);
  const events = new Map<number, (() => void)[]>();
  const at = (time: number, event: () => void): void => {
    const others = events.get(time);
    if (others) others.push(event);
    else events.set(time, [event]);
  };
  const send = (from: End, to: End, packet: SentPacket, now: number): void => {
    const lost = random.chance(loss);
    if (!lost) {
      at(now + ROUND_TRIP / 2, () => {
        assert.equal(to.receive(packet), undefined);
      });
    }
    at(now + ROUND_TRIP, () => {
      from.settle(lost ? 'lost' : 'acknowledged', packet);
    });
  };
  const id = client.streams.open(false) ?? -1;
  const used: number[] = [];
  for (let second = 0; second < seconds; second++) {
    let sent = 0;
    for (let now = second * 1000; now < (second + 1) * 1000; now++) {
      while (client.streams.queued(id) < packets * PACKET) client.streams.write(id, CHUNK);
      server.streams.setPace(now, ROUND_TRIP);
      for (const event of events.get(now) ?? []) event();
      events.delete(now);
      server.streams.read(id);
      server.streams.read(id);
      for (let i = 0; i < packets; i++) {
        const packet = client.packet(PACKET);
        if (!packet) break;
        if (packet.bytes.length > PACKET / 2) sent++;
        send(client, server, packet, now);
      }
      const packet = server.packet(PACKET);
      if (packet) send(server, client, packet, now);
    }
    used.push(sent / (1000 * packets));
  }
  return used;
}

for (const { packets, share } of [
  { packets: 10, share: 0.99 },
  { packets: 20, share: 0.99 },
  // Gaps whose repair is lost as well leave a little less, with the largest window of a stream.
  { packets: 40, share: 0.9 },
]) {
  const megabits = (packets * PACKET * 8) / 1000;
  test(`1 % loss: the windows grow until they do not limit ${megabits} Mbit/s over 50 ms`, () => {
    const used = transfer(packets, 0.01, 3);
    assert.ok((used.at(-1) ?? 0) >= share, `the sender had credit for ${used.join(', ')}`);
  });
}

/**
 * In each round trip the client sends what it may, and its first packet arrives last. Then the server
 * reads `chunks` chunks of what has become readable at once.
 */
function runRounds(
  rounds: number,
  chunks: number,
): { pair: StreamsPair; id: number; unread: number } {
  const pair = new StreamsPair();
  const { client, server } = pair;
  const id = client.streams.open(false) ?? -1;
  let unread = 0;
  for (let round = 0; round < rounds; round++) {
    server.streams.setPace(round * ROUND_TRIP, ROUND_TRIP);
    while (client.streams.queued(id) < MAX_STREAM_WINDOW) client.streams.write(id, CHUNK);
    const packets: SentPacket[] = [];
    for (let next = client.packet(); next; next = client.packet()) packets.push(next);
    const [first, ...others] = packets;
    for (const packet of first ? [...others, first] : []) {
      assert.equal(server.receive(packet), undefined);
      client.settle('acknowledged', packet);
    }
    unread = Math.max(unread, server.streams.unread);
    for (let i = 0; i < chunks && server.streams.read(id) !== undefined; i++);
    while (pair.deliver(server));
  }
  return { pair, id, unread };
}

test('a gap that is filled makes a window readable at once, and does not keep it from growing', () => {
  const { pair, id } = runRounds(12, Infinity);
  const { received } = pair.client;
  const steps = (frame: string): number[] => {
    const limits = received.filter((line) => line.startsWith(frame));
    return limits.map((line) => Number(line.split(' ').at(-1)));
  };
  const sent = pair.server.received.reduce((end, line) => {
    const [name, , offset, size] = line.split(' ');
    return name === 'STREAM' ? Math.max(end, Number(offset) + Number(size)) : end;
  }, 0);
  const stream = (steps(`MAX_STREAM_DATA ${id}`).at(-1) ?? 0) - sent;
  const connection = (steps('MAX_DATA').at(-1) ?? 0) - sent;
  assert.equal(stream, MAX_STREAM_WINDOW);
  assert.ok(connection > MAX_CONNECTION_WINDOW / 2, `${connection} bytes`);
});

test('the window of a reader that takes a part of what a filled gap has made readable stays', () => {
  const { unread } = runRounds(100, 2);
  assert.equal(unread, PROVEN_STREAM_WINDOW);
});
