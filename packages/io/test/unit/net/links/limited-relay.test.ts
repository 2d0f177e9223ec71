import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { relay } from '../../../../src/net/links/relay.ts';
import { BudgetGate } from '../../../../../../test/support/links/budget-gate.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { readAll } from '../../../conformance/byte-link.ts';

/** A relay whose bytes to the remote a gate limits. */
function limited(allowed: number) {
  const gate = new BudgetGate(allowed);
  const counter = {
    up: 0,
    upGate: gate as BudgetGate | undefined,
    addUp(bytes: number) {
      this.up += bytes;
      gate.left -= bytes;
    },
    addDown: () => undefined,
  };
  const [client, near] = linkPair();
  const [far, server] = linkPair();
  const over = relay(near, far, counter, new ManualClock());
  return { gate, counter, client, server, over };
}

describe('a relay with a gate', () => {
  test('writes as much as it allows, and the rest when it allows more', async () => {
    const { gate, counter, client, server, over } = limited(3);
    void client.write(Buffer.from('abcdefgh'));
    await nextTurn();
    assert.equal(counter.up, 3);
    assert.equal((await server.read())?.toString(), 'abc');
    gate.grant(2);
    assert.equal(counter.up, 5);
    gate.grant(100);
    await client.closeWrite();
    assert.equal((await readAll(server)).toString(), 'defgh');
    assert.equal(counter.up, 8);
    await server.closeWrite();
    assert.equal((await over).failure, undefined);
  });

  test('does not read further while it waits', async () => {
    const { gate, counter, client } = limited(0);
    void client.write(Buffer.alloc(10));
    await nextTurn();
    void client.write(Buffer.alloc(10));
    await nextTurn();
    assert.deepEqual([counter.up, gate.waiters.size], [0, 1]);
    gate.grant(10);
    await nextTurn();
    assert.equal(counter.up, 10);
  });

  test('goes on without limit when the gate is taken away', async () => {
    const { gate, counter, client, server } = limited(1);
    void client.write(Buffer.from('abc'));
    await nextTurn();
    counter.upGate = undefined;
    gate.grant(0);
    void client.write(Buffer.from('def'));
    await client.closeWrite();
    assert.equal((await readAll(server)).toString(), 'abcdef');
  });

  test('ends when the links are destroyed while it waits', async () => {
    const { gate, client, server, over } = limited(0);
    void client.write(Buffer.alloc(10));
    await nextTurn();
    client.destroy(new Error('closed'));
    server.destroy(new Error('closed'));
    assert.ok((await over).failure);
    assert.equal(gate.waiters.size, 0);
    gate.grant(100);
    await nextTurn();
  });
});
