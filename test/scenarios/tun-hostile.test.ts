import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { TcpFlag } from '../../packages/netstack/src/wire/tcp.ts';
import { disposable, open } from '../support/data/address.ts';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { endpoint, ipPacket, segment, tcpPacket, udpPacket } from '../support/data/ip-packets.ts';
import { withLoss, withoutLoss } from '../support/netns/loss.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { PacketSocket } from '../support/netns/packet-socket.ts';
import { Datagrams, download, upload } from '../support/netns/program.ts';
import { FAR, PORT, Site } from '../support/netns/site.ts';
import { endFlows, TUN, tunConfig } from '../support/netns/tun-config.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { roundTrip } from '../support/read.ts';
import { SeededRandom } from '../support/simnet/seeded-random.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const SIZE = 2 << 20;
const PACKETS = Number(process.env['WEIR_TUN_PACKETS'] ?? 20_000);
/** Bytes of resident memory that packets of no use may leave. */
const MEMORY = 128 << 20;

const HOST = endpoint(FAR.host, PORT.echo);
const HOST6 = endpoint(FAR.host6, PORT.echo);

const bothWays = async (size = SIZE, host: string = FAR.host): Promise<void> => {
  const bodies = await Promise.all([upload(host, size), download(host, size)]);
  assert.deepEqual(bodies, [bodyOf(size), bodyOf(size)]);
};

function residentBytes(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** Valid and less valid packets, by a seed. */
function* malformed(seed: number): Generator<Uint8Array> {
  const random = new SeededRandom(seed);
  const below = (limit: number): number => random.next() % limit;
  for (let i = 0; i < PACKETS; i++) {
    const isSix = below(2) === 0;
    const source = endpoint(
      isSix ? `fd19::${(2 + below(60_000)).toString(16)}` : `172.19.0.${below(256)}`,
      below(65_536),
    );
    const parts = { source, destination: isSix ? HOST6 : HOST };
    const payload = Buffer.alloc(below(300), i);
    const header = segment({
      sourcePort: source.port,
      destinationPort: PORT.echo,
      sequence: random.next(),
      acknowledgment: random.next(),
      flags: below(256),
      window: below(65_536),
      mss: below(2000),
    });
    const kinds = [
      () => tcpPacket(header, payload, parts),
      () => udpPacket(payload, parts),
      () => ipPacket(isSix ? 58 : 1, payload, parts),
      () => ipPacket(below(256), payload, parts),
    ];
    const packet = kinds[below(kinds.length)]?.() ?? payload;
    // Some bytes are wrong, or the end is missing.
    for (let wrong = below(4); wrong > 0; wrong--) packet[below(packet.length)] = below(256);
    yield below(4) === 0 ? packet.subarray(0, 1 + below(packet.length)) : packet;
  }
}

function* synFlood(): Generator<Uint8Array> {
  const random = new SeededRandom(7);
  for (let i = 0; i < PACKETS; i++) {
    const source = endpoint(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 1024 + (i % 60_000));
    const header = segment({
      sourcePort: source.port,
      destinationPort: PORT.echo,
      sequence: random.next(),
      flags: TcpFlag.SYN,
      window: 64_240,
      mss: 1460,
    });
    yield tcpPacket(header, undefined, { source, destination: HOST });
  }
}

inOwnNetwork(import.meta.url, () => {
  describe('a TUN inbound', () => {
    let weir: Weir;
    let control: Control;

    shared(async (use) => {
      use(await Site.make());
      weir = use(await Weir.start(tunConfig(freedom())));
      control = await Control.of(weir);
    });

    /** Sends packets by the device while a connection goes on. */
    async function beside(packets: Iterable<Uint8Array>): Promise<void> {
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      using raw = new PacketSocket(TUN.name);
      let isSending = true;
      const traffic = (async () => {
        while (isSending) await roundTrip(socket, 'hello');
      })();
      let sent = 0;
      for (const packet of packets) {
        if (raw.send(packet)) sent++;
        if (sent % 100 === 0) await turn();
      }
      isSending = false;
      await traffic;
      assert.ok(sent > 0);
      await roundTrip(socket, 'still here');
    }

    for (const mtu of [1280, 9000, 65_535]) {
      test(`carries bytes and datagrams whole with an MTU of ${mtu}`, async () => {
        await endFlows(control);
        await control.apply(tunConfig(freedom(), { settings: `mtu = ${mtu}` }));
        for (const host of [FAR.host, FAR.host6]) await bothWays(SIZE, host);
        await using datagrams = await Datagrams.open();
        for (const size of [1252, 1253, 8972, 8973, 60_000]) {
          await datagrams.echo(Buffer.alloc(size, size), FAR.host);
        }
      });
    }

    const noLoss = withoutLoss();
    for (const [device, percent] of [
      [TUN.name, 3],
      ['uplink', 1],
    ] as const) {
      test(`recovers from a loss of ${percent} % on ${device}`, { skip: noLoss }, () =>
        withLoss(device, percent, () => bothWays()),
      );
    }

    test('holds a bounded part of what many clients do not read', async () => {
      const CLIENTS = 50;
      await bothWays();
      const before = residentBytes(weir.pid);
      using stack = new DisposableStack();
      for (let i = 0; i < CLIENTS; i++) {
        const socket = stack.use(disposable(await open({ host: FAR.host, port: PORT.source })));
        socket.pause();
        socket.write(`${1 << 30}\n`);
      }
      const LOOKS = 25;
      let [last, looks] = [0, 0];
      await eventually('the flows to stop', async () => {
        const flows = await control.flowsTo(FAR.host);
        const down = flows.reduce((sum, flow) => sum + flow.down, 0);
        looks = down === last && flows.length >= CLIENTS ? looks + 1 : 0;
        last = down;
        return looks === LOOKS;
      });
      const grown = residentBytes(weir.pid) - before;
      assert.ok(grown < 3 * MEMORY, `${grown >> 20} MiB more`);
      // They have stopped nothing but themselves.
      await bothWays();
    });

    for (const [what, packets] of [
      ['malformed packets', malformed(1)],
      ['a flood of SYNs', synFlood()],
    ] as const) {
      test(`serves beside ${what}, with bounded memory`, async () => {
        await bothWays();
        const before = residentBytes(weir.pid);
        await beside(packets);
        await bothWays();
        const grown = residentBytes(weir.pid) - before;
        assert.ok(grown < MEMORY, `${grown >> 20} MiB more`);
        assert.equal(weir.child.ended, undefined);
      });
    }
  });
});
