import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { END_OF_STREAM, type StreamGrants } from '../../../../src/quic/streams/streams.ts';
import { type End, StreamsPair, type SentPacket } from '../../../support/quic/streams-pair.ts';

/** Small limits, so that all of them are reached. */
const GRANTS: StreamGrants = {
  connectionWindow: 3000,
  maxConnectionWindow: 12_000,
  unread: 14_000,
  windowGrowth: 9000,
  streamWindow: 1000,
  provenStreamWindow: 1500,
  maxStreamWindow: 6000,
  bidirectionalStreams: 3,
  unidirectionalStreams: 2,
};
const MOST_UNREAD = GRANTS.unread;
const MOST_OF_PEER = GRANTS.bidirectionalStreams + GRANTS.unidirectionalStreams;

/** What a direction of a stream should have done, as a naive model. */
interface Flow {
  written: number;
  read: number;
  finished: boolean;
  ended: boolean;
  /** Reset by its writer or stopped by its reader: then less than all may arrive. */
  cut: boolean;
}

/** The byte that belongs at an offset of a stream. */
const byteAt = (id: number, offset: number): number => (id * 31 + offset * 7) & 0xff;

/** Whether a side has a sending part of a stream. */
const sends = (side: 0 | 1, id: number): boolean => (id & 2) === 0 || (id & 1) === side;

class Model {
  readonly pair = new StreamsPair(GRANTS, GRANTS);
  readonly ends = [this.pair.client, this.pair.server] as const;
  readonly #flows = new Map<string, Flow>();
  /** Packets on their way, of each end. */
  readonly #flying: [SentPacket[], SentPacket[]] = [[], []];
  /** Packets that were taken to be lost and arrive later. */
  readonly #late: [SentPacket[], SentPacket[]] = [[], []];
  readonly #known: [Set<number>, Set<number>] = [new Set(), new Set()];

  flow(writer: 0 | 1, id: number): Flow {
    const key = `${writer} ${id}`;
    const known = this.#flows.get(key);
    if (known) return known;
    const flow = { written: 0, read: 0, finished: false, ended: false, cut: false };
    this.#flows.set(key, flow);
    return flow;
  }

  open(side: 0 | 1, bidirectional: boolean): void {
    const id = this.ends[side].streams.open(bidirectional);
    if (id !== undefined) this.#known[side].add(id);
  }

  /** A stream that this side knows of. */
  pick(side: 0 | 1, choice: number): number | undefined {
    const ids = [...this.#known[side]];
    return ids[choice % Math.max(1, ids.length)];
  }

  write(side: 0 | 1, id: number, size: number): void {
    const flow = this.flow(side, id);
    const chunk = Buffer.from(Array.from({ length: size }, (_, i) => byteAt(id, flow.written + i)));
    if (this.ends[side].streams.write(id, chunk) !== undefined) flow.written += size;
  }

  finish(side: 0 | 1, id: number): void {
    this.ends[side].streams.finish(id);
    if (sends(side, id)) this.flow(side, id).finished = true;
  }

  reset(side: 0 | 1, id: number): void {
    this.ends[side].streams.reset(id, 1);
    this.flow(side, id).cut = true;
  }

  stop(side: 0 | 1, id: number): void {
    this.ends[side].streams.stopSending(id, 2);
    this.flow(side === 0 ? 1 : 0, id).cut = true;
  }

  read(side: 0 | 1, id: number): void {
    const chunk = this.ends[side].streams.read(id);
    if (chunk === undefined) return;
    const flow = this.flow(side === 0 ? 1 : 0, id);
    if (chunk === END_OF_STREAM) {
      assert.ok(flow.finished && flow.read === flow.written, 'the end is where it was written');
      flow.ended = true;
      return;
    }
    assert.ok(!flow.ended);
    for (const byte of chunk) assert.equal(byte, byteAt(id, flow.read++));
    assert.ok(flow.read <= flow.written);
  }

  takeEvents(side: 0 | 1): void {
    for (const event of this.ends[side].events()) {
      if (event.kind === 'stream-opened') this.#known[side].add(event.id);
      if (event.kind === 'stream-closed') this.#known[side].delete(event.id);
      if (event.kind === 'stream-reset') assert.ok(this.flow(side === 0 ? 1 : 0, event.id).cut);
    }
  }

  send(side: 0 | 1, size: number): void {
    const packet = this.ends[side].packet(size);
    if (packet) this.#flying[side].push(packet);
  }

  /** One packet on its way arrives, arrives twice, is lost, or is late. */
  settle(side: 0 | 1, choice: number, fate: 'arrives' | 'twice' | 'lost' | 'late'): void {
    const flying = this.#flying[side];
    const [packet] = flying.splice(choice % Math.max(1, flying.length), 1);
    if (!packet) return;
    const from = this.ends[side];
    if (fate === 'lost' || fate === 'late') {
      from.settle('lost', packet);
      if (fate === 'late') this.#late[side].push(packet);
      return;
    }
    this.#arrive(side, packet);
    if (fate === 'twice') assert.equal(this.pair.other(from).receive(packet), undefined);
    from.settle('acknowledged', packet);
  }

  #arrive(side: 0 | 1, packet: SentPacket): void {
    assert.equal(this.pair.other(this.ends[side]).receive(packet), undefined);
  }

  check(): void {
    for (const side of [0, 1] as const) {
      assert.ok(this.ends[side].streams.unread <= MOST_UNREAD);
      // Own streams may be more: the peer grants another before it has acknowledged the end of one.
      const ofPeer = [...this.#known[side]].filter((id) => (id & 1) !== side);
      assert.ok(ofPeer.length <= MOST_OF_PEER);
    }
  }

  /** Delivers and reads everything: then every stream that was not cut is complete. */
  drain(): void {
    for (const side of [0, 1] as const) {
      for (const packet of this.#late[side].splice(0)) {
        this.#arrive(side, packet);
        this.ends[side].settle('acknowledged', packet);
      }
      while (this.#flying[side].length > 0) this.settle(side, 0, 'arrives');
    }
    for (let round = 0, quiet = 0; quiet < 3; round++, quiet++) {
      assert.ok(round < 1000, 'it comes to an end');
      for (const side of [0, 1] as const) {
        while (this.pair.deliver(this.ends[side])) quiet = 0;
        this.takeEvents(side);
        for (const id of this.#known[side]) {
          const before = this.flow(side === 0 ? 1 : 0, id).read;
          for (let i = 0; i < 20; i++) this.read(side, id);
          if (this.flow(side === 0 ? 1 : 0, id).read > before) quiet = 0;
        }
      }
    }
    for (const [key, flow] of this.#flows) {
      if (flow.cut) continue;
      assert.equal(flow.read, flow.written, `all of ${key} has arrived`);
      assert.equal(flow.ended, flow.finished, `the end of ${key}`);
    }
    for (const side of [0, 1] as const) {
      for (const id of this.#known[side]) {
        const isOver = ([0, 1] as const).every((writer) => {
          const { ended, cut } = this.flow(writer, id);
          return ended || cut || !sends(writer, id);
        });
        assert.ok(!isOver, `${side} has forgotten stream ${id}`);
      }
    }
    for (const end of this.ends) assert.equal(end.streams.unread, 0);
  }
}

const side = fc.constantFrom(0 as const, 1 as const);
const step = fc.oneof(
  fc.record({ kind: fc.constant('open' as const), side, bidirectional: fc.boolean() }),
  fc.record({ kind: fc.constant('write' as const), side, choice: fc.nat(8), size: fc.nat(3000) }),
  fc.record({
    kind: fc.constantFrom('finish' as const, 'read' as const, 'read' as const),
    side,
    choice: fc.nat(8),
  }),
  fc.record({
    kind: fc.constantFrom('reset' as const, 'stop' as const),
    side,
    choice: fc.nat(40),
  }),
  fc.record({ kind: fc.constant('events' as const), side }),
  fc.record({ kind: fc.constant('send' as const), side, size: fc.integer({ min: 60, max: 1400 }) }),
  fc.record({ kind: fc.constant('send' as const), side, size: fc.integer({ min: 60, max: 1400 }) }),
  fc.record({
    kind: fc.constant('settle' as const),
    side,
    choice: fc.nat(20),
    fate: fc.constantFrom('arrives' as const, 'arrives' as const, 'twice', 'lost', 'late'),
  }),
);

function apply(model: Model, action: Parameters<Parameters<typeof step.map>[0]>[0]): void {
  switch (action.kind) {
    case 'open':
      return model.open(action.side, action.bidirectional);
    case 'events':
      return model.takeEvents(action.side);
    case 'send':
      return model.send(action.side, action.size);
    case 'settle':
      return model.settle(action.side, action.choice, action.fate);
    case 'write':
    case 'finish':
    case 'read':
    case 'reset':
    case 'stop': {
      const id = model.pick(action.side, action.choice);
      if (id === undefined) return undefined;
      if (action.kind === 'write') return model.write(action.side, id, action.size);
      return model[action.kind](action.side, id);
    }
    default:
      return action satisfies never;
  }
}

test('streams used at random over a path that loses and reorders keep what the model says', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const model = new Model();
      for (const action of steps) {
        apply(model, action);
        model.check();
      }
      model.drain();
    }),
    { numRuns: 300 },
  );
});

test('frames of any numbers are taken or refused with an error, in bounded memory', () => {
  const id = fc.nat(60);
  const offset = fc.oneof(fc.nat(4000), fc.constant(Number.MAX_SAFE_INTEGER - 5000));
  const frame = fc.oneof(
    fc.tuple(fc.constant('stream' as const), id, offset, fc.nat(1200), fc.boolean()),
    fc.tuple(fc.constant('reset' as const), id, offset),
    fc.tuple(fc.constantFrom('stop', 'limit', 'blocked', 'data', 'streams', 'few'), id, offset),
  );
  const bytes = Buffer.alloc(1200);
  const apply = (end: End, [kind, id, number, size, fin]: readonly unknown[]): unknown => {
    const { streams } = end;
    const [a, b] = [id as number, number as number];
    switch (kind) {
      case 'stream':
        return streams.stream(a, b, bytes, 0, size as number, fin as boolean);
      case 'reset':
        return streams.resetStream(a, 1, b);
      case 'stop':
        return streams.stopSendingReceived(a, b);
      case 'limit':
        return streams.maxStreamData(a, b);
      case 'blocked':
        return streams.streamDataBlocked(a, b);
      case 'data':
        return streams.dataBlocked(b);
      case 'streams':
        return streams.maxStreams(a % 2 === 0, b);
      default:
        return streams.streamsBlocked(a % 2 === 0, b);
    }
  };
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 200, size: 'max' }), (frames) => {
      const { server } = new StreamsPair(GRANTS, GRANTS);
      const own = 3;
      for (let i = 0; i < own; i++) server.streams.open(i % 2 === 0);
      for (const one of frames) {
        if (apply(server, one) !== undefined) break; // the connection would be closed
        assert.ok(server.streams.unread <= MOST_UNREAD);
        assert.ok(server.streams.size <= MOST_OF_PEER + own);
      }
      while (server.packet()) assert.ok(true);
    }),
    { numRuns: 1000 },
  );
});
