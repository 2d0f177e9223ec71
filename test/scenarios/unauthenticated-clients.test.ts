import assert from 'node:assert/strict';
import { connect } from 'node:net';
import test from 'node:test';
import { hostPort, open, portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { httpConnect } from '../support/peers/http-client.ts';
import { SocksRefused, socksConnect, type SocksOptions } from '../support/peers/socks-client.ts';
import { within } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const KEY = Buffer.alloc(16, 'weir').toString('base64');
const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const SECRETS = [KEY, ID, 'correct horse'];

/** An inbound by its tag, its protocol and settings, and the reason it logs for unauthenticated clients. */
const INBOUNDS: readonly [tag: string, protocol: string, settings: string, reason: string][] = [
  ['trojan', 'trojan', 'users = [{ password = "correct horse" }]', 'trojan: invalid user'],
  ['no-users', 'trojan', '', 'trojan: invalid user'],
  ['vless', 'vless', `users = [{ id = "${ID}" }]`, 'vless: invalid user'],
  ['vmess', 'vmess', `users = [{ id = "${ID}" }]`, 'no user here made this VMess request'],
  [
    'legacy',
    'shadowsocks',
    'method = "aes-256-gcm"\npassword = "correct horse"',
    'shadowsocks: no user has a matching key',
  ],
  [
    'modern',
    'shadowsocks',
    `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}"`,
    'shadowsocks-2022: no user has a matching key',
  ],
  [
    'identities',
    'shadowsocks',
    `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}"\nusers = [{ password = "${KEY}" }]`,
    'shadowsocks-2022: no user has this identity',
  ],
];

test('rejected clients are logged at once at info, with the reason and without a secret', async () => {
  const inbounds = INBOUNDS.map(
    ([tag, protocol, settings]) =>
      `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nport = 0\n[inbound.settings]\n${settings}\n`,
  );
  await using weir = await Weir.start(freedom() + inbounds.join(''));
  for (const [tag, , , reason] of INBOUNDS) {
    const client = await open(weir.address(tag));
    client.on('error', () => undefined).resume();
    // The version of VLESS, and then an ID that no user has.
    client.write(Buffer.alloc(200));
    const line = ` INFO svc_app: inbound ${tag}: rejected 127.0.0.1: ${reason}\n`;
    await weir.child.until(line, ({ stderr }) => stderr.includes(line) || undefined);
    client.destroy();
  }
  for (const secret of SECRETS) assert.ok(!weir.child.stderr.includes(secret));
});

test('wrong passwords at socks and http inbounds are one line a minute for each address', async () => {
  const tables = ['auth = "password"\n', ''].map(
    (auth, index) =>
      `[[inbound]]\ntag = "${index === 0 ? 's' : 'h'}"\nprotocol = "${index === 0 ? 'socks' : 'http'}"\nport = 0\n` +
      `[inbound.settings]\n${auth}accounts = [{ user = "ann", pass = "correct horse" }]\n`,
  );
  await using echo = await echoServer();
  await using weir = await Weir.start(`${freedom()}${socksIn('open')}${tables.join('')}`);
  const { child } = weir;
  const logged = (tag: string, address: string, reason: string): Promise<true> => {
    const line = ` INFO svc_app: inbound ${tag}: rejected ${address}: ${reason}\n`;
    return child.until(line, ({ stderr }) => stderr.includes(line) || undefined);
  };
  const socks = (localAddress: string, options: SocksOptions): Promise<void> =>
    assert.rejects(
      socksConnect(weir.address('s'), echo.target, { localAddress, ...options }),
      SocksRefused,
    );
  const wrong = { user: 'ann', pass: 'hunter2' };
  for (let time = 0; time < 3; time++) await socks('127.0.0.1', wrong);
  await socks('127.0.0.1', { user: 'eve', pass: 'correct horse' });
  await logged('s', '127.0.0.1', 'wrong user name or password');
  await socks('127.0.0.2', { version: '4' });
  await logged('s', '127.0.0.2', 'SOCKS4 does not support password authentication');
  await socks('127.0.0.3', {});
  await logged('s', '127.0.0.3', 'the client does not offer password authentication');

  const ask = async (credentials: string): Promise<number> => {
    const { socket, status } = await httpConnect(
      weir.address('h'),
      hostPort(echo.target),
      credentials,
    );
    socket.destroy();
    return status;
  };
  const basic = (text: string): string =>
    `Proxy-Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`;
  const bearer = 'Proxy-Authorization: Bearer hunter2\r\n';
  for (let time = 0; time < 2; time++) assert.equal(await ask(''), 407);
  assert.ok(!child.stderr.includes('inbound h: rejected'), child.stderr);
  for (const credentials of [basic('ann:hunter2'), bearer, basic('eve:correct horse')]) {
    assert.equal(await ask(credentials), 407);
  }
  await logged('h', '127.0.0.1', 'wrong user name or password');
  assert.equal(await ask(basic('ann:correct horse')), 200);
  assert.deepEqual(
    child.stderr.match(/inbound \S+: rejected \S+/g)?.sort(),
    ['h', 's', 's', 's'].map((tag, n) => `inbound ${tag}: rejected 127.0.0.${n === 0 ? 1 : n}:`),
  );
  assert.doesNotMatch(child.stderr, /hunter2|correct horse|\bann\b|\beve\b/);
});

test('silent clients do not take every descriptor of a process that has few', async () => {
  await using echo = await echoServer();
  const wrap = ['prlimit', '--nofile=300:300'];
  await using weir = await Weir.start(`[log]\nlevel = "debug"\n${freedom()}${socksIn('in')}`, {
    wrap,
  });
  const port = portOf(weir.address('in'));
  const silent = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' });
      socket.on('error', () => undefined).resume();
      // Some are disconnected before they learn that they were connected.
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
      return socket;
    }),
  );
  try {
    const socket = await within(socksConnect(weir.address('in'), echo.target), 'a connection');
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
    socket.destroy();
    // They have given way; otherwise they would have kept the listener busy for their ten seconds.
    await weir.child.until('all but 38 were disconnected', ({ stderr }) => {
      const lines = stderr.match(/too many clients have not authenticated/g) ?? [];
      return lines.length === 200 - 38 || undefined;
    });
  } finally {
    for (const one of silent) one.destroy();
  }
});
