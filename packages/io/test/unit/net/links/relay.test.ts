import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setImmediate as settle } from 'node:timers/promises';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { endInTurns, FLOWS_ENDED_A_TURN, relay } from '../../../../src/net/links/relay.ts';
import { HALF_CLOSED_IDLE_MS, RESET_DELAY_MS } from '../../../../src/net/time/clock.ts';
import { readAll } from '../../../conformance/byte-link.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const NONE = { addUp: () => undefined, addDown: () => undefined };

/** The turns until `count` reaches `all`, none of which may end more than its share. */
async function turnsUntil(all: number, count: () => number): Promise<number> {
  let turns = 0;
  while (count() < all) {
    const before = count();
    await nextTurn();
    assert.ok(count() - before <= 2 * FLOWS_ENDED_A_TURN, `${count() - before} in a turn`);
    turns++;
  }
  return turns;
}

describe('what ends together', () => {
  test('ends in turns, the first of them at once', async () => {
    await nextTurn();
    await nextTurn();
    let ended = 0;
    const all = endInTurns(
      Array.from({ length: 1000 }, () => undefined),
      () => ended++,
    );
    assert.equal(ended, FLOWS_ENDED_A_TURN);
    assert.ok((await turnsUntil(1000, () => ended)) >= 1000 / FLOWS_ENDED_A_TURN - 2);
    await all;
  });

  test('ends as a whole, whatever one of it throws', async () => {
    const ended: number[] = [];
    const all = endInTurns([1, 2, 3], (item) => {
      if (item === 2) throw new Error('two');
      ended.push(item);
    });
    await assert.rejects(all, /two/);
    assert.deepEqual(ended, [1, 3]);
  });

  test('shares a turn with what else ends', async () => {
    let ended = 0;
    const items = Array.from({ length: 200 }, () => undefined);
    void Promise.all(Array.from({ length: 10 }, () => endInTurns(items, () => ended++)));
    assert.ok((await turnsUntil(2000, () => ended)) >= 2000 / FLOWS_ENDED_A_TURN - 2);
  });
});

test('flows whose carrier fails end in turns, each with its failure', async () => {
  const COUNT = 600;
  const cause = new Error('the carrier is lost');
  const carried: ByteLink[] = [];
  let ended = 0;
  const flows = Array.from({ length: COUNT }, () => {
    const [client] = linkPair();
    const [remote, far] = linkPair();
    carried.push(client);
    void far.closed.then(() => ended++);
    return relay(client, remote, NONE, new ManualClock());
  });
  await nextTurn();
  for (const link of carried) link.destroy(cause);
  const turns = await turnsUntil(COUNT, () => ended);
  assert.ok(turns >= COUNT / FLOWS_ENDED_A_TURN - 2, `${turns} turns`);
  for (const end of await Promise.all(flows)) {
    assert.deepEqual(end, { failure: cause, first: 'client', failed: 'client' });
  }
});

/** A relay between two pairs of links, seen from the client and from the destination. */
function start() {
  const [client, nearClient] = linkPair();
  const [server, nearServer] = linkPair();
  const clock = new ManualClock();
  const moved = { up: 0, down: 0 };
  const done = relay(
    nearClient,
    nearServer,
    {
      addUp: (bytes) => (moved.up += bytes),
      addDown: (bytes) => (moved.down += bytes),
    },
    clock,
  );
  return { client, server, nearClient, nearServer, clock, moved, done };
}

describe('the relay', () => {
  test('moves bytes both ways and counts them by direction', async () => {
    const { client, server, moved, done } = start();
    await client.write(Buffer.from('question'));
    await client.closeWrite();
    assert.equal((await readAll(server)).toString(), 'question');
    await server.write(Buffer.from('longer response'));
    await server.closeWrite();
    assert.equal((await readAll(client)).toString(), 'longer response');
    assert.equal((await done).failure, undefined);
    assert.deepEqual(moved, { up: 8, down: 15 });
  });

  test('passes a half-close on and lets the other direction go on', async () => {
    const { client, server, done } = start();
    await server.closeWrite();
    assert.equal(await client.read(), undefined);
    await client.write(Buffer.from('still talking'));
    await client.closeWrite();
    assert.equal((await readAll(server)).toString(), 'still talking');
    assert.deepEqual(await done, { failure: undefined, first: 'remote', failed: undefined });
  });

  test('aborts the other side when one side is aborted, with the cause', async () => {
    const { client, server, done } = start();
    const reading = assert.rejects(client.read(), /reset by peer/);
    server.destroy(new Error('reset by peer'));
    const { failure, failed } = await done;
    assert.deepEqual([failure?.message, failed], ['reset by peer', 'remote']);
    await reading;
  });

  for (const side of ['client', 'server'] as const) {
    test(`passes on what the ${side} had sent before its failure, and then the failure`, async () => {
      const { client, server, moved, done } = start();
      const [failing, other] = side === 'client' ? [client, server] : [server, client];
      await failing.write(Buffer.from('last '));
      await failing.write(Buffer.from('words'));
      failing.resetAfterData(new Error('reset by peer'));
      const { failure, failed } = await done;
      assert.equal(failure?.message, 'reset by peer');
      assert.equal(failed, side === 'client' ? 'client' : 'remote');
      assert.equal(moved.up + moved.down, 10);
      let read = '';
      while (read.length < 10) read += String(Buffer.from((await other.read()) ?? []));
      assert.equal(read, 'last words');
      await assert.rejects(other.read(), /reset by peer/);
    });
  }

  test('does not wait for a side that takes nothing of it for 5 s', async () => {
    const [client, nearClient] = linkPair();
    const [, never] = linkPair();
    const clock = new ManualClock();
    // It has failed, and holds more than the client takes.
    const remote: ByteLink = {
      read: () => Promise.resolve(new Uint8Array(64 << 10)),
      unread: (chunk) => never.unread(chunk),
      write: (chunk) => never.write(chunk),
      writeOutput: (chunks) => never.writeOutput(chunks),
      closeWrite: () => never.closeWrite(),
      destroy: (cause) => never.destroy(cause),
      resetAfterData: (cause) => never.resetAfterData(cause),
      closed: Promise.resolve(new Error('reset by peer')),
    };
    const counter = { addUp: () => undefined, addDown: () => undefined };
    const done = relay(nearClient, remote, counter, clock);
    await settle();
    clock.advance(RESET_DELAY_MS - 1);
    await settle();
    assert.equal(clock.timers, 1);
    clock.advance(1);
    const { failure, failed } = await done;
    assert.deepEqual([failure?.message, failed], ['reset by peer', undefined]);
    await assert.rejects(client.read(), /reset by peer/);
    assert.equal(clock.timers, 0);
  });

  test('ends at once when both links are destroyed', async () => {
    const { client, server, nearClient, nearServer, clock, done } = start();
    await settle();
    for (let i = 0; i < 8; i++) server.write(Buffer.alloc(64 << 10))?.catch(() => undefined);
    await settle();
    nearClient.destroy(new Error('killed'));
    nearServer.destroy(new Error('killed'));
    assert.equal((await done).failure?.message, 'killed');
    await assert.rejects(client.read(), /killed/);
    assert.equal(clock.timers, 0);
  });

  test('notices a failure of a side that has ended', async () => {
    const { client, server, done } = start();
    await client.closeWrite();
    assert.equal(await server.read(), undefined);
    client.destroy(new Error('client gone'));
    const { failure, failed } = await done;
    assert.deepEqual([failure?.message, failed], ['client gone', 'client']);
    await assert.rejects(server.read(), /client gone/);
  });

  test('reports which side ended first and which one failed', async () => {
    const { client, server, done } = start();
    await client.closeWrite();
    assert.equal(await server.read(), undefined);
    server.destroy(new Error('refused after all'));
    const { failure, first, failed } = await done;
    assert.deepEqual([failure?.message, first, failed], ['refused after all', 'client', 'remote']);
  });

  test('has no timer left when the end of one side is passed on after the other has failed', async () => {
    const { client, server, nearServer, clock, done } = start();
    const passedOn = Promise.withResolvers<void>();
    nearServer.closeWrite = () => passedOn.promise;
    await client.closeWrite();
    await settle();
    server.destroy(new Error('reset'));
    assert.equal((await done).failure?.message, 'reset');
    passedOn.resolve();
    await settle();
    assert.equal(clock.timers, 0);
  });

  test('a half-closed flow ends after 300 s of silence', async () => {
    const { client, clock, done } = start();
    await client.closeWrite();
    await settle();
    clock.advance(HALF_CLOSED_IDLE_MS - 1);
    await settle();
    assert.equal(clock.timers, 1);
    clock.advance(1);
    assert.match(String((await done).failure?.message), /half-closed and silent/);
    await assert.rejects(client.read());
  });

  test('a byte in either direction keeps a half-closed flow alive', async () => {
    const { client, server, clock, done } = start();
    await client.closeWrite();
    await settle();
    for (let i = 0; i < 3; i++) {
      clock.advance(HALF_CLOSED_IDLE_MS - 1);
      await server.write(Buffer.from('.'));
      assert.equal((await client.read())?.length, 1);
      await settle();
    }
    await server.closeWrite();
    assert.equal(await client.read(), undefined);
    assert.equal((await done).failure, undefined);
    assert.equal(clock.timers, 0);
  });

  test('an open flow has no limit of its own', async () => {
    const { client, server, clock, done } = start();
    await settle();
    assert.equal(clock.timers, 0);
    await client.closeWrite();
    await server.closeWrite();
    assert.equal((await done).failure, undefined);
  });
});
