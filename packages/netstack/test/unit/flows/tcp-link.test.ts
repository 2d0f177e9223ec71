import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ByteLink } from '@weir/io/links';
import { RESTING_LINGER, FIRST_RECEIVE_WINDOW } from '../../../src/limits.ts';
import { readAll } from '../../../../io/test/conformance/byte-link.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import {
  endpoint,
  stackPair,
  type StackPair,
} from '../../../../../test/support/netstack/stack-pair.ts';
import { settle } from '../../../../../test/support/settle.ts';

const TARGET = endpoint('192.0.2.7', 443);
const LARGER_THAN_WINDOW = 4 * FIRST_RECEIVE_WINDOW;
/** Milliseconds that pass at once. */
const STEP = 10_000;

interface Lingering {
  readonly pair: StackPair;
  readonly clock: ManualClock;
  /** The client's end, which has read nothing. */
  readonly client: ByteLink;
  /** The server's end, whose `closed` has resolved. */
  readonly server: ByteLink;
  /** Whether `whenLeft` of the request has resolved. */
  readonly hasLeft: () => boolean;
}

/** A connection that has ended for the server, with bytes that the client does not take. */
async function lingering(): Promise<Lingering> {
  const clock = new ManualClock();
  const pair = stackPair({ clock });
  const connecting = pair.client.connect(TARGET, new AbortController().signal);
  const request = await pair.connection();
  const [client, server] = await Promise.all([connecting, request.accept()]);
  await client.closeWrite();
  assert.equal(await server.read(), undefined);
  server.write(new Uint8Array(LARGER_THAN_WINDOW))?.catch(() => undefined);
  await server.closeWrite();
  assert.equal(await server.closed, undefined);
  let isOver = false;
  void request.whenLeft().then(() => (isOver = true));
  await settle(20);
  return { pair, clock, client, server, hasLeft: () => isOver };
}

async function close({ client, server }: StackPair): Promise<void> {
  client.close();
  server.close();
  await Promise.all([client.closed, server.closed]);
}

describe('a connection has left', () => {
  test('when its peer has acknowledged everything, which may be after `closed`', async () => {
    const { pair, client, hasLeft } = await lingering();
    assert.equal(hasLeft(), false);
    assert.equal((await readAll(client)).length, LARGER_THAN_WINDOW);
    await settle(20);
    assert.equal(hasLeft(), true);
    await close(pair);
  });

  test('when its link is destroyed with a cause', async () => {
    const { pair, client, server, hasLeft } = await lingering();
    server.destroy(new Error('the flow was killed'));
    await settle(20);
    assert.equal(hasLeft(), true);
    await assert.rejects(readAll(client), /reset/);
    await close(pair);
  });

  test('when its peer takes nothing for as long as a link lingers', async () => {
    const { pair, clock, hasLeft } = await lingering();
    for (let at = 0; at < 2 * RESTING_LINGER && !hasLeft(); at += STEP) {
      clock.advance(STEP);
      await settle(20);
    }
    assert.equal(hasLeft(), true);
    await close(pair);
  });

  test('when its peer resets it', async () => {
    const { pair, client, hasLeft } = await lingering();
    client.destroy(new Error('gone'));
    await settle(20);
    assert.equal(hasLeft(), true);
    await close(pair);
  });

  test('when its stack is closed', async () => {
    const { pair, hasLeft } = await lingering();
    await close(pair);
    assert.equal(hasLeft(), true);
  });
});
