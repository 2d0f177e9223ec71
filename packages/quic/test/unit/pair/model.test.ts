import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ConnectionEvent } from '../../../src/connection/lifecycle.ts';
import type { StreamGrants } from '../../../src/streams/grants.ts';
import { address, Pair } from '../../../../../test/support/quic/pair.ts';
import type { Peer } from '../../../../../test/support/quic/peer.ts';
import {
  otherSide,
  type SeenPacket,
  type Side,
} from '../../../../../test/support/quic/wire-tap.ts';

/** Runs of the model; more of them show more: `WEIR_MODEL_RUNS=2000`. */
const RUNS = Number(process.env['WEIR_MODEL_RUNS'] ?? 60);

/** Small limits, so that all of them are reached. */
const GRANTS: StreamGrants = {
  connectionWindow: 20_000,
  maxConnectionWindow: 60_000,
  unread: 70_000,
  windowGrowth: 40_000,
  streamWindow: 6000,
  provenStreamWindow: 8000,
  maxStreamWindow: 30_000,
  bidirectionalStreams: 3,
  unidirectionalStreams: 2,
};

/** What a direction of a stream should have done. */
interface Flow {
  written: number;
  read: number;
  finished: boolean;
  ended: boolean;
  /** Reset by its writer or stopped by its reader: then less than all may arrive. */
  cut: boolean;
  /** Whether its writer was asked to wait, and its reader has found nothing. */
  mayWrite: boolean;
  mayRead: boolean;
}

/** The byte that belongs at an offset of a stream. */
const byteAt = (id: number, offset: number): number => (id * 31 + offset * 7) & 0xff;

/** Whether a side has a sending part of a stream. */
const sends = (side: Side, id: number): boolean =>
  (id & 2) === 0 || ((id & 1) === 0 ? 'client' : 'server') === side;

interface Choices {
  readonly seed: number;
  readonly delay: number;
  readonly authenticates: boolean;
  /** Packets after which keys are updated. */
  readonly updateAfter: number;
}

/** A pair, and what its streams should do, by a naive model. */
class World {
  readonly pair: Pair;
  readonly #flows = new Map<string, Flow>();
  readonly #known = { client: new Set<number>(), server: new Set<number>() };
  readonly #closed = { client: 0, server: 0 };
  readonly #sentDatagrams = { client: 0, server: 0 };
  #isAuthenticated: boolean;
  #seen = 0;
  #blackout = { client: -1, server: -1 };
  #jitter = 0;

  constructor({ seed, delay, authenticates, updateAfter }: Choices) {
    const settings = { grants: GRANTS, maxDatagramFrameSize: 1200, idleTimeout: 0 };
    const keys = { keyLimits: { updateAfter } };
    this.pair = new Pair({
      seed,
      delay,
      watch: 'judged',
      client: settings,
      server: { ...settings, authenticates },
      clientOptions: keys,
      serverOptions: keys,
    }).connect();
    this.#isAuthenticated = !authenticates;
    for (const side of ['client', 'server'] as const) {
      const peer = this.peer(side);
      peer.reads = false;
      peer.onEvent = (event) => this.#onEvent(side, event);
    }
    this.pair.passes = (_, towards) => this.pair.now > this.#blackout[towards];
  }

  peer(side: Side): Peer {
    return this.pair[side];
  }

  flow(writer: Side, id: number): Flow {
    const key = `${writer} ${id}`;
    const known = this.#flows.get(key);
    if (known) return known;
    const flow: Flow = {
      written: 0,
      read: 0,
      finished: false,
      ended: false,
      cut: false,
      mayWrite: true,
      mayRead: true,
    };
    this.#flows.set(key, flow);
    return flow;
  }

  /** A stream that this side knows of. */
  pick(side: Side, choice: number): number | undefined {
    const ids = [...this.#known[side]];
    return ids[choice % Math.max(1, ids.length)];
  }

  open(side: Side, bidirectional: boolean): void {
    const id = this.peer(side).connection.openStream(bidirectional);
    if (id !== undefined) this.#known[side].add(id);
  }

  write(side: Side, id: number, size: number): void {
    const flow = this.flow(side, id);
    const chunk = Buffer.from(Array.from({ length: size }, (_, i) => byteAt(id, flow.written + i)));
    const mayContinue = this.peer(side).connection.write(id, chunk);
    assert.equal(mayContinue !== undefined, sends(side, id) && !flow.finished && !flow.cut);
    if (mayContinue === undefined) return;
    flow.written += size;
    flow.mayWrite = mayContinue;
  }

  finish(side: Side, id: number): void {
    this.peer(side).connection.finish(id);
    const flow = this.flow(side, id);
    if (sends(side, id) && !flow.cut) flow.finished = true;
  }

  reset(side: Side, id: number): void {
    this.peer(side).connection.reset(id, 1);
    if (sends(side, id)) this.flow(side, id).cut = true;
  }

  stop(side: Side, id: number): void {
    this.peer(side).connection.stopSending(id, 2);
    const hasEnded = this.flow(otherSide(side), id).ended;
    if (sends(otherSide(side), id) && !hasEnded) this.#stopped.add(`${side} ${id}`);
  }

  /** Streams whose readers have stopped: their writers learn of it later. */
  readonly #stopped = new Set<string>();

  /** Reads at most so many chunks. */
  read(side: Side, id: number, chunks = Infinity): void {
    const flow = this.flow(otherSide(side), id);
    for (let i = 0; i < chunks; i++) {
      const chunk = this.peer(side).connection.read(id);
      if (chunk === undefined) {
        flow.mayRead = false;
        return;
      }
      assert.ok(!this.#stopped.has(`${side} ${id}`), 'nothing is read after it was stopped');
      if (chunk === 'end') {
        assert.ok(flow.finished && flow.read === flow.written, 'the end is where it was written');
        flow.ended = true;
        return;
      }
      assert.ok(!flow.ended);
      for (const byte of chunk) assert.equal(byte, byteAt(id, flow.read++));
      assert.ok(flow.read <= flow.written);
    }
  }

  sendDatagram(side: Side, size: number): void {
    const data = Buffer.alloc(size, this.#sentDatagrams[side]);
    if (this.peer(side).connection.sendDatagram(data)) this.#sentDatagrams[side]++;
  }

  authenticate(): void {
    this.#isAuthenticated = true;
    this.pair.server.connection.authenticated();
  }

  /** The client's datagrams come from another port, or another host. */
  move(host: number): void {
    Object.assign(this.pair.client, { address: address(`192.0.2.${host}`, 40_000 + host) });
    this.pair.leavePath();
  }

  advance(milliseconds: number): void {
    const { pair } = this;
    pair.flush();
    if (this.#jitter > 0) {
      for (const [i, flying] of pair.flying.entries()) {
        const late = pair.random.below(this.#jitter);
        pair.flying[i] = { ...flying, at: flying.at + late };
      }
    }
    pair.advance(milliseconds);
    this.check();
  }

  /** What is on its way is lost, comes twice, late, in the other order or changed. */
  disturb(how: 'drop' | 'twice' | 'late' | 'reverse' | 'change', choice: number): void {
    const { pair } = this;
    pair.flush();
    if (how === 'reverse') {
      pair.flying.reverse();
      return;
    }
    const at = choice % Math.max(1, pair.flying.length);
    const one = pair.flying[at];
    if (!one) return;
    if (how === 'drop') pair.flying.splice(at, 1 + (choice % 3));
    else if (how === 'twice') pair.flying.push({ ...one, at: one.at + choice });
    else if (how === 'late') pair.flying[at] = { ...one, at: one.at + choice * 10 };
    else {
      const data = Uint8Array.from(one.data);
      const offset = choice % data.length;
      data[offset] = (data[offset] ?? 0) ^ 0x10;
      pair.flying[at] = { ...one, data };
    }
  }

  /** Nothing arrives at a side for so long. */
  silence(towards: Side, milliseconds: number): void {
    this.#blackout[towards] = this.pair.now + milliseconds;
  }

  setJitter(milliseconds: number): void {
    this.#jitter = milliseconds;
  }

  /** No side promises more than its memory. */
  check(): void {
    const { packets } = this.pair.tap;
    for (; this.#seen < packets.length; this.#seen++) {
      const packet = packets[this.#seen];
      if (packet) this.#checkLimits(packet);
    }
    for (const side of ['client', 'server'] as const) {
      assert.equal(this.peer(side).connection.closeReason, undefined);
    }
  }

  #checkLimits({ from, frames }: SeenPacket): void {
    for (const [name, a, b] of frames) {
      if (name === 'maxStreamData') {
        const { read } = this.flow(otherSide(from), a as number);
        assert.ok((b as number) - read <= GRANTS.maxStreamWindow, 'the window of a stream');
      } else if (name === 'maxData') {
        let consumed = 0;
        for (const [key, flow] of this.#flows) {
          const [writer = '', id = ''] = key.split(' ');
          if (writer === from) continue;
          const isCut = flow.cut || this.#stopped.has(`${from} ${id}`);
          consumed += isCut ? flow.written : flow.read;
        }
        const isUnknown = from === 'server' && !this.#isAuthenticated;
        const most = isUnknown ? GRANTS.connectionWindow : GRANTS.unread;
        assert.ok((a as number) - consumed <= most, `${a as number} granted, ${consumed} read`);
      } else if (name === 'maxStreams') {
        const atOnce = a === true ? GRANTS.bidirectionalStreams : GRANTS.unidirectionalStreams;
        assert.ok((b as number) <= this.#closed[from] + atOnce, 'the limit of streams');
      }
    }
  }

  #onEvent(side: Side, event: ConnectionEvent): void {
    const { kind } = event;
    if (kind === 'stream-opened') this.#known[side].add(event.id);
    else if (kind === 'stream-closed') {
      this.#known[side].delete(event.id);
      if (((event.id & 1) === 0 ? 'client' : 'server') !== side) this.#closed[side]++;
    } else if (kind === 'stream-reset') {
      assert.ok(this.flow(otherSide(side), event.id).cut, 'a reset was asked for');
    } else if (kind === 'stream-stopped') {
      assert.ok(this.#stopped.has(`${otherSide(side)} ${event.id}`), 'a stop was asked for');
      this.flow(side, event.id).cut = true;
    } else if (kind === 'stream-readable') this.flow(otherSide(side), event.id).mayRead = true;
    else if (kind === 'stream-writable') this.flow(side, event.id).mayWrite = true;
  }

  /** Everything arrives and is read: then every stream that was not cut is complete. */
  drain(): void {
    this.#blackout = { client: -1, server: -1 };
    this.#jitter = 0;
    this.#settle();
    for (const [key, flow] of this.#flows) {
      const [writer = '', id = ''] = key.split(' ');
      assert.ok(flow.mayWrite || flow.cut || flow.finished, `the writer of ${key} may go on`);
      if (flow.cut || this.#stopped.has(`${otherSide(writer as Side)} ${id}`)) continue;
      assert.equal(flow.read, flow.written, `all of ${key} has arrived`);
      assert.equal(flow.ended, flow.finished, `the end of ${key}`);
    }
    for (const side of ['client', 'server'] as const) {
      const { datagrams } = this.peer(otherSide(side));
      assert.ok(datagrams.length <= this.#sentDatagrams[side]);
    }
  }

  /** Every stream and the connection end: nothing is left. */
  end(closer: Side): void {
    // The second time for streams of which a side has only then learned.
    for (let round = 0; round < 2; round++) {
      for (const side of ['client', 'server'] as const) {
        for (const id of this.#known[side]) if (sends(side, id)) this.finish(side, id);
      }
      this.#settle();
    }
    for (const side of ['client', 'server'] as const) {
      assert.deepEqual([...this.#known[side]], [], `${side} has forgotten its streams`);
    }
    const { pair } = this;
    pair[closer].connection.close(7, 'over', pair.now);
    pair.run(() => [pair.client, pair.server].every(({ connection: c }) => c.state === 'closed'));
    assert.equal(pair[otherSide(closer)].connection.closeReason?.code, 7);
    assert.equal(pair.clientIds.live.size + pair.serverIds.live.size, 0);
    for (const { connection } of [pair.client, pair.server]) {
      assert.equal(connection.nextTimeout(), Infinity);
    }
  }

  /** Reads what there was news of. Returns whether there was any. */
  readAll(side: Side): boolean {
    let isNews = false;
    for (const id of this.#known[side]) {
      const flow = this.flow(otherSide(side), id);
      if (!flow.mayRead || flow.ended || !sends(otherSide(side), id)) continue;
      this.read(side, id);
      isNews = true;
    }
    return isNews;
  }

  #settle(): void {
    for (let round = 0, quiet = 0; quiet < 3; round++, quiet++) {
      assert.ok(round < 1000, 'it comes to an end');
      const before = this.pair.tap.packets.length;
      this.pair.advance(2000);
      this.check();
      for (const side of ['client', 'server'] as const) if (this.readAll(side)) quiet = -1;
      if (this.pair.tap.packets.length > before + 8) quiet = -1;
    }
  }
}

type Command = fc.Command<object, World>;

const command = (name: string, run: (world: World) => void): Command => ({
  check: () => true,
  run: (_, world) => {
    run(world);
    world.check();
  },
  toString: () => name,
});

const side = fc.constantFrom<Side>('client', 'server');

/** A command about a stream that a side knows of, if there is one. */
const ofStream = (
  name: string,
  most: number,
  run: (world: World, side: Side, id: number, n: number) => void,
): fc.Arbitrary<Command> =>
  fc.tuple(side, fc.nat(8), fc.nat(most)).map(([who, choice, n]) =>
    command(`${name}(${who}, ${choice}, ${n})`, (world) => {
      const id = world.pick(who, choice);
      if (id !== undefined) run(world, who, id, n);
    }),
  );

const reads = ofStream('read', 3, (world, who, id, n) => world.read(who, id, n + 1));
const writes = ofStream('write', 12_000, (world, who, id, n) => world.write(who, id, n));
const opens = fc
  .tuple(side, fc.boolean())
  .map(([who, two]) => command(`open(${who}, ${two})`, (world) => world.open(who, two)));
/** A side reads all that it was told of. */
const pumps = side.map((who) => command(`pump(${who})`, (world) => world.readAll(who)));
const passes = fc
  .constantFrom(0, 1, 7, 30, 100)
  .map((ms) => command(`advance(${ms})`, (world) => world.advance(ms)));
const disturbs = fc
  .tuple(fc.constantFrom('drop', 'twice', 'late', 'reverse', 'change'), fc.nat(40))
  .map(([how, n]) => command(`disturb(${how}, ${n})`, (world) => world.disturb(how, n)));

const COMMANDS = fc.commands<object, World>(
  [
    opens,
    opens,
    ...Array.from({ length: 6 }, () => writes),
    reads,
    reads,
    ...Array.from({ length: 3 }, () => pumps),
    ...Array.from({ length: 6 }, () => passes),
    ...Array.from({ length: 4 }, () => disturbs),
    ofStream('finish', 0, (world, who, id) => world.finish(who, id)),
    ofStream('reset', 0, (world, who, id) => world.reset(who, id)),
    ofStream('stop', 0, (world, who, id) => world.stop(who, id)),
    fc
      .tuple(side, fc.constantFrom(50, 400, 3000))
      .map(([to, ms]) => command(`silence(${to}, ${ms})`, (world) => world.silence(to, ms))),
    fc.nat(30).map((ms) => command(`jitter(${ms})`, (world) => world.setJitter(ms))),
    fc
      .tuple(side, fc.nat(1100))
      .map(([who, n]) => command(`datagram(${who}, ${n})`, (world) => world.sendDatagram(who, n))),
    fc.constant(command('authenticate()', (world) => world.authenticate())),
    fc
      .integer({ min: 1, max: 40 })
      .map((n) => command(`move(${n})`, (world) => n < 4 && world.move(n))),
  ],
  { maxCommands: 250, size: 'max' },
);

const CHOICES = fc.record<Choices>({
  seed: fc.nat(1000),
  delay: fc.constantFrom(0, 5, 40),
  authenticates: fc.boolean(),
  updateAfter: fc.constantFrom(15, 60, 1e9),
});

test('two connections do what the model says, whatever the network does and the application wants', () => {
  fc.assert(
    fc.property(CHOICES, side, COMMANDS, (choices, closer, commands) => {
      const world = new World(choices);
      fc.modelRun(() => ({ model: {}, real: world }), commands);
      world.drain();
      world.end(closer);
    }),
    { numRuns: RUNS },
  );
});
