import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { httpIn, proxyOut, socksIn } from '../support/process/config.ts';
import { httpTunnel } from '../support/peers/http-client.ts';
import { startV2ray, without } from '../support/programs/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { RAY_SOCKS_IN } from '../support/ways/ray.ts';
import { Weir } from '../support/process/weir.ts';

test(
  'connections in by SOCKS and by HTTP share one way out',
  { skip: without('v2ray') },
  async () => {
    await using v2ray = await startV2ray([RAY_SOCKS_IN]);
    await using echo = await echoServer();
    const config = socksIn() + httpIn() + proxyOut('out', 'socks', v2ray.address);
    await using weir = await Weir.start(config);
    const one = async (i: number): Promise<void> => {
      const socket =
        i % 2 === 0
          ? await socksConnect(weir.address('socks'), echo.target)
          : await httpTunnel(weir.address('http'), hostPort(echo));
      const text = `connection ${i}`;
      assert.equal(String(await roundTrip(socket, text)), text);
      socket.destroy();
    };
    await Promise.all(Array.from({ length: 300 }, (_, i) => one(i)));
  },
);
