import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { freedom, httpIn, proxyOut, socksIn } from '../support/process/config.ts';
import { bothWays } from '../support/programs/exchange.ts';
import { webServer } from '../support/peers/servers.ts';
import { Weir } from '../support/process/weir.ts';

const GB = 1 << 30;

test('1 GB each way through curl is what was sent, by SHA-256', async (t) => {
  await using web = await webServer();
  await using weir = await Weir.start(socksIn() + httpIn() + freedom());
  const socks = hostPort(weir.address('socks'));
  const http = hostPort(weir.address('http'));
  await t.test('over SOCKS5', () => bothWays(['-x', `socks5://${socks}`], web, GB));
  await t.test('over plain HTTP', () => bothWays(['-x', `http://${http}`], web, GB));
  await t.test('over HTTP CONNECT', () => bothWays(['-p', '-x', `http://${http}`], web, GB));
});

test('1 GB each way through two Weirs is what was sent', async (t) => {
  await using web = await webServer();
  await using exit = await Weir.start(socksIn() + httpIn() + freedom());
  for (const protocol of ['socks', 'http'] as const) {
    await t.test(`chained by ${protocol}`, async () => {
      const out = proxyOut('next', protocol, exit.address(protocol));
      await using entry = await Weir.start(socksIn() + out);
      await bothWays(['-x', `socks5h://${hostPort(entry.address('socks'))}`], web, GB);
    });
  }
});
