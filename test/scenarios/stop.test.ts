import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { disposable, open } from '../support/address.ts';
import { freedom, socksIn } from '../support/config.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { echoServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { Weir } from '../support/weir.ts';

const CONFIG = socksIn() + freedom();

/** Waits until nobody listens any more, which shows that the stop has begun. */
function stopsListening(weir: Weir): Promise<true> {
  return eventually('the listener to close', async () => {
    try {
      (await open(weir.address('socks'))).destroy();
      return false;
    } catch {
      return true;
    }
  });
}

/** These wait for the grace of a stop, so they run side by side. */
describe('a stop', { concurrency: true }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`by ${signal} without connections ends at once with status 0`, async () => {
      await using weir = await Weir.start(CONFIG);
      const before = performance.now();
      assert.deepEqual(await weir.stop(signal), { code: 0, signal: null });
      // The grace is five seconds; whoever waits for it without need takes at least that.
      assert.ok(performance.now() - before < 4500);
    });
  }

  test('lets a live connection finish and then ends without waiting longer', async () => {
    await using echo = await echoServer();
    await using weir = await Weir.start(CONFIG);
    const client = await socksConnect(weir.address('socks'), echo.target);
    await roundTrip(client, 'before');
    const before = performance.now();
    weir.child.signal('SIGTERM');
    await stopsListening(weir);
    assert.equal(String(await roundTrip(client, 'during')), 'during');
    client.end();
    const { data, clean } = await readAll(client);
    assert.deepEqual([data.length, clean], [0, true]);
    assert.deepEqual(await within(weir.child.exited, 'the end'), { code: 0, signal: null });
    assert.ok(performance.now() - before < 4500);
  });

  test('cuts connections that outlast the grace', async () => {
    await using echo = await echoServer();
    await using weir = await Weir.start(CONFIG);
    const client = await socksConnect(weir.address('socks'), echo.target);
    await roundTrip(client, 'before');
    const before = performance.now();
    assert.deepEqual(await weir.stop(), { code: 0, signal: null });
    assert.ok(performance.now() - before > 4500, 'the grace was not given');
    assert.equal((await readAll(client)).data.length, 0);
  });

  test('by a second signal ends at once', async () => {
    await using echo = await echoServer();
    await using weir = await Weir.start(CONFIG);
    using client = disposable(await socksConnect(weir.address('socks'), echo.target));
    await roundTrip(client, 'before');
    const before = performance.now();
    weir.child.signal('SIGTERM');
    await stopsListening(weir);
    weir.child.signal('SIGINT');
    await within(weir.child.exited, 'the end after the second signal');
    assert.ok(performance.now() - before < 4500, 'the second signal was not heeded');
  });
});
