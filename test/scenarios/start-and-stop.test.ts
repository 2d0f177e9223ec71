import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { disposable, open, portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { freePort } from '../support/ports.ts';
import { readExactly, roundTrip } from '../support/read.ts';
import { bannerServer, echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

/** Names of `slow.test` are looked up with the next SIGUSR2, and are 127.0.0.1 then. */
const slowNames = `data:text/javascript,${encodeURIComponent(`
  import dns from 'node:dns/promises';
  import { writeSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const lookUp = dns.lookup;
  dns.lookup = (host, options) => {
    if (host !== 'slow.test') return lookUp(host, options);
    const alive = setInterval(() => {}, 1000);
    return new Promise((resolve) => {
      process.once('SIGUSR2', () => {
        clearInterval(alive);
        resolve([{ address: '127.0.0.1', family: 4 }]);
      });
      writeSync(2, 'looking up\\n');
    });
  };
  syncBuiltinESMExports();
`)}`;

const socksAt = (tag: string, listen: string, port: number): string =>
  socksIn(tag, `listen = "${listen}"`).replace('port = 0', `port = ${port}`);

/** A start that waits for the name of its second inbound. */
async function startSlowly(port: number, more = ''): Promise<Weir> {
  const config = socksAt('first', '127.0.0.1', port) + socksAt('second', 'slow.test', 0);
  const weir = await Weir.launch(config + freedom() + more, { nodeArgs: ['--import', slowNames] });
  await weir.child.until('the look-up', ({ stderr }) => stderr.includes('looking up') || undefined);
  return weir;
}

const refuses = async (port: number): Promise<boolean> => {
  try {
    (await open({ host: '127.0.0.1', port })).destroy();
    return false;
  } catch {
    return true;
  }
};

describe('a start', { concurrency: 3 }, () => {
  test('serves a client of a bound inbound while another is not yet bound', async () => {
    await using echo = await echoServer();
    const port = await freePort();
    await using weir = await startSlowly(port);
    using socket = disposable(await open({ host: '127.0.0.1', port }));
    const [high, low] = [echo.port >> 8, echo.port & 255];
    socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, high, low]));
    weir.child.signal('SIGUSR2');
    assert.deepEqual([...(await readExactly(socket, 2))], [5, 0]);
    assert.equal((await readExactly(socket, 10))[1], 0);
    await roundTrip(socket, 'served');
  });

  test('serves no client when a later listener cannot be bound', async () => {
    await using holder = await bannerServer('taken');
    const port = await freePort();
    await using weir = await startSlowly(port, `[api]\nlisten = "127.0.0.1:${holder.port}"\n`);
    using socket = disposable(await open({ host: '127.0.0.1', port }));
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    socket.once('close', () => resolve());
    socket.on('data', () => assert.fail('a request was served'));
    socket.write(Buffer.from([5, 1, 0]));
    weir.child.signal('SIGUSR2');
    await within(closed, 'the end of the connection');
    assert.deepEqual(await weir.child.exited, { code: 1, signal: null });
    assert.doesNotMatch(weir.child.stderr, /listening on/);
    assert.match(weir.child.stderr, /failed to start: API on /);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`ends with ${signal} while it waits for a name`, async () => {
      const port = await freePort();
      await using weir = await startSlowly(port);
      assert.deepEqual(await weir.stop(signal), { code: 0, signal: null });
      assert.match(weir.child.stderr, /INFO svc_app: shutting down$/m);
      assert.doesNotMatch(weir.child.stderr, /listening on|failed/);
      assert.equal(await refuses(port), true);
    });
  }
});

test('a reload that waits for a name ends with a stop', async () => {
  await using weir = await Weir.start(API + socksIn() + freedom(), {
    nodeArgs: ['--import', slowNames],
  });
  const control = await Control.of(weir);
  await control.write(API + socksIn() + socksAt('second', 'slow.test', 0) + freedom());
  const reply = control.post();
  await weir.child.until('the look-up', ({ stderr }) => stderr.includes('looking up') || undefined);
  weir.child.signal('SIGTERM');
  assert.equal((await reply).status, 500);
  assert.deepEqual(await within(weir.child.exited, 'the end'), { code: 0, signal: null });
});

test('a stop closes the listeners while the API still finishes its requests', async () => {
  await using echo = await echoServer();
  await using weir = await Weir.start(API + socksIn() + freedom());
  const { api } = await Control.of(weir);
  const port = portOf(weir.address('socks'));
  using socket = disposable(await socksConnect(weir.address('socks'), echo.target));
  // A stream of events lasts for as long as the API lets it.
  using events = await api.events('/v1/connections/events');
  let live = true;
  const over = (async () => {
    while (await events.next()) continue;
    live = false;
  })();
  weir.child.signal('SIGTERM');
  await eventually('the listener to be closed', () => refuses(port));
  await roundTrip(socket, 'still here');
  assert.equal(live, true, 'the API has stopped');
  socket.destroy();
  await within(over, 'the end of the API');
});
