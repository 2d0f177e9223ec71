import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/address.ts';
import { blackhole, freedom, httpIn, proxyOut, rule, socksIn } from '../support/config.ts';
import { curl } from '../support/curl.ts';
import { bodyOf, receiveBody, sendBody } from '../support/pattern.ts';
import { readAll } from '../support/read.ts';
import { digestServer, sendFirstServer, udpEcho, webBody, webServer } from '../support/servers.ts';
import { SocksRefused, socksConnect, socksReply } from '../support/socks-client.ts';
import { UdpAssociation } from '../support/socks-udp.ts';
import { Weir } from '../support/weir.ts';

const MB = 1 << 20;
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

const CHAINS = [
  { inbound: 'socks', protocol: 'socks', settings: '' },
  { inbound: 'socks-login', protocol: 'socks', settings: LOGIN },
  { inbound: 'http', protocol: 'http', settings: '' },
  { inbound: 'http-login', protocol: 'http', settings: LOGIN },
] as const;

test('two Weirs in a row carry bytes, ends and refusals', async (t) => {
  await using exit = await Weir.start(EXIT);
  await using web = await webServer();
  for (const { inbound, protocol, settings } of CHAINS) {
    const out = proxyOut('next', protocol, exit.address(inbound), settings);
    await using entry = await Weir.start(socksIn() + httpIn() + out);
    const socks = entry.address('socks');

    await t.test(`${inbound}: a body each way`, async () => {
      const proxy = ['-x', `socks5h://${hostPort(socks)}`];
      const down = await curl([...proxy, `http://localhost:${web.port}/bytes/${32 * MB}`]);
      assert.deepEqual(down.body, webBody(32 * MB));
      const put = ['-T', '-', `http://localhost:${web.port}/digest`];
      const up = await curl(['-x', `http://${hostPort(entry.address('http'))}`, ...put], 32 * MB);
      assert.deepEqual(JSON.parse(up.text), bodyOf(32 * MB));
    });

    await t.test(`${inbound}: the client ends first`, async () => {
      await using server = await digestServer();
      const client = await socksConnect(socks, server.target);
      const sent = await sendBody(client, 4 * MB);
      client.end();
      assert.deepEqual(JSON.parse(String((await readAll(client)).data)), sent);
    });

    await t.test(`${inbound}: the server ends first`, async () => {
      await using server = await sendFirstServer(4 * MB);
      const client = await socksConnect(socks, server.target);
      assert.deepEqual(await receiveBody(client), bodyOf(4 * MB));
      await sendBody(client, 2 * MB, 2);
      client.end();
      assert.deepEqual(await server.received, bodyOf(2 * MB, 2));
    });

    await t.test(`${inbound}: what the exit refuses is refused at the entry`, async () => {
      assert.notEqual(await socksReply(socks, { host: '127.0.0.1', port: 9 }), 0);
      assert.notEqual(await socksReply(socks, { host: '127.0.0.1', port: 1 }), 0);
    });
  }
});

test('a login that the next proxy does not know is refused, not hung', async (t) => {
  await using exit = await Weir.start(EXIT);
  for (const [inbound, protocol] of [
    ['socks-login', 'socks'],
    ['http-login', 'http'],
  ] as const) {
    for (const settings of ['', 'user = "mia"\npass = "wrong"']) {
      await t.test(`${inbound} with ${settings === '' ? 'none' : 'a wrong one'}`, async () => {
        const out = proxyOut('next', protocol, exit.address(inbound), settings);
        await using entry = await Weir.start(socksIn() + out);
        const reply = await socksReply(entry.address('socks'), { host: '127.0.0.1', port: 80 });
        assert.notEqual(reply, 0);
      });
    }
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

test('datagrams towards an HTTP proxy go nowhere and streams beside them go on', async () => {
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
