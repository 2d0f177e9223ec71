import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  otherSide,
  type Side,
  SIDES,
  TcpPair,
} from '../../../../../test/support/netstack/tcp/tcp-pair.ts';

/** What the applications have done. That bytes, windows and acknowledgments are right is checked by the pair. */
interface Model {
  /** Who was told to wait for 'writable', and how many of those it had then. */
  readonly waits: Map<Side, number>;
  readonly ended: Set<Side>;
  /** Whether the server has accepted or refused its request. */
  isDecided: boolean;
  /** Whether a side has aborted or refused, so that bytes may be lost. */
  isAborted: boolean;
}

type Command = fc.Command<Model, TcpPair>;

const count = (pair: TcpPair, side: Side): number =>
  pair.events[side].filter((event) => event === 'writable').length;

/** Whether a side may write: it has room, or was told that it has some again. */
function mayWrite(model: Model, pair: TcpPair, side: Side): boolean {
  const before = model.waits.get(side);
  return before === undefined || count(pair, side) > before;
}

function command(
  name: string,
  run: (model: Model, pair: TcpPair) => void,
  check: (model: Readonly<Model>) => boolean = () => true,
): Command {
  return { check, run, toString: () => name };
}

const side = fc.constantFrom(...SIDES);
const isAlive =
  (who: Side) =>
  (model: Readonly<Model>): boolean =>
    !model.ended.has(who) && !model.isAborted;

const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.tuple(side, fc.integer({ min: 1, max: 20_000 })).map(([who, size]) =>
    command(
      `${who} writes ${size}`,
      (model, pair) => {
        if (!mayWrite(model, pair, who)) return;
        model.waits.delete(who);
        const before = count(pair, who);
        if (!pair.write(who, size)) model.waits.set(who, before);
      },
      isAlive(who),
    ),
  ),
  fc
    .tuple(side, fc.integer({ min: 1, max: 5 }))
    .map(([who, chunks]) =>
      command(`${who} reads ${chunks} chunks`, (_model, pair) => pair.take(who, chunks)),
    ),
  side.map((who) =>
    command(
      `${who} ends`,
      (model, pair) => {
        model.ended.add(who);
        pair.close(who);
      },
      isAlive(who),
    ),
  ),
  fc.tuple(side, fc.integer({ min: 1, max: 12 })).map(([to, segments]) =>
    command(`${segments} segments reach the ${to}`, (_model, pair) => {
      for (let each = 0; each < segments; each++) pair.step(to);
    }),
  ),
  fc.tuple(side, fc.nat(9), fc.integer({ min: 1, max: 6 })).map(([to, at, segments]) =>
    command(`from ${at} on ${segments} to the ${to} are lost`, (_model, pair) => {
      pair.waiting[to].splice(at, segments);
    }),
  ),
  fc.tuple(side, fc.nat(5), fc.nat(20)).map(([to, from, at]) =>
    command(`segment ${from} to the ${to} comes at place ${at}`, (_model, pair) => {
      const queue = pair.waiting[to];
      queue.splice(at, 0, ...queue.splice(from, 1));
    }),
  ),
  fc.tuple(side, fc.nat(5), fc.nat(20)).map(([to, from, at]) =>
    command(`segment ${from} to the ${to} comes again at place ${at}`, (_model, pair) => {
      const queue = pair.waiting[to];
      queue.splice(at, 0, ...queue.slice(from, from + 1));
    }),
  ),
  fc
    .integer({ min: 1, max: 1200 })
    .map((ms) => command(`${ms} ms pass`, (_model, pair) => pair.advance(ms))),
  fc.tuple(side, fc.constantFrom(0, 1, 3, Infinity)).map(([who, room]) =>
    command(`the ${who} may send ${room}`, (_model, pair) => {
      pair[who].out.room = room;
      pair.settle();
    }),
  ),
  fc.tuple(side, fc.constantFrom(300, 536, 1200)).map(([who, bytes]) =>
    command(`the path of the ${who} has ${bytes} bytes`, (_model, pair) => {
      pair[who].connection.onPathMtu(bytes, pair.now);
      pair.settle();
    }),
  ),
  side.map((who) =>
    command(`the path of the ${who} is restored`, (_model, pair) => {
      pair[who].connection.onPathRestored(pair.now);
      pair.settle();
    }),
  ),
];

const accept = command(
  'the server accepts',
  (model, pair) => {
    model.isDecided = true;
    pair.server.connection.accept();
    pair.settle();
  },
  ({ isDecided }) => !isDecided,
);

const END: fc.Arbitrary<Command>[] = [
  fc.constantFrom('reset', 'silent').map((how) =>
    command(
      `the server refuses: ${how}`,
      (model, pair) => {
        model.isDecided = true;
        model.isAborted = pair.server.connection.state !== 'LISTEN';
        if (model.isAborted) pair.server.connection.refuse(how, pair.now);
        else pair.server.connection.accept();
        pair.settle();
      },
      ({ isDecided }) => !isDecided,
    ),
  ),
  side.map((who) =>
    command(
      `the ${who} aborts`,
      (model, pair) => {
        model.isAborted = true;
        pair[who].connection.abort(pair.now);
        pair.settle();
      },
      ({ isAborted }) => !isAborted,
    ),
  ),
];

const choices = fc.record({
  initial: fc.tuple(
    fc.constantFrom(0xffff_f000, 0xffff_ffff, 0x7fff_f000, 0),
    fc.constantFrom(0x7fff_f000, 0xffff_ff00, 5),
  ),
  buffers: fc.tuple(fc.constantFrom(3000, 20_000, 65_535), fc.constantFrom(3000, 200_000, 65_535)),
  largest: fc.constantFrom(0, 0, 20_000),
  without: fc.subarray(['sack', 'timestamps', 'scale'] as const),
  isSimultaneous: fc.boolean(),
});

function pairOf({
  initial,
  buffers,
  largest,
  without,
  isSimultaneous,
}: typeof choices extends fc.Arbitrary<infer Choices> ? Choices : never): TcpPair {
  const side = (index: 0 | 1) => ({
    initialSequence: initial[index],
    settings: { receiveBuffer: buffers[index] },
    path: { segmentBytes: 1460, announcedMss: 1460, largestPayload: largest },
  });
  return new TcpPair({
    client: side(0),
    server: { ...side(1), role: isSimultaneous ? 'active' : 'passive' },
    without,
  });
}

const fresh = (isSimultaneous: boolean): Model => ({
  waits: new Map(),
  ended: new Set(),
  isDecided: isSimultaneous,
  isAborted: false,
});

/** Nothing holds either back any more: what was sent arrives, what arrives is read. */
function finish(model: Model, pair: TcpPair): void {
  for (const who of SIDES) pair[who].out.room = Infinity;
  if (!model.isDecided) pair.server.connection.accept();
  if (!model.isAborted) {
    // Without an end they are quiet once all is acknowledged, and who waited to write was called.
    pair.finish();
    for (const who of SIDES) {
      assert.equal(pair[who].connection.unacknowledged, 0);
      if (!model.ended.has(who)) assert.ok(mayWrite(model, pair, who), `${who} waits for ever`);
    }
  }
  for (const who of SIDES) pair.close(who);
  pair.finish();
}

test('whatever happens on the path, both streams arrive whole, and nothing is left', () => {
  fc.assert(
    fc.property(
      choices,
      fc.commands([...COMMANDS, ...COMMANDS.slice(0, 4), fc.constant(accept)], {
        maxCommands: 60,
        size: 'max',
      }),
      (chosen, commands) => {
        const model = fresh(chosen.isSimultaneous);
        const pair = pairOf(chosen);
        fc.modelRun(() => ({ model, real: pair }), commands);
        finish(model, pair);
        assert.ok(pair.states.every((state) => state === 'CLOSED'));
        for (const who of SIDES) {
          const { connection } = pair[who];
          assert.equal(pair.read(who), pair.written(who), `of the ${who} all is read`);
          assert.ok(connection.isEnded);
          assert.deepEqual([connection.failure, connection.held], [undefined, 0]);
          for (const event of ['established', 'end', 'finished', 'closed'] as const) {
            assert.ok(pair.events[who].includes(event), `the ${who} has no ${event}`);
          }
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('an abort or a refusal ends both sides, and loses nothing that its peer has received', () => {
  fc.assert(
    fc.property(
      choices,
      fc.commands([...COMMANDS, fc.constant(accept), ...END], { maxCommands: 40, size: 'max' }),
      side,
      (chosen, commands, last) => {
        const model = fresh(chosen.isSimultaneous);
        const pair = pairOf(chosen);
        fc.modelRun(() => ({ model, real: pair }), commands);
        pair[last].connection.abort(pair.now);
        model.isAborted = true;
        finish(model, pair);
        const [aborted, peer] = [pair[last].connection, pair[otherSide(last)].connection];
        assert.deepEqual([aborted.state, aborted.held], ['CLOSED', 0]);
        // A peer whose handshake or end is complete may be in TIME-WAIT, or was never known.
        assert.ok(['CLOSED', 'LISTEN'].includes(peer.state), peer.state);
        // What lies behind a gap is released with the link.
        if (peer.state === 'CLOSED' && peer.failure === undefined) assert.equal(peer.held, 0);
        assert.equal(pair.nextTimeout(), Infinity);
      },
    ),
    { numRuns: 80 },
  );
});
