import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { chunkedEncoder, createDecoder, plainEncoder, type Framing } from '@weir/http/http1';
import { GRANT_UNITS, GRANTS_A_TURN, UnitCost } from '../../../../../../io/src/net/bounds/units.ts';
import { LinkClosedError, ProtocolError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import { mayTrail } from '../../../../../src/protocols/http/forwarding/forwarded-heads.ts';
import {
  drainBody,
  isDrainable,
  SideError,
  SourceWatch,
  transferBody,
  type BodyTransfer,
} from '../../../../../src/protocols/http/forwarding/transfer-body.ts';
import { DRAIN_LIMIT, DRAIN_MS } from '../../../../../src/protocols/http/limits.ts';
import { readAll } from '../../../../../../io/test/conformance/byte-link.ts';
import { ManualClock } from '../../../../../../../test/support/manual-clock.ts';
import { settle } from '../../../../../../../test/support/settle.ts';

const length = (bytes: number): Framing => ({ kind: 'length', length: bytes });
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const textOf = (chunk: Uint8Array | undefined): string | undefined =>
  chunk && Buffer.from(chunk).toString('latin1');

/** A client that sends a body to an origin, of which the test holds the far ends. */
function transfer(framing: Framing, more: Partial<BodyTransfer> = {}) {
  const [client, sender] = linkPair();
  const [origin, receiver] = linkPair();
  let touched = 0;
  const start = (): Promise<void> =>
    transferBody({
      from: { link: client, side: 'client' },
      to: { link: origin, side: 'origin' },
      decoder: createDecoder(framing),
      encoder: plainEncoder,
      head: bytes('head;'),
      ready: false,
      touch: () => touched++,
      ...more,
    });
  return { client, sender, origin, receiver, start, touched: () => touched };
}

/** The next `count` chunks, as each was written. */
async function chunksOf(link: ByteLink, count: number): Promise<(string | undefined)[]> {
  const chunks = [];
  for (let index = 0; index < count; index++) chunks.push(textOf(await link.read()));
  return chunks;
}

const isSide = (side: 'client' | 'origin', reason: RegExp) => (error: unknown) =>
  error instanceof SideError &&
  error.side === side &&
  error.message.startsWith(`${side}: `) &&
  reason.test(error.cause.message);

describe('the transfer of a body', () => {
  test('takes its turns by the chunks of a read, on all connections together', async () => {
    const COUNT = 4 * GRANT_UNITS;
    const transfers = Array.from({ length: 10 }, () => transfer({ kind: 'chunked' }));
    let done = 0;
    for (const { start, sender, receiver } of transfers) {
      void start().then(() => done++);
      void readAll(receiver);
      void sender.write(bytes(`${'1\r\ny\r\n'.repeat(COUNT)}0\r\n\r\n`));
    }
    let turns = 0;
    for (; done < transfers.length; turns++) await nextTurn();
    const all = (transfers.length * COUNT * UnitCost.frame) / (GRANTS_A_TURN * GRANT_UNITS);
    assert.ok(turns >= all - 2, `${turns} turns`);
  });

  test('sends the head before the body has begun to arrive', async () => {
    const { sender, receiver, start, touched } = transfer(length(4));
    const done = start();
    assert.equal(textOf(await receiver.read()), 'head;');
    await sender.write(bytes('ab'));
    assert.equal(textOf(await receiver.read()), 'ab');
    await sender.write(bytes('cdNEXT'));
    assert.equal(textOf(await receiver.read()), 'cd');
    await done;
    // One for each chunk that was read, and one for each that was written before the last.
    assert.equal(touched(), 3);
  });

  test('sends the head in one piece with a body that has', async (t) => {
    for (const [ready, pieces] of [
      [true, [['head;', 'abcd']]],
      [false, [['head;'], ['abcd']]],
    ] as const) {
      const { origin, sender, start } = transfer(length(4), { ready });
      await sender.write(bytes('abcd'));
      const writes = t.mock.method(origin, 'writeOutput');
      await start();
      assert.deepEqual(
        writes.mock.calls.map(({ arguments: [chunks] }) => chunks.map(textOf)),
        pieces,
      );
    }
  });

  test('leaves what follows the body to the next message', async () => {
    const { client, sender, receiver, start } = transfer(length(2));
    await sender.write(bytes('abNEXT'));
    await start();
    assert.deepEqual(await chunksOf(receiver, 2), ['head;', 'ab']);
    assert.equal(textOf(await client.read()), 'NEXT');
  });

  test('reads nothing where there is no body', async () => {
    const { client, sender, receiver, start, touched } = transfer({ kind: 'none' });
    await sender.write(bytes('NEXT'));
    await start();
    assert.equal(textOf(await receiver.read()), 'head;');
    assert.equal(textOf(await client.read()), 'NEXT');
    assert.equal(touched(), 0);
  });

  test('changes the framing, and keeps trailers that may be', async () => {
    const { sender, origin, receiver, start } = transfer(
      { kind: 'chunked' },
      { encoder: chunkedEncoder(mayTrail) },
    );
    await sender.write(bytes('3;x\r\nabc\r\n0\r\nA: b\r\nHost: c\r\n\r\n'));
    await start();
    await origin.closeWrite();
    let all = '';
    for (let chunk = await receiver.read(); chunk; chunk = await receiver.read()) {
      all += textOf(chunk);
    }
    assert.equal(all, 'head;3\r\nabc\r\n0\r\nA: b\r\n\r\n');
  });

  test('has no chunk for a piece of framing alone, which would end it', async () => {
    const { sender, receiver, start } = transfer(
      { kind: 'chunked' },
      { encoder: chunkedEncoder(mayTrail) },
    );
    const done = start();
    let all = textOf(await receiver.read());
    await sender.write(bytes('3\r\n'));
    await settle();
    await sender.write(bytes('abc\r\n0\r\n\r\n'));
    await done;
    while (all !== undefined && !all.endsWith('0\r\n\r\n')) all += textOf(await receiver.read());
    assert.equal(all, 'head;3\r\nabc\r\n0\r\n\r\n');
  });

  test('ends with its source where that ends the body', async () => {
    const { sender, receiver, start } = transfer({ kind: 'until-close' });
    const done = start();
    await sender.write(bytes('ab'));
    await sender.closeWrite();
    await done;
    assert.deepEqual(await chunksOf(receiver, 2), ['head;', 'ab']);
  });

  test('fails with the side that does, and its reason', async () => {
    const truncated = transfer(length(4));
    const first = truncated.start();
    await truncated.sender.closeWrite();
    await assert.rejects(first, isSide('client', /closed 4 bytes before the end/));

    const reset = transfer(length(4));
    const second = reset.start();
    reset.sender.destroy(new Error('reset'));
    await assert.rejects(second, isSide('client', /^reset$/));

    const closed = transfer(length(4));
    closed.receiver.destroy(new Error('gone'));
    await assert.rejects(closed.start(), isSide('origin', /^gone$/));

    const stopped = transfer(length(4), { signal: AbortSignal.abort(new Error('over')) });
    await assert.rejects(stopped.start(), isSide('client', /^over$/));
  });

  test('waits for the other side, and fails when its source does meanwhile', async () => {
    const { sender, start } = transfer(length(1_000_000));
    const done = start();
    let isOver = false;
    void done.catch(() => undefined).finally(() => (isOver = true));
    void sender.write(Buffer.alloc(200_000));
    await settle();
    // Nothing is read from the client while the origin takes nothing.
    void sender.write(bytes('more'));
    await settle();
    assert.equal(isOver, false);
    sender.destroy(new Error('reset'));
    await assert.rejects(done, isSide('client', /^reset$/));
  });

  test('fails at once when its source has failed before it waits', async () => {
    const { client, sender } = transfer(length(1));
    const watch = SourceWatch.of({ link: client, side: 'client' });
    assert.equal(SourceWatch.of({ link: client, side: 'client' }), watch);
    await watch.unlessFailed(Promise.resolve());
    await assert.rejects(watch.unlessFailed(Promise.reject(new Error('full'))), /^Error: full$/);
    sender.destroy(new Error('reset'));
    await settle();
    await assert.rejects(
      watch.unlessFailed(Promise.reject(new Error('full'))),
      isSide('client', /^reset$/),
    );
  });

  test('is not failed by a source that ends as it should', async () => {
    const { client, sender } = transfer(length(1));
    const watch = SourceWatch.of({ link: client, side: 'client' });
    await sender.closeWrite();
    await client.closeWrite();
    await settle();
    await watch.unlessFailed(Promise.resolve());
  });
});

test('the error of a side has its cause, whatever was thrown', () => {
  const cause = new Error('why');
  assert.equal(new SideError('origin', cause).cause, cause);
  const { cause: other, message } = new SideError('client', 'a text');
  assert.ok(other instanceof ProtocolError);
  assert.deepEqual([message, other.message], ['client: a text', 'a text']);
});

describe('a body that is not forwarded', () => {
  const drained = async (framing: Framing, text: string): Promise<[boolean, unknown]> => {
    const [link, sender] = linkPair();
    void sender.write(bytes(`${text}NEXT`));
    const isDrained = await drainBody(link, framing, new ManualClock());
    return [isDrained, isDrained ? textOf(await link.read()) : undefined];
  };

  test('may be drained unless it says that it is too long', () => {
    assert.equal(isDrainable(length(DRAIN_LIMIT)), true);
    assert.equal(isDrainable(length(DRAIN_LIMIT + 1)), false);
    assert.equal(isDrainable({ kind: 'chunked' }), true);
    assert.equal(isDrainable({ kind: 'none' }), true);
  });

  test('is read to its end, and no further', async () => {
    assert.deepEqual(await drained({ kind: 'none' }, ''), [true, 'NEXT']);
    assert.deepEqual(await drained(length(5), 'hello'), [true, 'NEXT']);
    assert.deepEqual(await drained({ kind: 'chunked' }, '3\r\nabc\r\n0\r\n\r\n'), [true, 'NEXT']);
    const longest = 'x'.repeat(DRAIN_LIMIT);
    assert.deepEqual(await drained(length(DRAIN_LIMIT), longest), [true, 'NEXT']);
  });

  test('is given up when it is invalid, ends too soon or is too long', async () => {
    assert.deepEqual(await drained({ kind: 'chunked' }, 'x\r\n'), [false, undefined]);
    const [ended, sender] = linkPair();
    await sender.write(bytes('ab'));
    await sender.closeWrite();
    assert.equal(await drainBody(ended, length(5), new ManualClock()), false);
    const [link, peer] = linkPair();
    const chunk = bytes(`1000\r\n${'x'.repeat(4096)}\r\n`);
    for (let sent = 0; sent < 70; sent++) void peer.write(chunk);
    assert.equal(await drainBody(link, { kind: 'chunked' }, new ManualClock()), false);
    // It stopped soon behind the limit: the rest is still there.
    assert.ok((await link.read())?.length);
  });

  test('is given up when it takes too long, and its timer ends with it', async () => {
    const clock = new ManualClock();
    const [link] = linkPair();
    const draining = drainBody(link, length(5), clock);
    clock.advance(DRAIN_MS - 1);
    assert.equal(clock.timers, 1);
    clock.advance(1);
    assert.equal(await draining, false);
    const [other, sender] = linkPair();
    await sender.write(bytes('hello'));
    assert.equal(await drainBody(other, length(5), clock), true);
    assert.equal(clock.timers, 0);
  });

  test('fails with its link', async () => {
    const [link, sender] = linkPair();
    sender.destroy(new LinkClosedError('killed'));
    await assert.rejects(drainBody(link, length(5), new ManualClock()), { message: 'killed' });
  });
});
