import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { SocketLink } from '@weir/io/sockets';
import { accountsOf } from '../../../src/protocols/users/accounts.ts';
import type { Ending, InboundHarness } from './harness.ts';
import { clientOf, PATIENCE_MS, Rig, text, USERS, type Connection } from './rig.ts';

/** Unknown users, and those whose account was removed. */
export function accounts(harness: InboundHarness): void {
  const { rejected } = harness;

  test('rejects unknown users, and every one where it knows none', async () => {
    const rig = new Rig(harness);
    const unknown = await rig.send(clientOf(harness, 'eve').first(text('let me in')), {
      user: 'eve',
    });
    const watched: [Connection, Ending, string][] = [[unknown, rejected, 'unknown']];
    if (harness.isOpenWithoutUsers !== true) {
      const first = await rig.send(clientOf(harness).first(text('let me in')), {
        inbound: rig.reloaded([]),
      });
      watched.push([first, rejected, 'no users']);
    }
    await rig.observe(watched);
    assert.equal(rig.engine.requests, 0);
  });

  if (harness.ownsSessions !== true) {
    test('shows a rejected client on a socket the same end as in memory', async () => {
      const rig = new Rig(harness);
      await using pair = await socketPair();
      const link = new SocketLink(pair.accepted);
      void Promise.allSettled([rig.serve(link, link)]);
      let how = 'end';
      const ended = once(pair.client.resume(), 'close').catch(() => undefined);
      pair.client.on('error', () => (how = 'reset'));
      const sent = Buffer.concat([
        clientOf(harness, 'eve').first(text('')),
        Buffer.alloc(32_768, 0x55),
      ]);
      pair.client.write(sent);
      let isOver = false;
      void ended.then(() => (isOver = true));
      while (!isOver && pair.accepted.bytesRead < sent.length) await rig.settle();
      await rig.settle();
      rig.clock.advance(rejected.after);
      await ended;
      assert.equal(how, rejected.how === 'reset' ? 'reset' : 'end');
    });
  }

  test('knows of each user whether the account stands', async () => {
    const rig = new Rig(harness);
    for (const user of USERS) await rig.flow('x', user);
    const next = rig.reloaded(['bob']);
    assert.ok(next.accounts);
    accountsOf(rig.memory).replace(next.accounts);
    const stands = rig.engine.streams.map(({ origin }) => origin.account?.isValid);
    assert.deepEqual(stands, [false, true]);
    await rig.send(clientOf(harness, 'bob').first(text('x')), { user: 'bob', inbound: next });
    await rig.settle();
    assert.ok(rig.engine.streams[2]?.origin.account?.isValid);
    for (const origin of rig.engine.origins) origin.link.destroy(new Error('over'));
    const late = await rig.send(clientOf(harness).first(text('x')), { inbound: next });
    await rig.observe([[late, rejected, 'removed']]);
    assert.equal(rig.engine.streams.length, 3);
  });

  test('refuses new flows of an account that was removed from a handler that was replaced', async () => {
    const rig = new Rig(harness);
    const before = await rig.flow();
    const next = rig.reloaded(['bob']);
    assert.ok(next.accounts);
    accountsOf(rig.memory).replace(next.accounts);
    const connection = await rig.send(clientOf(harness).first(text('x')));
    await rig.settle();
    assert.deepEqual(
      rig.engine.origins.map(({ state }) => state),
      ['open'],
    );
    connection.closeWrite();
    before.connection.link.destroy();
    for (let step = 0; step < 2; step++) await rig.advance(PATIENCE_MS);
    await rig.isClean(before.connection, connection);
  });
}

/** Both ends of a connection on loopback; the client half-closes when it has read the end. */
async function socketPair(): Promise<
  AsyncDisposable & { readonly client: Socket; readonly accepted: Socket }
> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[accepted]] = await Promise.all([accepting, once(client, 'connect')]);
  return {
    client,
    accepted,
    async [Symbol.asyncDispose]() {
      client.destroy();
      accepted.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
