import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { proxyOut, socksIn } from '../support/process/config.ts';
import { bothWays } from '../support/programs/exchange.ts';
import { freePort } from '../support/ports.ts';
import { startMicrosocks, without } from '../support/programs/peers.ts';
import { udpEcho, webServer } from '../support/peers/servers.ts';
import { SocksRefused, socksReply } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { Weir } from '../support/process/weir.ts';

const BODY = 16 << 20;
const LOGIN = { user: 'mia', pass: 's3cret' };

/** microsocks has no way to chain, so it is only ever behind Weir. */
test('Weir as a client of microsocks', { skip: without('microsocks') }, async (t) => {
  await using web = await webServer();
  for (const login of [undefined, LOGIN]) {
    const name = login ? 'with a password' : 'without a password';
    await using microsocks = await startMicrosocks(login);
    const settings = login ? `user = "${login.user}"\npass = "${login.pass}"` : '';
    const out = proxyOut('out', 'socks', microsocks.address, settings);
    await using weir = await Weir.start(socksIn() + out);
    const socks = weir.address('socks');
    await t.test(`${name}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY),
    );
    await t.test(`${name}: a refusal is passed on`, async () => {
      const target = { host: '127.0.0.1', port: await freePort() };
      assert.equal(await socksReply(socks, target), 0x05);
    });
    await t.test(
      `${name}: datagrams, which it does not carry, are dropped or refused`,
      async () => {
        await using server = await udpEcho();
        try {
          using association = await UdpAssociation.open(socks);
          association.send(server.target, 'lost');
          await assert.rejects(association.receive(500));
        } catch (error) {
          assert.ok(error instanceof SocksRefused);
        }
      },
    );
  }
});
