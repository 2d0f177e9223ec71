import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DialError, type DialErrorCode } from '@weir/io';
import type { InboundHarness } from './harness.ts';
import { clientOf, opened, Rig, text } from './rig.ts';

const CODES =
  'refused unreachable_host unreachable_network not_found unresolved timed_out blocked loop forbidden unsupported upstream aborted failed'.split(
    ' ',
  ) as DialErrorCode[];

/** Flows that fail, before they were accepted and after. */
export function failures(harness: InboundHarness): void {
  test('answers a dial that has failed as the protocol has it', async () => {
    for (const code of CODES) {
      const rig = new Rig(harness);
      rig.engine.failure = new DialError(code, 'as the test wishes');
      const client = clientOf(harness);
      const connection = await rig.send(client.first(text('')));
      await rig.settle();
      const says = harness.refusal?.(code);
      if (says === undefined) {
        assert.equal(connection.state, 'reset');
        assert.equal(opened(client, connection), '');
      } else if (says instanceof RegExp) assert.match(connection.text, says);
      else assert.equal(connection.received.toString('hex'), Buffer.from(says).toString('hex'));
      if (says !== undefined) {
        assert.equal(connection.state, harness.staysAfterRefusal === true ? 'open' : 'end');
      }
      connection.closeWrite();
      await rig.settle();
      await rig.isClean(connection);
      assert.equal(connection.error, undefined, 'the dispatcher has logged it');
    }
  });

  test('reports a fault of the engine, and ends a flow that fails after it was accepted', async () => {
    for (const fails of ['before', 'after'] as const) {
      const rig = new Rig(harness);
      rig.engine.failure = new RangeError('a bug');
      rig.engine.fails = fails;
      const client = clientOf(harness);
      const connection = await rig.send(client.first(text('')));
      await rig.settle();
      assert.notEqual(connection.state, 'open');
      if (fails === 'after') assert.equal(opened(client, connection), '');
      connection.link.destroy();
      await rig.settle();
      assert.match(rig.reasonOf(connection), /a bug/);
      await rig.isClean(connection);
    }
  });

  test('sends no second reply for a flow that fails after it was accepted', async () => {
    const rig = new Rig(harness);
    rig.engine.failure = new DialError('refused', 'after the sniffing');
    rig.engine.fails = 'after';
    const client = clientOf(harness);
    const connection = await rig.send(client.first(text('')));
    await rig.settle();
    assert.notEqual(connection.state, 'open');
    assert.equal(opened(client, connection), '');
    await rig.isClean(connection);
  });
}
