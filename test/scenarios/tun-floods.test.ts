import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { after, afterEach, before, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { disposable, open } from '../support/address.ts';
import { freedom } from '../support/config.ts';
import { Control } from '../support/control.ts';
import { endpoint, udpPacket } from '../support/ip-packets.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { PacketSocket } from '../support/netns/packet-socket.ts';
import { Datagrams } from '../support/netns/program.ts';
import { FAR, PORT, Site } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { roundTrip } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/weir.ts';

const CONFIG =
  `[log]\nlevel = "debug"\n` +
  `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`;

/** Sends packets by the device, as fast as it takes them, until something is so. */
async function flood(
  packets: () => Iterable<Uint8Array>,
  isEnough: () => boolean | Promise<boolean>,
): Promise<void> {
  using raw = new PacketSocket(TUN.name);
  await eventually('the effect of the flood', async () => {
    let sent = 0;
    for (const packet of packets()) {
      raw.send(packet);
      if (++sent % 100 === 0) await turn();
    }
    return isEnough();
  });
}

/** A datagram from each of many ports of this machine, to a host that does not respond. */
function* fromEachPort(count: number): Generator<Uint8Array> {
  for (let port = 2000; port < 2000 + count; port++) {
    const parts = { source: endpoint(TUN.host, port), destination: endpoint(FAR.silent, 9999) };
    yield udpPacket(Buffer.from('x'), parts);
  }
}

/** What every program of the machine needs. */
async function everythingWorks(): Promise<void> {
  using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
  await roundTrip(socket, 'hello');
  await using datagrams = await Datagrams.open();
  await datagrams.echo(Buffer.from('a datagram'), FAR.host);
  const resolver = new Resolver();
  resolver.setServers([TUN.resolver]);
  assert.deepEqual(await resolver.resolve4('www.far.test'), [FAR.host]);
}

inOwnNetwork(import.meta.url, () => {
  describe('a TUN inbound serves all others beside', () => {
    let site: Site;
    let weir: Weir;
    let control: Control;

    before(async () => {
      site = await Site.make();
    });

    afterEach(() => weir[Symbol.asyncDispose]());
    after(() => site[Symbol.asyncDispose]());

    async function start(settings = '', wrap: readonly string[] = []): Promise<void> {
      weir = await Weir.start(CONFIG + tunConfig(freedom(), { settings }), { wrap });
      control = await Control.of(weir);
    }

    for (const [what, settings, wrap, mark] of [
      ['flows', 'max_flows = 500', [], 'max_flows (500) is reached'],
      ['descriptors', '', ['prlimit', '--nofile=600:600'], 'too many open files'],
    ] as const) {
      test(`a program that sends a datagram from each of its ports, and would take all ${what}`, async () => {
        await start(settings, wrap);
        using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
        await using datagrams = await Datagrams.open();
        await datagrams.echo(Buffer.from('before'), FAR.host);
        await flood(
          () => fromEachPort(1500),
          () => control.count(mark) > 0,
        );
        await everythingWorks();
        assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
        await datagrams.echo(Buffer.from('after'), FAR.host);
      });
    }
  });
});
