import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { codeOf, WeirError } from '@weir/base';
import { DialError } from '@weir/io';
import { chunksOf, cuts, nearly } from '../../../../../test/support/data/chunks.ts';
import type { InboundHarness } from './harness.ts';
import {
  clientOf,
  nextSeed,
  PATIENCE_MS,
  PEER,
  Rig,
  SITE,
  text,
  USERS,
  type Connection,
} from './rig.ts';

/** Bytes that no client would send, and those that another has sent. */
export function untrusted(harness: InboundHarness): void {
  const { rejected, sealed = false } = harness;

  test('takes any bytes in any pieces, and opens flows of those alone who may', async () => {
    const good = clientOf(harness).first(text('hello'));
    const query = harness.datagrams?.client('ann', PEER, nextSeed()).first(text('query')) ?? good;
    const { secret = 0, atOnce = 0 } = harness;
    const serve = async (pieces: readonly Uint8Array[]): Promise<unknown> => {
      const rig = new Rig(harness);
      rig.engine.failure = new DialError('refused', 'refused');
      const connection = await rig.connect();
      for (const piece of pieces) connection.write(piece);
      connection.closeWrite();
      for (let step = 0; step < 4 && !connection.isServed; step++) {
        await rig.advance(step < 2 ? 0 : PATIENCE_MS);
      }
      await rig.isClean(connection);
      const { error, state, text: said } = connection;
      assert.ok(error === undefined || error instanceof WeirError, String(error));
      const all = Buffer.concat(pieces);
      const isKnown = [good, query].some((sample) =>
        all.subarray(0, secret).equals(sample.subarray(0, secret)),
      );
      if (!isKnown) assert.deepEqual([rig.engine.requests, said], [0, '']);
      const { streams, associations } = rig.engine;
      // A reset may take away what was said before, and the end of an association what was still to be echoed.
      const isWhole = state !== 'reset' && associations.length === 0;
      return [streams.map(({ destination }) => destination), isWhole && said, codeOf(error)];
    };
    await fc.assert(
      fc.asyncProperty(nearly(good, query), cuts, async (all, at) => {
        const outcome = await serve(
          chunksOf(
            all,
            at.filter((cut) => cut >= atOnce),
          ),
        );
        // What is sealed may be found invalid before its request is served, if it arrives with that; and
        // what follows a rejected request is another one only if it does not.
        if (!sealed && harness.staysAfterRefusal !== true)
          assert.deepEqual(outcome, await serve([all]));
      }),
      { numRuns: harness.runs ?? 40 },
    );
  });

  if (sealed) {
    test('detects a changed byte anywhere, and an end within a message', async () => {
      const { length } = clientOf(harness).first(text('hello'));
      const rig = new Rig(harness);
      const changed: Connection[] = [];
      for (let at = 0; at < length; at++) {
        const sent = Buffer.from(clientOf(harness).first(text('hello')));
        const place = Math.min(at, sent.length - 1);
        sent.writeUInt8((sent[place] ?? 0) ^ 0x40, place);
        const connection = await rig.send(sent);
        connection.closeWrite();
        changed.push(connection);
      }
      await rig.settle(2 * length);
      assert.equal(changed.filter(({ error }) => !error).length, rig.engine.streams.length);
      for (const { destination } of rig.engine.streams) assert.deepEqual(destination, SITE);
      for (const origin of rig.engine.origins) {
        const { state, text: passed } = origin;
        if (harness.padded === true && passed === 'hello') origin.closeWrite();
        else assert.deepEqual([passed, state], ['', 'reset']);
      }
      await rig.isClean(...changed);
      const { client, connection, origin } = await rig.flow();
      connection.write(client.more(text('more')).slice(0, -1));
      connection.closeWrite();
      await rig.settle();
      assert.deepEqual([origin.text, origin.state], ['hello', 'reset']);
    });

    test('accepts no request twice, nor its own response', async () => {
      const rig = new Rig(harness);
      const client = clientOf(harness);
      const first = client.first(text('hello'));
      const once = await rig.send(first.slice());
      await rig.settle();
      // What would be an address of SOCKS in a request.
      rig.engine.origins[0]?.write(Buffer.of(1, 192, 0, 2, 7, 0, 80));
      rig.engine.origins[0]?.write(Buffer.alloc(500));
      await rig.settle();
      const response = once.received;
      once.link.destroy();
      await rig.settle();
      const twice = await rig.send(first.slice());
      const reflected = await rig.send(response, { inbound: rig.reloaded(USERS) });
      await rig.observe([
        [twice, rejected, 'a repeated request'],
        [reflected, rejected, 'its own response'],
      ]);
      assert.equal(rig.engine.requests, 1);
    });
  }
}
