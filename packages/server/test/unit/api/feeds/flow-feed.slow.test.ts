import assert from 'node:assert/strict';
import { setImmediate as immediate } from 'node:timers/promises';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { SseStream } from '../../../../src/local-http/event-stream.ts';
import { FlowFeed } from '../../../../src/api/feeds/feeds.ts';
import { StartTimes } from '../../../../src/api/views.ts';
import { KEPT_EVENTS, Tracker } from '@weir/proxy/tracker';
import { ImpatientClock, ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { flowInfo } from '../../../conformance/api-fake.ts';

/** Time for the feed: it sends behind whatever else a turn of the event loop has to do. */
async function turn(): Promise<void> {
  await immediate();
  await immediate();
}

/** A client that takes a piece only when the test lets it. */
class Reader {
  ready = true;
  onReady: (() => void) | undefined;
  onClose: (() => void) | undefined;
  readonly pieces: Buffer[] = [];

  send(piece: Buffer): void {
    assert.ok(this.ready, 'one piece at a time');
    this.ready = false;
    this.pieces.push(piece);
  }

  end(): void {
    this.onClose?.();
  }

  /** Takes piece after piece until no more comes. */
  async drain(): Promise<void> {
    while (!this.ready) {
      this.take();
      await turn();
    }
  }

  /** The system has taken the piece. */
  take(): void {
    if (this.ready) return;
    this.ready = true;
    this.onReady?.();
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString();
  }

  /** Ids in order, with what was missed as a negative number. */
  get seen(): number[] {
    const events = this.text.matchAll(/^data: \{"(id|missed)":(\d+)/gm);
    return Array.from(events, ([, name, number]) => (name === 'id' ? 1 : -1) * Number(number));
  }
}

function create(clock: ManualClock = new ImpatientClock()) {
  const tracker = new Tracker(clock);
  const feed = new FlowFeed(tracker, clock, new StartTimes(clock));
  const join = (): Reader => {
    const reader = new Reader();
    // The feed uses no more of a stream than this.
    feed.join(reader as Partial<Pick<SseStream, 'ready'>> as SseStream);
    return reader;
  };
  let open = 0;
  return {
    feed,
    tracker,
    join,
    opened: () => open,
    open: (count = 1) => {
      for (let i = 0; i < count; i++) {
        tracker.openFlow(flowInfo(), () => undefined);
        open++;
      }
    },
  };
}

/** What a reader of everything after `first` ids must have seen, give or take what it missed. */
function assertComplete(seen: readonly number[], first: number, last: number): void {
  let next = first + 1;
  for (const number of seen) {
    if (number < 0) {
      next += -number;
    } else {
      assert.equal(number, next);
      next++;
    }
  }
  assert.equal(next, last + 1);
}

describe('the feed of flow events', () => {
  test('puts what happens within milliseconds into one piece, and does not let a burst outrun it', async () => {
    const clock = new ManualClock();
    const { join, open } = create(clock);
    const reader = join();
    open();
    await turn();
    reader.take();
    open(5);
    await turn();
    open(5);
    await turn();
    assert.equal(reader.pieces.length, 1);
    clock.advance(10);
    assert.deepEqual(reader.seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert.equal(reader.pieces.length, 2);
    reader.take();
    for (let burst = 0; burst < 8; burst++) {
      open(KEPT_EVENTS / 4);
      await turn();
      await reader.drain();
    }
    clock.advance(10);
    await reader.drain();
    assertComplete(reader.seen, 0, 11 + 2 * KEPT_EVENTS);
    assert.ok(reader.seen.every((id) => id > 0));
  });

  test('gives clients at the same place the same bytes', async () => {
    const { join, open } = create();
    const readers = [join(), join(), join()];
    open(10);
    await turn();
    const [first] = readers;
    for (const { pieces } of readers) assert.equal(pieces[0], first?.pieces[0]);
  });

  test('cuts long runs into pieces, so that a client holds little', async () => {
    const { join, open } = create();
    const reader = join();
    open(KEPT_EVENTS);
    await turn();
    await reader.drain();
    assert.ok(reader.pieces.length > 1);
    for (const { length } of reader.pieces) assert.ok(length < 70_000);
    assertComplete(reader.seen, 0, KEPT_EVENTS);
  });

  test('keeps a position for a client that does not read, and nothing else', async () => {
    const { join, open } = create();
    const reader = join();
    for (let round = 0; round < 50; round++) {
      open(500);
      await turn();
    }
    assert.equal(reader.pieces.length, 1);
    await reader.drain();
    assertComplete(reader.seen, 0, 25_000);
    assert.equal(reader.seen.filter((number) => number < 0).length, 1);
  });

  test('counts what was missed in one burst', async () => {
    const { join, open } = create();
    const reader = join();
    open(KEPT_EVENTS + 1);
    await turn();
    await reader.drain();
    assert.equal(reader.seen[0], -1);
    assertComplete(reader.seen, 0, KEPT_EVENTS + 1);
  });

  test('does not keep flows alive without clients', async () => {
    const { feed, tracker, join, open } = create();
    const reader = join();
    open(3);
    await turn();
    reader.end();
    assert.equal(feed.clients, 0);
    open(1);
    assert.equal(tracker.events.at(tracker.events.published - 1), undefined);
    const late = join();
    open(1);
    await turn();
    assert.deepEqual(late.seen, [5]);
  });

  test('whatever the order of events, joins, reads and leaves, no event is lost or sent twice', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('open' as const), count: fc.integer({ min: 1, max: 700 }) }),
      fc.record({ kind: fc.constantFrom('take' as const, 'leave' as const), reader: fc.nat(5) }),
      fc.constantFrom({ kind: 'join' as const }, { kind: 'turn' as const }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const { join, open, opened } = create();
        const readers: { reader: Reader; first: number; left: boolean }[] = [];
        for (const action of steps) {
          if (action.kind === 'open') open(action.count);
          else if (action.kind === 'join')
            readers.push({ reader: join(), first: opened(), left: false });
          else if (action.kind === 'turn') await turn();
          else {
            const one = readers[action.reader];
            if (one && !one.left && action.kind === 'leave') {
              one.left = true;
              one.reader.end();
            } else one?.reader.take();
          }
        }
        await turn();
        for (const { reader, first, left } of readers) {
          if (left) continue;
          await reader.drain();
          assertComplete(reader.seen, first, opened());
        }
      }),
      { numRuns: 60 },
    );
  });
});
