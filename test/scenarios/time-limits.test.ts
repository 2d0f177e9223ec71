import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { disposable, open, type Address } from '../support/data/address.ts';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { openDescriptors } from '../support/process/proc.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const SETTINGS = '[inbound.settings]\nauth = "password"\naccounts = [{ user = "u", pass = "p" }]\n';
const EVERY_INBOUND = socksIn() + socksIn('guarded', SETTINGS) + httpIn() + freedom();

/** The bytes that a client of each kind sends before it stalls. */
const BEGINNINGS: readonly (readonly [name: string, inbound: string, bytes: string])[] = [
  ['nothing (SOCKS)', 'socks', ''],
  ['a version', 'socks', '\x05'],
  ['half the methods', 'socks', '\x05\x03\x00'],
  ['a greeting', 'socks', '\x05\x01\x00'],
  ['half a request', 'socks', '\x05\x01\x00\x05\x01\x00\x03\x09local'],
  ['half a SOCKS4 request', 'socks', '\x04\x01\x00\x50'],
  ['a SOCKS4 user without end', 'socks', '\x04\x01\x00\x50\x7f\x00\x00\x01user'],
  ['a SOCKS4a name without end', 'socks', '\x04\x01\x00\x50\x00\x00\x00\x01user\x00localh'],
  ['a greeting, then half a password', 'guarded', '\x05\x01\x02\x01\x01u\x05p'],
  ['nothing (HTTP)', 'http', ''],
  ['half a request line', 'http', 'GET http://loc'],
  ['a request line', 'http', 'GET http://localhost/ HTTP/1.1\r\n'],
  ['half a head', 'http', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\nX-More: '],
];

/** One byte now and then: a limit that every byte puts off would never be reached. */
const DRIPS: readonly (readonly [name: string, inbound: string, drop: string])[] = [
  ['dripping methods', 'socks', '\x05\xff'],
  ['dripping a SOCKS4 user', 'socks', '\x04\x01\x00\x50\x7f\x00\x00\x01'],
  ['dripping headers', 'http', 'GET http://localhost/ HTTP/1.1\r\n'],
];

const COPIES = 10;

async function handshakesEnd(t: TestContext): Promise<void> {
  await using echo = await echoServer();
  await using weir = await Weir.start(EVERY_INBOUND);
  // A connection that did finish its handshake is the control: silence does not end it.
  const control = await socksConnect(weir.address('socks'), echo.target);
  await roundTrip(control, 'before');
  const before = openDescriptors(weir.pid);

  const clients = [
    ...BEGINNINGS.flatMap(([name, inbound, bytes]) =>
      Array.from({ length: COPIES }, () => stall(name, weir.address(inbound), bytes)),
    ),
    ...DRIPS.map(([name, inbound, bytes]) => stall(name, weir.address(inbound), bytes, true)),
  ];
  const ended = await Promise.all(clients);
  for (const [name] of [...BEGINNINGS, ...DRIPS]) {
    await t.test(name, () => {
      const open = ended.filter((client) => client.name === name && !client.ended);
      assert.equal(open.length, 0);
    });
  }

  assert.equal(String(await roundTrip(control, 'after')), 'after');
  await eventually(
    () => `descriptors back to ${before}, now ${openDescriptors(weir.pid)}`,
    () => openDescriptors(weir.pid) <= before,
  );
  control.destroy();
}

/** Sends `bytes`, stalls or sends a byte at a time, and returns whether the server closed the connection. */
async function stall(
  name: string,
  address: Address,
  bytes: string,
  drip = false,
): Promise<{ readonly name: string; readonly ended: boolean }> {
  const socket = await open(address);
  socket.write(bytes, 'latin1');
  const timer = drip ? setInterval(() => void socket.write('x'), 400) : undefined;
  try {
    await within(ending(socket), `the server to end ${name}`, 30_000);
    return { name, ended: true };
  } catch {
    return { name, ended: false };
  } finally {
    clearInterval(timer);
    socket.destroy();
  }
}

async function ending(socket: Socket): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await Promise.race([readAll(socket).catch(() => closed), closed]);
}

const PLAIN = socksIn() + freedom();

/** A stop that waits for the end of the grace period without need does not end. */
const ENDLESS_GRACE = {
  nodeArgs: ['--import', join(import.meta.dirname, '../support/process/no-long-timers.ts')],
};

/** Waits until the listener is closed, which shows that the stop has begun. */
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

/** All of these wait for a clock, so they run side by side. */
describe('time limits', { concurrency: true }, () => {
  test('handshakes that never finish are closed and leave no resources behind', handshakesEnd);

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`a stop by ${signal} without connections ends at once with status 0`, async () => {
      await using weir = await Weir.start(PLAIN, ENDLESS_GRACE);
      assert.deepEqual(await weir.stop(signal), { code: 0, signal: null });
    });
  }

  test('a stop lets a live connection finish and then ends without waiting longer', async () => {
    await using echo = await echoServer();
    await using weir = await Weir.start(PLAIN, ENDLESS_GRACE);
    const client = await socksConnect(weir.address('socks'), echo.target);
    await roundTrip(client, 'before');
    weir.child.signal('SIGTERM');
    await stopsListening(weir);
    assert.equal(String(await roundTrip(client, 'during')), 'during');
    client.end();
    const { data, clean } = await readAll(client);
    assert.deepEqual([data.length, clean], [0, true]);
    assert.deepEqual(await within(weir.child.exited, 'the end'), { code: 0, signal: null });
  });

  test('a stop aborts connections that outlast the grace period', async () => {
    await using echo = await echoServer();
    await using weir = await Weir.start(PLAIN);
    const client = await socksConnect(weir.address('socks'), echo.target);
    await roundTrip(client, 'before');
    const before = performance.now();
    assert.deepEqual(await weir.stop(), { code: 0, signal: null });
    assert.ok(performance.now() - before > 4500, 'the grace was not given');
    assert.equal((await readAll(client)).data.length, 0);
  });

  test('a stop by a second signal ends at once', async () => {
    await using echo = await echoServer();
    await using weir = await Weir.start(PLAIN, ENDLESS_GRACE);
    using client = disposable(await socksConnect(weir.address('socks'), echo.target));
    await roundTrip(client, 'before');
    weir.child.signal('SIGTERM');
    await stopsListening(weir);
    assert.equal(weir.child.ended, undefined);
    weir.child.signal('SIGINT');
    await within(weir.child.exited, 'the end after the second signal');
  });
});
