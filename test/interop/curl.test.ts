import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { freedom, httpIn, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { bothWays } from '../support/programs/exchange.ts';
import { webServer } from '../support/peers/servers.ts';
import { Weir } from '../support/process/weir.ts';

const GB = 1 << 30;

/*
 * Each chain has one protocol in front of the other, so that every inbound and outbound carries a gigabyte each way;
 * test/scenarios/curl.test.ts has smaller bodies through each inbound alone.
 */
test('1 GB each way through curl and two Weirs is what was sent, by SHA-256', async (t) => {
  await using web = await webServer();
  await using exit = await Weir.start(socksIn() + httpIn() + freedom());
  await using entry = await Weir.start(
    [
      socksIn(),
      httpIn(),
      proxyOut('by-http', 'http', exit.address('http')),
      proxyOut('by-socks', 'socks', exit.address('socks')),
      rule('by-http', 'inbound_tag = ["socks"]'),
      rule('by-socks', 'inbound_tag = ["http"]'),
    ].join(''),
  );
  const socks = hostPort(entry.address('socks'));
  const http = hostPort(entry.address('http'));
  await t.test('in by SOCKS5, chained by HTTP CONNECT', () =>
    bothWays(['-x', `socks5h://${socks}`], web, GB),
  );
  await t.test('in by plain HTTP, chained by SOCKS5', () =>
    bothWays(['-x', `http://${http}`], web, GB),
  );
});
