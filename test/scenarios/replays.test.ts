import assert from 'node:assert/strict';
import { pipeline } from 'node:stream/promises';
import test from 'node:test';
import { open, portOf, type Address } from '../support/data/address.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, tcpServer, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const OTHER_ID = 'b831381d-6324-4d53-ad4f-8cda48b30812';
const [KEY, USER, OTHER] = ['key', 'one', 'two'].map((text) =>
  Buffer.alloc(16, text).toString('base64'),
);

/** A protocol whose requests count once, with a second user that a reload adds. */
interface Way {
  readonly name: string;
  readonly protocol: string;
  readonly inbound: string;
  readonly another: string;
  readonly outbound: string;
  readonly refusal: RegExp;
}

const WAYS: readonly Way[] = [
  {
    name: 'VMess',
    protocol: 'vmess',
    inbound: `users = [{ id = "${ID}" }]`,
    another: `users = [{ id = "${OTHER_ID}" }, { id = "${ID}" }]`,
    outbound: `id = "${ID}"`,
    refusal: /the VMess request was sent before/g,
  },
  {
    name: 'Shadowsocks',
    protocol: 'shadowsocks',
    inbound: 'method = "aes-128-gcm"\npassword = "x"\nusers = [{ password = "one" }]',
    another:
      'method = "aes-128-gcm"\npassword = "x"\nusers = [{ password = "two" }, { password = "one" }]',
    outbound: 'method = "aes-128-gcm"\npassword = "one"',
    refusal: /a repeated salt/g,
  },
  {
    name: 'Shadowsocks 2022',
    protocol: 'shadowsocks',
    inbound: `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}"\nusers = [{ password = "${USER}" }]`,
    another: `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}"\nusers = [{ password = "${OTHER}" }, { password = "${USER}" }]`,
    outbound: `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}:${USER}"`,
    refusal: /a repeated salt/g,
  },
];

const exitConfig = (protocol: string, settings: string, sniffing: boolean): string =>
  `${API}${freedom()}[[inbound]]\ntag = "in"\nprotocol = "${protocol}"\nport = 0\n` +
  `sniffing = ${sniffing}\n[inbound.settings]\n${settings}\n`;

/** Passes connections on to `server` and keeps what the first client sends. */
async function tap(server: Address): Promise<Origin & { readonly sent: () => Buffer }> {
  const chunks: Buffer[] = [];
  let first = true;
  const origin = await tcpServer(async (client) => {
    const upstream = await open(server);
    if (first) client.on('data', (chunk: Buffer) => chunks.push(chunk));
    first = false;
    await Promise.all([pipeline(client, upstream), pipeline(upstream, client)]);
  });
  return { ...origin, sent: () => Buffer.concat(chunks) };
}

for (const { name, protocol, inbound, another, outbound, refusal } of WAYS) {
  test(`${name}: a request is accepted once, before and after reloads`, async () => {
    await using echo = await echoServer();
    await using exit = await Weir.start(exitConfig(protocol, inbound, true), {
      env: { RUST_LOG: 'debug' },
    });
    const control = await Control.of(exit);
    await using tapped = await tap(exit.address('in'));
    const server = { host: tapped.host, port: tapped.port };
    await using entry = await Weir.start(socksIn() + proxyOut('out', protocol, server, outbound));
    const speak = async (): Promise<void> => {
      const client = await socksConnect(entry.address('socks'), echo.target);
      assert.equal(String(await roundTrip(client, 'a word')), 'a word');
      client.destroy();
    };
    await speak();
    assert.equal(echo.accepted(), 1);

    const refusals = (): number => exit.child.stderr.match(refusal)?.length ?? 0;
    const replay = async (): Promise<void> => {
      const before = refusals();
      const replaying = await open({ host: '127.0.0.1', port: portOf(exit.address('in')) });
      replaying.on('error', () => undefined).resume();
      replaying.end(tapped.sent());
      await exit.child.until('the replay was refused', () => refusals() > before || undefined);
      assert.equal(echo.accepted(), 1);
    };
    await replay();
    // Another user set, and another handler for its sniffing alone.
    for (const next of [
      exitConfig(protocol, another, true),
      exitConfig(protocol, inbound, false),
    ]) {
      const { swapped } = await control.apply(next);
      assert.deepEqual(swapped, ['in']);
      await replay();
    }
    await speak();
    assert.equal(echo.accepted(), 2);
  });
}
