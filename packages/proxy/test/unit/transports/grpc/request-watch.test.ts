import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { REQUEST_SILENCE_MS } from '../../../../src/transports/limits.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { RequestWatch } from '../../../../src/transports/grpc/client.ts';

/** A server whose last byte was received at a time. */
function start() {
  const clock = new ManualClock(60_000);
  const server = { heardAt: clock.now(), responds: false, probes: 0 };
  let silences = 0;
  const peer = {
    get silence() {
      return clock.now() - server.heardAt;
    },
    responds: () => {
      server.probes++;
      return Promise.resolve(server.responds);
    },
  };
  const watch = new RequestWatch(clock, peer, () => silences++);
  return { clock, server, watch, silences: () => silences };
}

describe('the watch of requests', () => {
  test('probes a server that sends nothing after one, once, and reports it', async () => {
    const { clock, server, watch, silences } = start();
    watch.onSent();
    watch.onSent();
    clock.advance(REQUEST_SILENCE_MS - 1);
    assert.equal(server.probes, 0);
    clock.advance(1);
    watch.onSent();
    await settle();
    assert.deepEqual([server.probes, silences()], [1, 1]);
  });

  test('does not report a server that responds to the probe', async () => {
    const { clock, server, watch, silences } = start();
    server.responds = true;
    watch.onSent();
    clock.advance(REQUEST_SILENCE_MS);
    await settle();
    assert.deepEqual([server.probes, silences()], [1, 0]);
    watch.onSent();
    clock.advance(REQUEST_SILENCE_MS);
    assert.equal(server.probes, 2);
  });

  test('does not probe one that sends, nor one to which nothing is sent', () => {
    const { clock, server, watch } = start();
    clock.advance(1_000_000);
    watch.onSent();
    clock.advance(10);
    server.heardAt = clock.now();
    clock.advance(1_000_000);
    assert.equal(server.probes, 0);
    assert.equal(clock.timers, 0);
  });

  test('probes one that was last heard before the last request', () => {
    const { clock, server, watch } = start();
    watch.onSent();
    clock.advance(10);
    server.heardAt = clock.now();
    clock.advance(10);
    watch.onSent();
    clock.advance(REQUEST_SILENCE_MS - 11);
    assert.equal(server.probes, 0);
    clock.advance(1);
    assert.equal(server.probes, 1);
  });

  test('has no timer after its end', () => {
    const { clock, server, watch } = start();
    watch.onSent();
    watch.stop();
    assert.equal(clock.timers, 0);
    clock.advance(REQUEST_SILENCE_MS);
    assert.equal(server.probes, 0);
  });
});
