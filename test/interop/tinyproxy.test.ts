import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { freedom, httpIn, proxyOut, socksIn } from '../support/process/config.ts';
import { bothWays } from '../support/programs/exchange.ts';
import { startTinyproxy, without } from '../support/programs/peers.ts';
import { freePort } from '../support/ports.ts';
import { webServer } from '../support/peers/servers.ts';
import { socksReply } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

const BODY = 16 << 20;
const LOGIN = { user: 'mia', pass: 's3cret' };
const skip = without('tinyproxy');

test('Weir as a client of tinyproxy', { skip }, async (t) => {
  await using web = await webServer();
  for (const login of [undefined, LOGIN]) {
    const name = login ? 'with a password' : 'without a password';
    await using tinyproxy = await startTinyproxy(undefined, login);
    const settings = login ? `user = "${login.user}"\npass = "${login.pass}"` : '';
    const out = proxyOut('out', 'http', tinyproxy.address, settings);
    await using weir = await Weir.start(socksIn() + httpIn() + out);
    await t.test(`${name}: a body both ways, in by SOCKS`, () =>
      bothWays(['-x', `socks5h://${hostPort(weir.address('socks'))}`], web, BODY),
    );
    await t.test(`${name}: a body both ways, in by HTTP`, () =>
      bothWays(['-x', `http://${hostPort(weir.address('http'))}`], web, BODY),
    );
    await t.test(`${name}: a refusal is passed on`, async () => {
      const target = { host: '127.0.0.1', port: await freePort() };
      assert.notEqual(await socksReply(weir.address('socks'), target), 0);
    });
  }
});

test('tinyproxy as a client of Weir', { skip }, async (t) => {
  const accounts = 'accounts = [{ user = "mia", pass = "s3cret" }]';
  await using web = await webServer();
  await using weir = await Weir.start(
    [
      socksIn(),
      socksIn('login', `[inbound.settings]\nauth = "password"\n${accounts}`),
      httpIn(),
      httpIn('http-login', `[inbound.settings]\n${accounts}`),
      freedom(),
    ].join('\n'),
  );
  const upstreams = [
    ['SOCKS4', `socks4 ${hostPort(weir.address('socks'))}`],
    ['SOCKS5', `socks5 ${hostPort(weir.address('socks'))}`],
    ['SOCKS5 with a password', `socks5 mia:s3cret@${hostPort(weir.address('login'))}`],
    ['HTTP', `http ${hostPort(weir.address('http'))}`],
    ['HTTP with a password', `http mia:s3cret@${hostPort(weir.address('http-login'))}`],
  ] as const;
  for (const [name, upstream] of upstreams) {
    await using tinyproxy = await startTinyproxy(upstream);
    const proxy = ['-x', `http://${hostPort(tinyproxy.address)}`];
    await t.test(`${name}: a body both ways`, () => bothWays(proxy, web, BODY));
    await t.test(`${name}: a body both ways in a tunnel`, () =>
      bothWays(['-p', ...proxy], web, BODY),
    );
  }
});
