import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { HttpField } from '../../../src/fields/field.ts';
import { Http2ErrorCode } from '../../../src/http2/errors.ts';
import type { StreamLog } from '../../../../../test/support/http2/core.ts';
import { Http2Pair, type Side, SIDES } from '../../../../../test/support/http2/pair.ts';

/** What the users of both sides have done. That frames keep to the rules is checked by the pair. */
interface Model {
  /** The field lists that were sent: heads and trailers, by side and stream. */
  readonly heads: Map<string, readonly HttpField[]>;
  readonly trailers: Map<string, readonly HttpField[]>;
  readonly ended: Set<string>;
  /** Writers that were told to wait, and how often they had been called then. */
  readonly waits: Map<StreamLog, number>;
  /** Streams that a user has reset. */
  readonly reset: Set<number>;
  hasGoneAway: boolean;
  /** PINGs and changes of settings, and their acknowledgements. */
  asked: number;
  acknowledged: number;
}

type Command = fc.Command<Model, Http2Pair>;
const command = (name: string, run: (model: Model, pair: Http2Pair) => void): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

const side = fc.constantFrom(...SIDES);
const text = fc.string({ unit: fc.constantFrom('a', 'b', '~'), maxLength: 30, size: 'max' });
const fields = fc
  .array(
    fc.tuple(
      fc.constantFrom('x-a', 'x-b', 'cookie'),
      fc.oneof(text, fc.constant('l'.repeat(4_200))),
    ),
    {
      maxLength: 3,
    },
  )
  .map((pairs) => pairs.map(([name, value]) => ({ name, value })));
const REQUEST = [':method', ':scheme', ':path'].map((name) => ({ name, value: '/' }));
const size = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 90_000 }));

/** A stream of a side, by a number; nothing happens where it has none. */
function on(
  name: string,
  who: Side,
  number: number,
  run: (log: StreamLog, key: string, model: Model, pair: Http2Pair) => void,
): Command {
  return command(`${who} ${name} on call ${number}`, (model, pair) => {
    const { length } = pair.calls;
    const call = pair.calls[length === 0 ? 0 : length - 1 - (number % length)];
    const log = call && pair.logOf(who, call.stream.id);
    if (log) run(log, `${who} ${log.stream.id}`, model, pair);
  });
}

/** Responds if that was not done yet. */
function respond(log: StreamLog, key: string, model: Model, more: readonly HttpField[] = []): void {
  if (!key.startsWith('server') || model.heads.has(key) || log.stream.localEnded) return;
  const head = [{ name: ':status', value: '200' }, ...more];
  model.heads.set(key, head);
  log.stream.respond(head, false);
}

const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.tuple(fields, fc.nat(5)).map(([more, dice]) =>
    command(`client opens${dice === 0 ? ' and ends' : ''}`, (model, pair) => {
      const head = [...REQUEST, ...more];
      const log = pair.open(head, dice === 0);
      if (!log) return;
      const key = `client ${log.stream.id}`;
      model.heads.set(key, head);
      if (dice === 0) model.ended.add(key);
    }),
  ),
  fc.tuple(fc.nat(3), fields).map(([number, more]) =>
    on('responds', 'server', number, (log, key, model, pair) => {
      respond(log, key, model, more);
      pair.settle();
    }),
  ),
  fc.tuple(side, fc.nat(3), size).map(([who, number, bytes]) =>
    on(`writes ${bytes}`, who, number, (log, key, model, pair) => {
      if (who === 'server') respond(log, key, model);
      const before = log.writable;
      if (pair.write(who, log, bytes) === false) model.waits.set(log, before);
    }),
  ),
  fc
    .tuple(side, fc.nat(3), size)
    .map(([who, number, bytes]) =>
      on(`reads ${bytes}`, who, number, (log, _key, _model, pair) => pair.read(who, log, bytes)),
    ),
  fc.tuple(side, fc.nat(3), fc.option(fields)).map(([who, number, trailers]) =>
    on(`ends${trailers ? ' with trailers' : ''}`, who, number, (log, key, model, pair) => {
      if (who === 'server') respond(log, key, model);
      if (log.stream.isWritable) {
        model.ended.add(key);
        if (trailers) model.trailers.set(key, trailers);
        log.stream.end(trailers ?? undefined);
      }
      pair.settle();
    }),
  ),
  fc.tuple(side, fc.nat(3)).map(([who, number]) =>
    on('resets', who, number, (log, _key, model, pair) => {
      model.reset.add(log.stream.id);
      log.stream.reset(Http2ErrorCode.CANCEL);
      assert.equal(log.stream.readable, 0);
      pair.settle();
    }),
  ),
  fc
    .tuple(
      side,
      fc.record(
        {
          initialWindowSize: fc.constantFrom(0, 1, 100, 3_000, 70_000),
          maxConcurrentStreams: fc.constantFrom(0, 1, 3, 100),
          headerTableSize: fc.constantFrom(0, 60, 4_096, 65_536),
          maxFrameSize: fc.constantFrom(16_384, 100_000),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([who, settings]) =>
      command(`${who} sets ${JSON.stringify(settings)}`, (model, pair) => {
        if (pair.change(who, settings, () => model.acknowledged++)) model.asked++;
      }),
    ),
  side.map((who) =>
    command(`${who} pings`, (model, pair) => {
      if (pair[who].connection.ping(() => model.acknowledged++)) model.asked++;
      pair.settle();
    }),
  ),
  fc
    .tuple(side, fc.boolean())
    .map(([who, isBlocked]) =>
      command(`the link of the ${who} is ${isBlocked ? '' : 'not '}blocked`, (_model, pair) =>
        pair.block(who, isBlocked),
      ),
    ),
];

const arrivals = fc
  .tuple(side, fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(100_000)))
  .map(([to, bytes]) =>
    command(`${bytes} bytes reach the ${to}`, (_model, pair) => pair.step(to, bytes)),
  );
const goAway = side.map((who) =>
  command(`${who} goes away`, (model, pair) => {
    model.hasGoneAway = true;
    pair[who].connection.goAway();
    pair.settle();
  }),
);

/** Nothing holds either back any more: all arrives and is read. */
function drain(model: Model, pair: Http2Pair): void {
  for (const who of SIDES) pair.block(who, false);
  pair.deliver();
  for (const who of SIDES) {
    assert.ok(pair.change(who, { initialWindowSize: WINDOW }, () => model.acknowledged++));
    model.asked++;
  }
  let before = -1;
  for (let read = 0; read !== before;) {
    pair.deliver();
    before = read;
    read = 0;
    for (const who of SIDES) {
      for (const { stream } of pair.calls) {
        const log = pair.logOf(who, stream.id);
        if (!log) continue;
        pair.read(who, log);
        read += log.data.length;
      }
    }
  }
}

/** What a side has received of a stream that nothing has ended early is all that the other one has sent. */
function compare(model: Model, pair: Http2Pair): void {
  for (const { stream } of pair.calls) {
    const { id } = stream;
    const logs = SIDES.map((who) => pair.logOf(who, id));
    const early = logs.find((log) => log?.end !== undefined)?.end;
    if (early) assert.ok(model.reset.has(id) || model.hasGoneAway, `an end for ${early.code}`);
    if (model.reset.has(id) || early) continue;
    for (const [index, who] of SIDES.entries()) {
      const [log, from] = [logs[index], SIDES[1 - index] ?? who];
      const key = `${from} ${id}`;
      assert.ok(log, 'a request that did not arrive');
      assert.equal(log.data.length, pair.written.get(key) ?? 0);
      assert.deepEqual(log.head, model.heads.get(key) ?? []);
      assert.deepEqual(log.trailers, model.trailers.get(key));
      assert.equal(log.stream.remoteEnded, model.ended.has(key));
      assert.equal(log.stream.localEnded, model.ended.has(`${who} ${id}`));
      const waited = model.waits.get(log);
      assert.ok(waited === undefined || log.writable > waited, 'a writer that waits for ever');
    }
  }
}

/** The windows of streams at the end of a run. */
const WINDOW = 70_000;
const windows = fc.constantFrom(100, 40_000, 1 << 20);
const initial = fc.constantFrom(undefined, 50, 20_000);

test('whatever the users do and however bytes are cut, streams carry what was sent, and nothing is left', () => {
  fc.assert(
    fc.property(
      fc.tuple(windows, initial, windows, initial),
      fc.commands([...COMMANDS, ...COMMANDS.slice(0, 5), arrivals, arrivals, arrivals, goAway], {
        maxCommands: 80,
        size: 'max',
      }),
      ([clientWindow, clientInitial, serverWindow, serverInitial], commands) => {
        const settings = (initialWindowSize: number | undefined) =>
          initialWindowSize === undefined ? {} : { initialWindowSize };
        const pair = new Http2Pair(
          { connectionWindow: clientWindow, settings: settings(clientInitial) },
          { connectionWindow: serverWindow, settings: settings(serverInitial) },
        );
        const model: Model = {
          heads: new Map(),
          trailers: new Map(),
          ended: new Set(),
          waits: new Map(),
          reset: new Set(),
          hasGoneAway: false,
          asked: 0,
          acknowledged: 0,
        };
        fc.modelRun(() => ({ model, real: pair }), commands);
        drain(model, pair);
        compare(model, pair);
        // What is open carries several windows more, read in pieces, and ends.
        for (const who of SIDES) {
          const key = ({ stream }: StreamLog): string => `${who} ${stream.id}`;
          const last = pair.calls
            .flatMap(({ stream }) => pair.logOf(who, stream.id) ?? [])
            .findLast(({ stream }) => stream.isWritable);
          if (!last) continue;
          respond(last, key(last), model);
          pair.write(who, last, 3 * WINDOW);
          const to = SIDES.find((other) => other !== who) ?? who;
          for (let piece = 1; pair.waiting[to].length > 0 && piece < 200; piece++) {
            pair.step(to, 2_000 * piece);
            const log = pair.logOf(to, last.stream.id);
            if (log) pair.read(to, log, 1_500 * piece);
            pair.deliver();
          }
        }
        drain(model, pair);
        compare(model, pair);
        for (const who of SIDES) {
          for (const { stream } of pair.calls) {
            const log = pair.logOf(who, stream.id);
            const key = `${who} ${stream.id}`;
            if (!log || !log.stream.isWritable) continue;
            respond(log, key, model);
            model.ended.add(key);
            log.stream.end();
          }
        }
        drain(model, pair);
        compare(model, pair);
        assert.equal(model.acknowledged, model.asked);
        for (const who of SIDES) {
          const { connection, streamEnds } = pair[who];
          assert.equal(connection.streamCount, 0);
          const logs = pair.calls.flatMap(({ stream }) => pair.logOf(who, stream.id) ?? []);
          assert.equal(streamEnds, logs.length);
          for (const { stream } of logs) {
            assert.deepEqual([stream.isClosed, stream.queued, stream.readable], [true, 0, 0]);
          }
        }
      },
    ),
    { numRuns: 120 },
  );
});
