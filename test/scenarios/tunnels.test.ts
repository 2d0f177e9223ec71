import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { bothWays, datagrams, manyStreams } from '../support/programs/exchange.ts';
import { udpEcho, webServer } from '../support/peers/servers.ts';
import { Weir } from '../support/process/weir.ts';
import type { Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';

const BODY = 8 << 20;
const STREAMS = 300;
/** The ends of their flows are those of `ends.test.ts` and `killed-flows.test.ts`. */
const TUNNELS: readonly Way[] = [
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
  { protocol: 'trojan' },
  { protocol: 'vless' },
];

test('two Weirs in a chain carry streams and datagrams', async (t) => {
  await using exit = await Weir.start([...TUNNELS.map((way) => weirIn(way)), freedom()].join('\n'));
  for (const way of TUNNELS) {
    const { protocol } = way;
    await using entry = await Weir.start(socksIn() + weirOut(way, exit.address(protocol)));
    const socks = entry.address('socks');

    await t.test(`${protocol}: a body each way`, async () => {
      await using web = await webServer();
      await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY);
    });
    await t.test(`${protocol}: many streams at once`, () => manyStreams(socks, STREAMS));
    if (protocol === 'http') continue;
    await t.test(`${protocol}: datagrams`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(socks, [first, second]);
    });
  }
});
