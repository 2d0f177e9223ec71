import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WeirError } from '@weir/base';
import type { ByteLink } from '@weir/io/links';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';
import type { Ending, InboundHarness } from './harness.ts';
import { clientOf, Rig, text, type Connection } from './rig.ts';

/** Clients that never get as far as a request, and what they cost. */
export function unfinished(harness: InboundHarness): void {
  const { rejected, stopped = () => rejected } = harness;

  test('ends a client that says nothing, or stops at any byte, in time and without a flow', async () => {
    const rig = new Rig(harness);
    const { length } = clientOf(harness).first(text(''));
    const incomplete: [Connection, Ending, string][] = [];
    for (let sent = 0; sent < length; sent++) {
      const connection = await rig.connect();
      // A request of its own, which another has not made a repeated one.
      const request = clientOf(harness).first(text(''));
      if (sent > 0) connection.write(request.slice(0, sent));
      // Requests differ in length where they are padded.
      const ending = sent < request.length ? stopped(sent) : undefined;
      if (ending) incomplete.push([connection, ending, `after ${sent}`]);
      else connection.link.destroy();
    }
    await rig.observe(incomplete);
    for (const [{ error }, { says }, what] of incomplete) {
      if (!(says instanceof RegExp)) assert.ok(error instanceof WeirError, what);
    }
    assert.equal(rig.engine.live, 0);
  });

  test('leaves a client that closes in the middle of its request at once', async () => {
    const rig = new Rig(harness);
    const { length } = clientOf(harness).first(text(''));
    for (let sent = 0; sent < length; sent += 7) {
      const request = clientOf(harness).first(text(''));
      if (sent >= request.length) continue;
      const connection = await rig.send(request.slice(0, sent));
      connection.closeWrite();
      await rig.settle();
      assert.notEqual(connection.state, 'open', `after ${sent}`);
      connection.link.destroy();
    }
    await rig.isClean();
  });

  if (rejected.after > 0) {
    test('reads on and keeps nothing of what a rejected client sends', async () => {
      const rig = new Rig(harness);
      const connection = await rig.connect();
      const sent = sendNoise(connection.link);
      for (let i = 0; i < 40; i++) connection.write(Buffer.alloc(16_384, 0x55));
      await rig.settle();
      assert.deepEqual(await uncollected([sent]), []);
      await rig.observe([[connection, rejected, 'noise']]);
    });
  }
}

/** In a frame of its own, which does not keep what it sends. */
function sendNoise(link: Pick<ByteLink, 'write'>): WeakRef<object> {
  const chunk = new Uint8Array(64 << 10).fill(0x55);
  void link.write(chunk);
  return new WeakRef(chunk.buffer);
}
