import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hostPort, type Address } from '../support/data/address.ts';
import { freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { bothWays, datagrams, socksHalfCloses, manyStreams } from '../support/programs/exchange.ts';
import { readAll, readExactly } from '../support/read.ts';
import { echoServer, tcpServer, udpEcho, webServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

/**
 * Runs under the checks of `WEIR_CRYPTO=checked`: every message is compared with the baseline, a
 * cipher that is used after its end throws, and one that was never closed is reported when collected.
 */
const CHECKED = {
  env: { WEIR_CRYPTO: 'checked', RUST_LOG: 'debug' },
  nodeArgs: [
    '--expose-gc',
    '--import',
    fileURLToPath(new URL('../support/process/collect.ts', import.meta.url)),
  ],
};

const BODY = 4 << 20;
const STREAMS = 100;
const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const KEY = Buffer.alloc(16, 'weir').toString('base64');
const KEY32 = Buffer.alloc(32, 'weir').toString('base64');

interface Way {
  readonly name: string;
  readonly protocol: string;
  readonly inbound: string;
  readonly outbound: string;
}

const shadowsocks = (method: string, password: string): Way => {
  const settings = `method = "${method}"\npassword = "${password}"`;
  return { name: method, protocol: 'shadowsocks', inbound: settings, outbound: settings };
};

const WAYS: readonly Way[] = [
  {
    name: 'VMess',
    protocol: 'vmess',
    inbound: `users = [{ id = "${ID}" }]`,
    outbound: `id = "${ID}"\nsecurity = "chacha20-poly1305"`,
  },
  shadowsocks('xchacha20-poly1305', 'a password'),
  shadowsocks('2022-blake3-aes-128-gcm', KEY),
  shadowsocks('2022-blake3-chacha20-poly1305', KEY32),
];

/** Streams that end in every way that there is, many of them at once. */
async function endings(socks: Address): Promise<void> {
  await using resetting = await tcpServer((socket) => {
    socket.write('half of');
    socket.once('data', () => socket.resetAndDestroy());
  });
  await using pouring = await tcpServer((socket) => {
    const pour = (): void => {
      while (socket.write(Buffer.alloc(64 << 10)));
    };
    socket.on('drain', pour).resume();
    pour();
  });
  const cutByServer = async (): Promise<void> => {
    const client = await socksConnect(socks, resetting.target);
    client.on('error', () => undefined);
    await readExactly(client, 7);
    client.write('go');
    assert.equal((await readAll(client)).clean, false);
  };
  const cutByClient = async (): Promise<void> => {
    const client = await socksConnect(socks, pouring.target);
    await readExactly(client, 100_000);
    client.resetAndDestroy();
  };
  const refused = async (): Promise<void> => {
    const client = await socksConnect(socks, { host: '127.0.0.1', port: 1 });
    client.on('error', () => undefined);
    client.write('hello');
    await readAll(client);
  };
  const rounds = Array.from({ length: Math.ceil(STREAMS / 3) });
  await Promise.all(rounds.flatMap(() => [cutByServer(), cutByClient(), refused()]));
}

/** Two Weirs with all ways between them, each from the inbound `name` of the one to that of the other. */
let entry: Weir;
let exit: Weir;
let controls: readonly Control[];

shared(async (use) => {
  const inbounds = WAYS.map(
    ({ name, protocol, inbound }) =>
      `[[inbound]]\ntag = "${name}"\nprotocol = "${protocol}"\nport = 0\n[inbound.settings]\n${inbound}\n`,
  );
  exit = use(await Weir.start(API + freedom() + inbounds.join(''), CHECKED));
  const ways = WAYS.map(
    ({ name, protocol, outbound }) =>
      socksIn(name) +
      proxyOut(`to ${name}`, protocol, exit.address(name), outbound) +
      rule(`to ${name}`, `inbound_tag = ["${name}"]`),
  );
  entry = use(await Weir.start(API + ways.join(''), CHECKED));
  controls = [await Control.of(entry), await Control.of(exit)];
});

const collections = ({ stderr }: { readonly stderr: string }): number =>
  stderr.split('collected\n').length - 1;

for (const { name } of WAYS) {
  test(`${name}: ciphers agree with the baseline, are closed, and are not used after that`, async () => {
    const socks = entry.address(name);
    await using web = await webServer();
    await using echo = await echoServer();
    await using udp = await udpEcho();
    await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY);
    await socksHalfCloses(socks);
    await datagrams(socks, [udp]);
    await manyStreams(socks, STREAMS);
    await endings(socks);
    // Killed by the operator in the middle of a word, on either side.
    for (const { api } of controls) {
      const client = await socksConnect(socks, echo.target);
      client.on('error', () => undefined).write('hello');
      await readExactly(client, 5);
      await api.ask('DELETE', '/v1/connections');
      await readAll(client);
    }
    for (const { weir, api } of controls) {
      await eventually('no flow left', async () => {
        await api.ask('DELETE', '/v1/connections');
        const { flows, sessions } = (await api.json('GET', '/v1/connections')) as {
          flows: unknown[];
          sessions: { inbound: string }[];
        };
        // An association of Shadowsocks stays for what may still come.
        const own = sessions.filter(({ inbound }) => inbound === name);
        return flows.length === 0 && own.length <= 1;
      });
      const collected = collections(weir.child);
      weir.child.signal('SIGUSR2');
      const { stderr } = await weir.child.until('it has collected', (child) =>
        collections(child) > collected ? child : undefined,
      );
      assert.doesNotMatch(stderr, /CryptoWarning|never closed|after it was closed|baseline/);
      assert.equal(weir.child.ended, undefined);
    }
  });
}
