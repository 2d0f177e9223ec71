import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { freedom, socksIn } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { connectError, Datagrams } from '../support/netns/program.ts';
import { FAR, ip, NEAR, PORT, sentBy, Site, useNameServer } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { SocksRefused, socksConnect } from '../support/peers/socks-client.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const DNS = `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`;

/** Error messages of ICMP that this network has received, of both families. */
function unreachables(): number {
  const v4 = readFileSync('/proc/self/net/snmp', 'utf8').match(/^Icmp: \d+ \d+ \d+ (\d+)/m);
  const v6 = readFileSync('/proc/self/net/snmp6', 'utf8').match(/^Icmp6InDestUnreachs\s+(\d+)/m);
  return Number(v4?.[1]) + Number(v6?.[1]);
}

inOwnNetwork(import.meta.url, () => {
  describe('the subnet of a TUN device', () => {
    shared(async (use) => {
      use(await Site.make());
    });

    const config = (dns: string): string =>
      dns + tunConfig(freedom() + socksIn('socks', 'listen = "127.0.0.1"'));

    test('is nowhere else: what is sent there fails at once', async () => {
      await using weir = await Weir.start(config(''));
      const sent = async (): Promise<number> => {
        const { packets } = sentBy(NEAR.device);
        for (const host of [TUN.resolver, TUN.resolver6]) {
          assert.equal(await connectError(host, 80), 'ENETUNREACH');
          const refused = await socksConnect(weir.address('socks'), { host, port: 80 }).catch(
            (error: unknown) => error,
          );
          assert.ok(refused instanceof SocksRefused);
          assert.equal(refused.reply, 3);
        }
        return sentBy(NEAR.device).packets - packets;
      };
      // The kernel sends packets of IPv6 itself for some seconds after a device is up.
      await eventually('nothing to be sent', async () => (await sent()) === 0);
    });

    test('datagrams without a route are answered by ICMP', async () => {
      await using _weir = await Weir.start(config(''));
      for (const [family, hosts] of [
        [4, [TUN.resolver, '192.0.2.1']],
        [6, [TUN.resolver6]],
      ] as const) {
        ip('route delete default');
        for (const host of hosts) {
          const before = unreachables();
          await using datagrams = await Datagrams.open(family);
          await datagrams.send(Buffer.from('nowhere'), PORT.echo, host);
          await eventually(`the ICMP message for ${host}`, () => unreachables() > before);
        }
        ip(`route add default via ${FAR.gateway}`);
      }
    });

    test('questions of Weir to its own device fail at once, and none leaves', async () => {
      for (const server of [TUN.resolver, TUN.host]) {
        useNameServer(server);
        await using weir = await Weir.start(config('[dns]\nbackend = "system"\n'));
        const control = await Control.of(weir);
        const { packets } = sentBy(NEAR.device);
        const refused = await socksConnect(weir.address('socks'), {
          host: 'www.far.test',
          port: PORT.echo,
        }).catch((error: unknown) => error);
        assert.ok(refused instanceof SocksRefused, server);
        await control.logged('www.far.test');
        assert.equal(sentBy(NEAR.device).packets, packets, `questions to ${server} that left`);
      }
    });

    test('a program that has port 53 keeps it, and the device comes all the same', async () => {
      const taken = createSocket('udp4').bind(53, '0.0.0.0');
      await once(taken, 'listening');
      try {
        await using weir = await Weir.start(config(DNS));
        const control = await Control.of(weir);
        await control.logged(`programs of this host are not answered at ${TUN.host}:53`);
        const resolver = new Resolver();
        resolver.setServers([TUN.resolver]);
        assert.deepEqual(await resolver.resolve4('www.far.test'), [FAR.host]);
      } finally {
        taken.close();
      }
    });
  });
});
