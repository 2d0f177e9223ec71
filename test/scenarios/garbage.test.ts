import assert from 'node:assert/strict';
import { createCipheriv, hash } from 'node:crypto';
import { connect } from 'node:net';
import test from 'node:test';
import { portOf, type Address } from '../support/data/address.ts';
import { blackhole, freedom, httpIn, rule, socksIn } from '../support/process/config.ts';
import { openDescriptors, residentBytes } from '../support/process/proc.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { ID, PASSWORD } from '../support/ways/secrets.ts';
import { weirIn } from '../support/ways/weir-config.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const CONNECTIONS = 10_000;
const AT_ONCE = 200;
const MB = 1 << 20;

/** Garbage may by chance be a request: nothing but loopback is then connected to. */
const CONFIG = [
  socksIn(),
  httpIn(),
  weirIn({ protocol: 'trojan' }),
  weirIn({ protocol: 'vless' }),
  blackhole(),
  freedom(),
  rule('direct', 'cidr = ["127.0.0.0/8"]'),
].join('\n');

const KEY = hash('sha224', PASSWORD);
const USER = Buffer.from(ID.replaceAll('-', ''), 'hex').toString('latin1');

/** What comes before the random bytes, so that they reach every part of a handshake. */
const PREFIXES = [
  '',
  '\x05\x01\x00',
  '\x05\x01\x00\x05\x01\x00\x03',
  '\x05\xff',
  '\x04\x01',
  '\x16\x03\x01\x02\x00\x01',
  'GET http://localhost/',
  'CONNECT localhost:1 HTTP/1.1\r\n',
  'POST http://localhost:1/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: ',
  `${KEY}\r\n\x01\x01\x7f\0\0\x01\0\x01\r\n`,
  `${KEY}\r\n\x03\x01\x7f\0\0\x01\0\x01\r\n`,
  `\0${USER}\0\x01\0\x01\x01\x7f\0\0\x01`,
  `\0${USER}\0\x02\0\x01\x01\x7f\0\0\x01`,
  `\0${USER}\0\x03`,
  `\0${USER}\0\x03\0\x0c\0\x01\x01\0\x01\0\x01\x01\x7f\0\0\x01`,
].map((text) => Buffer.from(text, 'latin1'));

test('ten thousand connections that send garbage leave no resources behind', async (t) => {
  await using echo = await echoServer();
  // A heap kept small shows what is kept for good; a large one grows before it is swept.
  const nodeArgs = ['--max-heap-size=64', '--max-semi-space-size=1'];
  await using weir = await Weir.start(CONFIG, { nodeArgs });
  const inbounds = ['socks', 'http', 'trojan', 'vless'].map((tag) => weir.address(tag));
  const random = randomBytes();

  // The first of them warm up: code is compiled and buffers grow to what they need.
  await throwAt(inbounds, CONNECTIONS / 5, random);
  const descriptors = await settled(weir);
  const memory = residentBytes(weir.pid);
  await throwAt(inbounds, CONNECTIONS, random);

  await t.test('no descriptor', async () => {
    await eventually(
      () => `descriptors back to ${descriptors}, now ${openDescriptors(weir.pid)}`,
      () => openDescriptors(weir.pid) <= descriptors,
    );
  });
  await t.test('no significant memory', () => {
    const grown = (residentBytes(weir.pid) - memory) / MB;
    assert.ok(grown < 16, `grown by ${grown.toFixed(1)} MB`);
  });
  await t.test('no defect in the log', () => {
    assert.doesNotMatch(weir.child.stderr, /internal error/);
    assert.equal(weir.child.ended, undefined);
  });
  await t.test('and the next client is served', async () => {
    const client = await socksConnect(weir.address('socks'), echo.target);
    assert.equal(String(await roundTrip(client, 'hi')), 'hi');
    client.destroy();
  });
});

/** Descriptors once every connection so far is over. */
function settled(weir: Weir): Promise<number> {
  let last = -1;
  let same = 0;
  return eventually('the number of descriptors to stand still', () => {
    const now = openDescriptors(weir.pid);
    same = now === last ? same + 1 : 0;
    last = now;
    return same >= 10 ? now : false;
  });
}

async function throwAt(
  inbounds: readonly Address[],
  count: number,
  random: (size: number) => Buffer,
): Promise<void> {
  let next = 0;
  const thrower = async (): Promise<void> => {
    while (next < count) {
      const i = next++;
      const prefix = PREFIXES[i % PREFIXES.length] ?? Buffer.alloc(0);
      // Every beginning reaches every inbound.
      const inbound = inbounds[Math.floor(i / PREFIXES.length) % inbounds.length];
      if (!inbound) throw new Error('no inbound');
      const bytes = Buffer.concat([prefix, random(1 + (i % 300))]);
      await throwOne(inbound, bytes, i % 3 === 0);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, thrower));
}

/** Sends the bytes, then either resets the connection or half-closes it and waits for the server's end. */
function throwOne(to: Address, bytes: Buffer, reset: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(portOf(to), '127.0.0.1');
  socket.on('error', () => undefined).once('close', () => resolve());
  if (reset) socket.write(bytes, () => socket.resetAndDestroy());
  else socket.resume().end(bytes);
  return promise;
}

/** The same bytes in every run. */
function randomBytes(): (size: number) => Buffer {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16));
  const zeros = Buffer.alloc(4096);
  return (size) => cipher.update(zeros.subarray(0, size));
}
