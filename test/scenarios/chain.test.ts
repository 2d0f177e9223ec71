import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { blackhole, freedom, httpIn, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { curl } from '../support/programs/curl.ts';
import { socksHalfCloses } from '../support/programs/exchange.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { udpEcho, webBody, webServer } from '../support/peers/servers.ts';
import { SocksRefused, socksReply } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { Weir } from '../support/process/weir.ts';

const SIZE = 8 << 20;
const LOGIN = 'user = "mia"\npass = "s3cret: x"';
const ACCOUNTS = 'accounts = [{ user = "mia", pass = "s3cret: x" }]';

/** The exit: every kind of inbound, with and without a login; port 9 of anything is blocked. */
const EXIT = [
  socksIn(),
  socksIn('socks-login', `[inbound.settings]\nauth = "password"\n${ACCOUNTS}`),
  httpIn(),
  httpIn('http-login', `[inbound.settings]\n${ACCOUNTS}`),
  freedom(),
  blackhole(),
  rule('block', 'port = ["9"]'),
].join('\n');

/** A way through the exit, and the login that is used for it. */
interface Way {
  /** The exit's inbound; its protocol is the start of its name. */
  readonly inbound: string;
  readonly settings: string;
}

const protocolOf = ({ inbound }: Way): 'socks' | 'http' =>
  inbound.startsWith('socks') ? 'socks' : 'http';

/** An entry with a SOCKS and an HTTP inbound for each way, `socks-<i>` and `http-<i>`. */
function entryTo(exit: Weir, ways: readonly Way[]): string {
  const pieces = ways.map((way, i) =>
    [
      socksIn(`socks-${i}`),
      httpIn(`http-${i}`),
      proxyOut(`out-${i}`, protocolOf(way), exit.address(way.inbound), way.settings),
      rule(`out-${i}`, `inbound_tag = ["socks-${i}", "http-${i}"]`),
    ].join('\n'),
  );
  return pieces.join('\n');
}

const WAYS: readonly Way[] = [
  { inbound: 'socks', settings: '' },
  { inbound: 'socks-login', settings: LOGIN },
  { inbound: 'http', settings: '' },
  { inbound: 'http-login', settings: LOGIN },
];

test('two Weirs in a chain carry bytes, ends of stream and refusals', async (t) => {
  await using exit = await Weir.start(EXIT);
  await using entry = await Weir.start(entryTo(exit, WAYS));
  await using web = await webServer();
  for (const [i, { inbound }] of WAYS.entries()) {
    const socks = entry.address(`socks-${i}`);
    const http = entry.address(`http-${i}`);

    await t.test(`${inbound}: a body each way`, async () => {
      const site = `http://localhost:${web.port}`;
      const down = await curl(['-x', `socks5h://${hostPort(socks)}`, `${site}/bytes/${SIZE}`]);
      assert.deepEqual(down.body, webBody(SIZE));
      const up = await curl(['-x', `http://${hostPort(http)}`, '-T', '-', `${site}/digest`], SIZE);
      assert.deepEqual(JSON.parse(up.text), bodyOf(SIZE));
    });

    await t.test(`${inbound}: half-closes both ways`, () => socksHalfCloses(socks));

    await t.test(`${inbound}: what the exit refuses is refused at the entry`, async () => {
      assert.notEqual(await socksReply(socks, { host: '127.0.0.1', port: 9 }), 0);
      assert.notEqual(await socksReply(socks, { host: '127.0.0.1', port: 1 }), 0);
    });
  }
});

test('an invalid login at the next proxy is refused and does not hang', async (t) => {
  await using exit = await Weir.start(EXIT);
  const ways = ['socks-login', 'http-login'].flatMap((inbound) =>
    ['', 'user = "mia"\npass = "wrong"'].map((settings): Way => ({ inbound, settings })),
  );
  await using entry = await Weir.start(entryTo(exit, ways));
  for (const [i, { inbound, settings }] of ways.entries()) {
    await t.test(`${inbound} with ${settings === '' ? 'none' : 'a wrong one'}`, async () => {
      const target = { host: '127.0.0.1', port: 80 };
      assert.notEqual(await socksReply(entry.address(`socks-${i}`), target), 0);
    });
  }
});

test('datagrams pass two Weirs over SOCKS and come back with their source', async () => {
  await using exit = await Weir.start(EXIT);
  await using first = await udpEcho();
  await using second = await udpEcho();
  const out = proxyOut('next', 'socks', exit.address('socks-login'), LOGIN);
  await using entry = await Weir.start(socksIn() + out);
  using association = await UdpAssociation.open(entry.address('socks'));
  for (const server of [first, second]) {
    association.send(server.target, `to ${server.port}`);
    const { from, data } = await association.receive();
    assert.deepEqual([from.host, from.port], [server.host, server.port]);
    assert.equal(String(data), `to ${server.port}`);
  }
});

test('datagrams towards an HTTP proxy are dropped and streams beside them continue', async () => {
  await using exit = await Weir.start(EXIT);
  await using web = await webServer();
  await using server = await udpEcho();
  await using entry = await Weir.start(socksIn() + proxyOut('next', 'http', exit.address('http')));
  try {
    using association = await UdpAssociation.open(entry.address('socks'));
    association.send(server.target, 'lost');
  } catch (error) {
    assert.ok(error instanceof SocksRefused);
  }
  const url = `http://127.0.0.1:${web.port}/hello`;
  const { text } = await curl(['-x', `socks5h://${hostPort(entry.address('socks'))}`, url]);
  assert.equal(text, 'hello from the origin\n');
  assert.equal(server.accepted(), 0);
});
