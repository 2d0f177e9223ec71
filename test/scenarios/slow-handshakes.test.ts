import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import { open, type Address } from '../support/address.ts';
import { freedom, httpIn, socksIn } from '../support/config.ts';
import { openDescriptors } from '../support/proc.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { echoServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import { eventually, within } from '../support/wait.ts';
import { Weir } from '../support/weir.ts';

const SETTINGS = '[inbound.settings]\nauth = "password"\naccounts = [{ user = "u", pass = "p" }]\n';
const CONFIG = socksIn() + socksIn('guarded', SETTINGS) + httpIn() + freedom();

/** What a client of each kind says before it falls silent. */
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

test('handshakes that never finish are ended by their deadline and leave nothing behind', async (t) => {
  await using echo = await echoServer();
  await using weir = await Weir.start(CONFIG);
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
});

/** Says `bytes`, falls silent or drips on, and tells whether the server ended the connection. */
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
