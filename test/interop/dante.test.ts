import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { bothWays, clientEndsFirst, datagrams } from '../support/programs/exchange.ts';
import { freePort } from '../support/ports.ts';
import { startDante, without } from '../support/programs/peers.ts';
import { udpEcho, webServer } from '../support/peers/servers.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

const BODY = 16 << 20;

// A server that ends first is not tested: Dante loses what it has not yet sent on, up to 64 KB.
const skip = without('danted');

test('Weir as a client of Dante', { skip }, async (t) => {
  await using dante = await startDante();
  await using web = await webServer();
  await using weir = await Weir.start(socksIn() + proxyOut('out', 'socks', dante.address));
  const socks = weir.address('socks');
  await t.test('a body both ways', () =>
    bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY),
  );
  await t.test('the client ends first', () =>
    clientEndsFirst((to) => socksConnect(socks, to.target)),
  );
  await t.test('datagrams', async () => {
    await using first = await udpEcho();
    await using second = await udpEcho();
    await datagrams(socks, [first, second]);
  });
  await t.test('a refusal is passed on', async () => {
    const target = { host: '127.0.0.1', port: await freePort() };
    assert.equal(await socksReply(socks, target), 0x05);
  });
});

test('Dante as a client of Weir', { skip }, async (t) => {
  await using weir = await Weir.start(socksIn() + freedom());
  await using dante = await startDante(weir.address('socks'));
  await using web = await webServer();
  await t.test('a body both ways', () =>
    bothWays(['-x', `socks5://${hostPort(dante.address)}`], web, BODY),
  );
  await t.test('the client ends first', () =>
    clientEndsFirst((to) => socksConnect(dante.address, to.target)),
  );
});
