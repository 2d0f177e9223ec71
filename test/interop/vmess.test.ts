import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { hostPort, portOf, type Address } from '../support/address.ts';
import { freedom, socksIn } from '../support/config.ts';
import { bothWays, datagrams, socksHalfCloses } from '../support/exchange.ts';
import { bodyOf, sendBody } from '../support/pattern.ts';
import { startV2ray, V2RAY_SOCKS_IN, without } from '../support/peers.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { digestServer, echoServer, udpEcho, webServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import { Weir } from '../support/weir.ts';

const MB = 1 << 20;
/** v2ray makes chunks of 2 KB: 65,536 of them, where nonces begin again, are less than this. */
const BODY = 144 * MB;
const ID = randomUUID();
const CIPHERS = [
  ['aes-128-gcm', BODY],
  ['chacha20-poly1305', 48 * MB],
] as const;

const skip = without('v2ray');

const V2RAY_IN = { protocol: 'vmess', settings: { clients: [{ id: ID, alterId: 0 }] } };

interface V2rayOutOptions {
  readonly security?: string;
  readonly id?: string;
  /** Flows that may share a connection. */
  readonly mux?: number;
}

function v2rayOut(to: Address, options: V2rayOutOptions = {}): object {
  const { security = 'aes-128-gcm', id = ID, mux = 0 } = options;
  const server = { address: '127.0.0.1', port: portOf(to), users: [{ id, alterId: 0, security }] };
  return {
    protocol: 'vmess',
    settings: { vnext: [server] },
    mux: { enabled: mux > 0, concurrency: mux },
  };
}

const vmessIn = (...ids: readonly string[]): string =>
  `[[inbound]]\ntag = "vmess"\nprotocol = "vmess"\nport = 0\n` +
  ids.map((id) => `[[inbound.settings.users]]\nid = "${id}"\n`).join('');

const vmessOut = (to: Address, security = 'auto', id = ID): string =>
  `[[outbound]]\ntag = "out"\nprotocol = "vmess"\nserver = "127.0.0.1"\nport = ${portOf(to)}\n` +
  `[outbound.settings]\nid = "${id}"\nsecurity = "${security}"\n`;

async function echoedDatagrams(socks: Address): Promise<void> {
  await using first = await udpEcho();
  await using second = await udpEcho();
  await datagrams(socks, [first, second]);
}

/** v2ray gives up what is half-closed after a second, but in that time it is answered. */
async function clientEndsFirst(socks: Address): Promise<void> {
  await using server = await digestServer();
  const client = await socksConnect(socks, server.target);
  await sendBody(client, MB);
  client.end();
  assert.deepEqual(JSON.parse(String((await readAll(client)).data)), bodyOf(MB));
}

async function manyStreams(socks: Address): Promise<void> {
  await using echo = await echoServer();
  const one = async (i: number): Promise<void> => {
    const socket = await socksConnect(socks, echo.target);
    const text = `connection ${i}`;
    assert.equal(String(await roundTrip(socket, text)), text);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: 200 }, (_, i) => one(i)));
}

test('Weir as a client of v2ray', { skip }, async (t) => {
  await using v2ray = await startV2ray([V2RAY_IN]);
  await using web = await webServer();
  for (const [security, size] of CIPHERS) {
    await using weir = await Weir.start(socksIn() + vmessOut(v2ray.address, security));
    const socks = weir.address('socks');
    await t.test(`${security}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(socks)}`], web, size),
    );
    await t.test(`${security}: datagrams`, () => echoedDatagrams(socks));
    await t.test(`${security}: many streams at once`, () => manyStreams(socks));
  }
  await t.test('a wrong id ends every connection', async () => {
    const out = vmessOut(v2ray.address, 'auto', randomUUID());
    await using weir = await Weir.start(socksIn() + out);
    await using echo = await echoServer();
    const socket = await socksConnect(weir.address('socks'), echo.target);
    // v2ray reads on for a while before it closes.
    socket.write(Buffer.alloc(8192));
    assert.equal((await readAll(socket)).data.length, 0);
    assert.equal(echo.accepted(), 0);
  });
});

test('v2ray as a client of Weir', { skip }, async (t) => {
  await using weir = await Weir.start(vmessIn(randomUUID(), ID) + freedom());
  await using web = await webServer();
  const server = weir.address('vmess');
  for (const [security, size] of CIPHERS) {
    for (const mux of [0, 8]) {
      await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [v2rayOut(server, { security, mux })]);
      const socks = v2ray.address;
      const name = mux > 0 ? `${security}, mux` : security;
      await t.test(`${name}: a body both ways`, () =>
        bothWays(['-x', `socks5h://${hostPort(socks)}`], web, mux > 0 ? 16 * MB : size),
      );
      // To v2ray the end of one direction of a shared connection is that of both.
      if (mux === 0) await t.test(`${name}: the client ends first`, () => clientEndsFirst(socks));
      await t.test(`${name}: datagrams`, () => echoedDatagrams(socks));
      await t.test(`${name}: many streams at once`, () => manyStreams(socks));
    }
  }
  await t.test('a wrong id reaches nothing', async () => {
    const out = v2rayOut(server, { id: randomUUID() });
    await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
    await using echo = await echoServer();
    const socket = await socksConnect(v2ray.address, echo.target);
    socket.end('hello');
    assert.equal((await readAll(socket)).data.length, 0);
    assert.equal(echo.accepted(), 0);
  });
});

test('Weir as a client of Weir', async (t) => {
  await using server = await Weir.start(vmessIn(ID) + freedom());
  await using web = await webServer();
  for (const [security, size] of CIPHERS) {
    await using weir = await Weir.start(socksIn() + vmessOut(server.address('vmess'), security));
    const socks = weir.address('socks');
    await t.test(`${security}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(socks)}`], web, size),
    );
    await t.test(`${security}: half-closes`, () => socksHalfCloses(socks));
    await t.test(`${security}: datagrams`, () => echoedDatagrams(socks));
    await t.test(`${security}: many streams at once`, () => manyStreams(socks));
  }
});
