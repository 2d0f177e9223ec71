import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ListenBacklog, type Ends } from '../../../src/flows/connection-places.ts';
import { InitialSequences } from '../../../src/tcp/initial-sequences.ts';
import { DISPLACED_A_SECOND, MAX_CHALLENGE_ACKS, TIME_WAIT } from '../../../src/limits.ts';
import { advance, distance, SequenceSpace, Timestamps } from '../../../src/tcp/sequence.ts';
import { TimeWait, type TimeWaitFacts } from '../../../src/tcp/time-wait.ts';
import { endpoint } from '../../../../../test/support/data/ip-packets.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import {
  Capture,
  type Segment,
  toRecord,
} from '../../../../../test/support/netstack/tcp/segments.ts';

describe('sequence numbers (RFC 9293 §3.4)', () => {
  test('distances are modulo 2^32', () => {
    assert.equal(distance(5, 8), 3);
    assert.equal(distance(8, 5), -3);
    assert.equal(distance(0xffff_fffe, 3), 5);
    assert.equal(distance(3, 0xffff_fffe), -5);
    assert.equal(advance(0xffff_fffe, 5), 3);
  });

  test('every offset has one, and is found again near itself', () => {
    const random = new SeededRandom(1);
    for (let count = 0; count < 1000; count++) {
      const space = new SequenceSpace(random.next());
      const offset = random.below(2 ** 45) - 1;
      const near = offset + random.below(2 ** 31) - 2 ** 30;
      assert.equal(space.offset(space.sequence(offset), near), offset);
    }
  });

  test('the SYN is at -1', () => {
    const space = new SequenceSpace(0xffff_ffff);
    assert.equal(space.sequence(-1), 0xffff_ffff);
    assert.equal(space.sequence(0), 0);
    assert.equal(space.offset(0xffff_ffff, 0), -1);
  });
});

describe('initial sequence numbers (RFC 6528)', () => {
  const local = endpoint('10.0.0.1', 443);
  const remote = endpoint('10.0.0.2', 50_000);

  test('grow by one in 4 microseconds for the same ends', () => {
    const sequences = new InitialSequences(new SeededRandom(1));
    const first = sequences.sequence(local, remote, 0);
    assert.equal(distance(first, sequences.sequence(local, remote, 1000)), 250_000);
  });

  test('differ by each of the ends, and by the secret', () => {
    const sequences = new InitialSequences(new SeededRandom(1));
    const all = [
      sequences.sequence(local, remote, 0),
      sequences.sequence({ ...local, port: 444 }, remote, 0),
      sequences.sequence(local, { ...remote, port: 50_001 }, 0),
      sequences.sequence({ ...remote, port: local.port }, remote, 0),
      sequences.sequence(local, { ...remote, a: 1 }, 0),
      new InitialSequences(new SeededRandom(2)).sequence(local, remote, 0),
    ];
    assert.equal(new Set(all).size, all.length);
  });

  test('timestamps go on from one connection to the next between two addresses', () => {
    const sequences = new InitialSequences(new SeededRandom(1));
    const offset = sequences.timestampOffset(local, remote);
    const samePair = sequences.timestampOffset({ ...local, port: 2 }, { ...remote, port: 1 });
    assert.equal(samePair, offset);
    assert.notEqual(sequences.timestampOffset(endpoint('10.0.0.3'), remote), offset);
  });
});

describe('timestamps (RFC 7323)', () => {
  test('an echo says when its segment was sent', () => {
    const timestamps = new Timestamps(0xffff_fff0);
    const sent = timestamps.at(100);
    assert.equal(timestamps.sentAt(sent, 250), 100);
    assert.equal(timestamps.sentAt(timestamps.at(251), 250), -1);
  });
});

describe('the backlog', () => {
  const from = (address: number, network = 0): Ends<number, number> => ({ address, network });

  /** A backlog with connections, each named by its client and its number. */
  function backlogOf(most: number, counts: Readonly<Record<number, number>>) {
    const backlog = new ListenBacklog<string, number, number>(most, most);
    for (const [address, count] of Object.entries(counts)) {
      for (let i = 0; i < count; i++) backlog.add(`${address}/${i}`, from(Number(address)));
    }
    return backlog;
  }

  test('the oldest dial of the client with the most gives way, and no other client that waits for an ACK', () => {
    const backlog = backlogOf(10, { 1: 5, 2: 3, 3: 1, 4: 1 });
    backlog.answered('3/0');
    assert.equal(backlog.victim(from(9), 0), '1/0');
    assert.ok(backlog.isDialling('1/0'));
    assert.ok(!backlog.isDialling('3/0'));
  });

  test('what a client has more of gives way: dials, or connections that wait for its ACK', () => {
    const backlog = backlogOf(10, { 1: 5 });
    backlog.answered('1/0');
    assert.equal(backlog.victim(from(9), 0), '1/1');
    for (const connection of ['1/1', '1/2']) backlog.answered(connection);
    assert.equal(backlog.victim(from(9), 0), '1/0');
  });

  test('where an address has too many, one of its own gives way', () => {
    const backlog = new ListenBacklog<string, number, number>(10, 2);
    for (const other of ['a', 'b']) backlog.add(other, from(1));
    for (const own of ['c', 'd']) backlog.add(own, from(2));
    assert.equal(backlog.victim(from(2), 0), 'c');
  });

  test('where one network gets most of the dials of a client, one of those gives way to the others', () => {
    const backlog = backlogOf(20, {});
    backlog.add('other', from(1, 7));
    for (let i = 0; i < 8; i++) backlog.add(`silent ${i}`, from(1, 5));
    assert.equal(backlog.heavier(from(1, 6)), 'silent 0');
    assert.equal(backlog.heavier(from(1, 5)), undefined);
    assert.equal(backlog.heavier(from(1, 7)), undefined);
  });

  test('so many a second give way to connections without a better claim, and to others any number', () => {
    const COUNT = DISPLACED_A_SECOND + 500;
    const backlog = backlogOf(COUNT, { 1: COUNT - 1, 2: 1 });
    let displaced = 0;
    for (let i = 0; i < COUNT; i++) if (backlog.victim(from(1), 0) !== undefined) displaced++;
    assert.equal(displaced, DISPLACED_A_SECOND);
    for (let i = 0; i < COUNT; i++) assert.ok(backlog.victim(from(3), 0));
    assert.ok(backlog.victim(from(1), 1000));
  });

  test('keeps nothing of what was removed', () => {
    const backlog = new ListenBacklog<number, number, number>(100, 2);
    for (let connection = 0; connection < 10_000; connection++) {
      backlog.add(connection, from(connection));
      backlog.answered(connection);
      backlog.remove(connection);
    }
    assert.equal(backlog.size, 0);
    assert.equal(backlog.victim(from(1), 0), undefined);
  });
});

describe('TIME-WAIT without its connection (RFC 9293 §3.10.7.4, RFC 6191)', () => {
  const FACTS: TimeWaitFacts = {
    sendNext: 5000,
    receiveNext: 0xffff_ff00,
    window: 500,
    timestamps: false,
    timestampOffset: 7,
    recentTimestamp: 100,
    recentTimestampAt: 0,
  };
  const arriving = (fields: Partial<Segment>): Parameters<TimeWait['segmentArrives']>[0] =>
    toRecord({
      flags: '.',
      sequence: FACTS.receiveNext,
      acknowledgment: FACTS.sendNext,
      window: 1000,
      payload: new Uint8Array(0),
      ...fields,
    });
  const verdict = (fields: Partial<Segment>, facts: Partial<TimeWaitFacts> = {}, now = 0): string =>
    new TimeWait({ ...FACTS, ...facts }, 0).segmentArrives(arriving(fields), now);
  const { receiveNext } = FACTS;

  test('the FIN again starts it anew', () => {
    const timeWait = new TimeWait(FACTS, 0);
    const fin = arriving({
      flags: 'F.',
      sequence: receiveNext - 101,
      payload: new Uint8Array(100),
    });
    assert.equal(timeWait.segmentArrives(fin, 1000), 'restart');
    assert.equal(timeWait.expiresAt, 1000 + TIME_WAIT);
  });

  test('its ACK is that of the connection', () => {
    const out = new Capture();
    const timeWait = new TimeWait({ ...FACTS, timestamps: true }, 0);
    assert.ok(timeWait.acknowledge(out, 33));
    const [ack] = out.take();
    assert.equal(ack?.sequence, 5000);
    assert.equal(ack.acknowledgment, receiveNext);
    assert.equal(ack.flags, '.');
    assert.deepEqual([ack.timestamp, ack.timestampEcho], [40, 100]);
    out.room = 0;
    assert.equal(timeWait.acknowledge(out, 33), false);
  });

  test('the last ACK of the peer needs no response', () => {
    assert.equal(verdict({}), 'ignored');
  });

  test('data gets an ACK, now and then', () => {
    const timeWait = new TimeWait(FACTS, 0);
    const data = arriving({ payload: new Uint8Array(10) });
    assert.equal(timeWait.segmentArrives(data, 0), 'acknowledge');
    assert.equal(timeWait.segmentArrives(data, 10), 'ignored');
    assert.equal(timeWait.segmentArrives(data, 1000), 'acknowledge');
  });

  test('a RST ends it only with the next number', () => {
    assert.equal(verdict({ flags: 'R' }), 'closed');
    assert.equal(verdict({ flags: 'R', sequence: receiveNext + 1 }), 'ignored');
  });

  test('a SYN with a later number, modulo 2^32, is a new connection', () => {
    assert.equal(verdict({ flags: 'S', sequence: receiveNext + 1 }), 'reopen');
    assert.equal(verdict({ flags: 'S', sequence: 77 }), 'reopen');
    assert.equal(verdict({ flags: 'S', sequence: receiveNext }), 'acknowledge');
    assert.equal(verdict({ flags: 'S', sequence: receiveNext - 1 }), 'acknowledge');
    assert.equal(verdict({ flags: 'S.', sequence: 77 }), 'acknowledge');
  });

  test('with timestamps the later one counts, and the number where they are equal', () => {
    const stamped = { timestamps: true };
    const syn = (timestamp: number, sequence: number): Partial<Segment> => ({
      flags: 'S',
      sequence,
      timestamp,
      timestampEcho: 0,
    });
    assert.equal(verdict(syn(101, receiveNext - 9), stamped), 'reopen');
    assert.equal(verdict(syn(100, receiveNext - 9), stamped), 'acknowledge');
    assert.equal(verdict(syn(100, receiveNext + 9), stamped), 'reopen');
    assert.equal(verdict(syn(99, receiveNext + 9), stamped), 'acknowledge');
  });

  test('the new connection begins beyond what the old one can still have on its way', () => {
    const timeWait = new TimeWait(FACTS, 0);
    assert.ok(distance(FACTS.sendNext, timeWait.nextInitialSequence) > 65_535);
  });

  test('challenges are limited', () => {
    const timeWait = new TimeWait(FACTS, 0);
    let responses = 0;
    for (let count = 0; count < 1000; count++) {
      const segment = arriving({ flags: 'S', sequence: receiveNext - 1 });
      if (timeWait.segmentArrives(segment, 0) === 'acknowledge') responses++;
    }
    assert.equal(responses, MAX_CHALLENGE_ACKS);
  });
});
