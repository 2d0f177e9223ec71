import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { freedom, rule } from '../support/process/config.ts';
import { httpTunnel } from '../support/peers/http-client.ts';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { recorder } from '../support/peers/recorder.ts';
import { digestServer, echoServer, sendFirstServer, udpEcho } from '../support/peers/servers.ts';
import { SocksRefused, socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { proxyOut } from '../support/process/config.ts';

const MB = 1 << 20;

const unixIn = (tag: string, protocol: string, path: string, settings = ''): string =>
  `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nlisten = "${path}"\n${settings}\n`;

test('inbounds on unix sockets carry the same traffic as those on ports', async (t) => {
  await using folder = await scratch();
  const socks = join(folder.path, 'socks.sock');
  const http = join(folder.path, 'http.sock');
  const udpBind = '[inbound.settings]\nudp_bind = "127.0.0.1"';
  const config =
    unixIn('socks', 'socks', socks, udpBind) + unixIn('http', 'http', http) + freedom();
  await using weir = await Weir.start(config);

  await t.test('they log where they listen', () => {
    assert.deepEqual(weir.address('socks'), { path: socks });
    assert.deepEqual(weir.address('http'), { path: http });
  });
  await t.test('SOCKS: the client ends first', async () => {
    await using server = await digestServer();
    const client = await socksConnect({ path: socks }, server.target);
    const sent = await sendBody(client, 16 * MB);
    client.end();
    assert.deepEqual(JSON.parse(String((await readAll(client)).data)), sent);
  });
  await t.test('HTTP: the server ends first', async () => {
    await using server = await sendFirstServer(16 * MB);
    const client = await httpTunnel({ path: http }, `127.0.0.1:${server.port}`);
    assert.deepEqual(await receiveBody(client), bodyOf(16 * MB));
    await sendBody(client, MB, 2);
    client.end();
    assert.deepEqual(await server.received, bodyOf(MB, 2));
  });
  await t.test('an association works when it states the source of its datagrams', async () => {
    await using echo = await udpEcho();
    using association = await UdpAssociation.open({ path: socks }, { stateSource: true });
    association.send(echo.target, 'ping');
    assert.equal(String((await association.receive()).data), 'ping');
  });
  await t.test('an association that does not is refused with 0x02', async () => {
    await assert.rejects(
      UdpAssociation.open({ path: socks }),
      (error: unknown) => error instanceof SocksRefused && error.reply === 0x02,
    );
  });
  await t.test('the sockets are gone after a stop', async () => {
    assert.deepEqual(await weir.stop(), { code: 0, signal: null });
    assert.deepEqual([existsSync(socks), existsSync(http)], [false, false]);
  });
});

test('a socket file of a killed process does not prevent the next start', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'socks.sock');
  const config = unixIn('socks', 'socks', path, '[inbound.settings]\nudp = false') + freedom();
  {
    await using first = await Weir.start(config);
    first.child.signal('SIGKILL');
    await first.child.exited;
  }
  assert.ok(existsSync(path));
  await using echo = await echoServer();
  await using second = await Weir.start(config);
  const client = await socksConnect(second.address('socks'), echo.target);
  assert.equal(String(await roundTrip(client, 'hi')), 'hi');
  client.destroy();
});

test('a socket with a live listener is not taken over', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'socks.sock');
  const config = unixIn('socks', 'socks', path, '[inbound.settings]\nudp = false') + freedom();
  await using echo = await echoServer();
  await using first = await Weir.start(config);
  await using second = await Weir.launch(config);
  assert.equal((await second.child.exited).code, 1);
  const client = await socksConnect(first.address('socks'), echo.target);
  assert.equal(String(await roundTrip(client, 'hi')), 'hi');
  client.destroy();
});

test('a client on a unix socket has no address that a rule could match', async () => {
  await using folder = await scratch();
  await using everyone = await recorder('everyone');
  await using rest = await recorder('rest');
  const path = join(folder.path, 'socks.sock');
  const config = [
    unixIn('socks', 'socks', path, '[inbound.settings]\nudp = false'),
    proxyOut('rest', 'socks', rest.target),
    proxyOut('everyone', 'socks', everyone.target),
    rule('everyone', 'source_cidr = ["0.0.0.0/0", "::/0"]'),
  ].join('\n');
  await using weir = await Weir.start(config);
  const client = await socksConnect(weir.address('socks'), { host: 'any.example', port: 80 });
  assert.equal(String((await readAll(client)).data), 'rest');
});
