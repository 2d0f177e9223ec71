import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InboundHarness } from './harness.ts';
import {
  CLIENT_HOST,
  clientOf,
  hasEnded,
  opened,
  OVER_TCP,
  OVER_UNIX,
  Rig,
  SESSION,
  SITE,
  text,
  USERS,
} from './rig.ts';

/** Payload of any size, and the end of either side first. */
export function payload(harness: InboundHarness): void {
  test('carries payload of any size both ways, and half-closes of either side first', async () => {
    const rig = new Rig(harness);
    const { client, connection, origin } = await rig.flow('');
    const sizes = [1, 0, 100, 16_383, 16_384, 65_535, 65_536, 200_000];
    const up = sizes.map((size, i) => Buffer.alloc(size, i));
    for (const chunk of up) connection.write(client.more(chunk));
    await rig.settle();
    assert.ok(origin.received.equals(Buffer.concat(up)));
    await rig.end(client, connection);
    assert.equal(origin.state, 'end');
    for (const chunk of up.toReversed()) origin.write(chunk);
    await rig.settle();
    assert.ok(
      Buffer.from(client.open(connection.received).payload).equals(Buffer.concat(up.toReversed())),
    );
    assert.ok(!hasEnded(client, connection));
    origin.closeWrite();
    await rig.settle();
    assert.ok(hasEnded(client, connection));
    assert.equal(connection.error, undefined);
    await rig.isClean(connection);

    const second = await rig.flow();
    second.origin.write(text('welcome'));
    second.origin.closeWrite();
    await rig.settle();
    assert.equal(opened(second.client, second.connection), 'welcome');
    assert.ok(hasEnded(second.client, second.connection));
    second.connection.write(second.client.more(text(' and the rest')));
    await rig.end(second.client, second.connection);
    assert.equal(second.origin.text, 'hello and the rest');
    assert.equal(second.origin.state, 'end');
    await rig.isClean(second.connection);
  });
}

/** The streams of those who may have them. */
export function streams(harness: InboundHarness): void {
  test('connects a known user, with the first payload, and tells the engine who asks', async () => {
    for (const [source, ends] of [
      [CLIENT_HOST, OVER_TCP],
      [undefined, OVER_UNIX],
    ] as const) {
      if (ends === OVER_UNIX && harness.ownsSessions === true) continue;
      for (const sniffing of [true, false]) {
        const rig = new Rig(harness, USERS, { sniffing });
        for (const user of USERS) {
          const client = clientOf(harness, user);
          const connection = await rig.send(client.first(text('hello')), { user, ends });
          await rig.settle();
          const request = rig.engine.streams.at(-1);
          assert.ok(request, String(connection.error));
          assert.equal(rig.engine.origins.at(-1)?.text, 'hello');
          assert.deepEqual(request.destination, SITE);
          assert.equal(request.sniff, sniffing);
          assert.ok(request.origin.account?.isValid);
          assert.deepEqual(request.origin, {
            inbound: 'in',
            source,
            user: harness.label?.(user),
            session: SESSION,
            account: request.origin.account,
          });
          connection.link.destroy();
        }
        await rig.isClean();
      }
    }
  });

  test('carries a stream without payload', async () => {
    const rig = new Rig(harness);
    const { client, connection, origin } = await rig.flow('');
    await rig.end(client, connection);
    origin.closeWrite();
    await rig.settle();
    assert.equal(opened(client, connection), '');
    assert.ok(hasEnded(client, connection));
    assert.equal(origin.text, '');
    await rig.isClean(connection);
  });

  test('passes on what a server says before the client has', async () => {
    const rig = new Rig(harness);
    const { client, connection, origin } = await rig.flow('');
    origin.write(text('220 '));
    await rig.settle();
    assert.equal(opened(client, connection), '220 ');
    connection.write(client.more(text('EHLO')));
    origin.write(text('ready'));
    await rig.settle();
    assert.equal(origin.text, 'EHLO');
    assert.equal(opened(client, connection), '220 ready');
    connection.link.destroy();
  });

  test('passes a reset on in both directions, and takes neither for an end', async () => {
    const rig = new Rig(harness);
    const gone = new Error('gone');
    const one = await rig.flow();
    one.connection.link.destroy(gone);
    const two = await rig.flow();
    two.origin.link.destroy(gone);
    await rig.settle();
    assert.equal(one.origin.state, 'reset');
    assert.equal(two.connection.state, 'reset');
    await rig.isClean(one.connection, two.connection);
  });
}
