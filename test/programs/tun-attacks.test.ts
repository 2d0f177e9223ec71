import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { requestStatus } from '@weir/server/control';
import { TcpFlag } from '../../packages/netstack/src/wire/tcp.ts';
import { disposable, open } from '../support/data/address.ts';
import { endpoint, segment, tcpPacket } from '../support/data/ip-packets.ts';
import { bodyOf } from '../support/data/pattern.ts';
import { Child } from '../support/process/child.ts';
import { freedom } from '../support/process/config.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { download } from '../support/netns/program.ts';
import { FAR, inside, ip, PORT, sentBy, Site } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { roundTrip } from '../support/read.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import type { ProgramName } from './packages.ts';
import { programOrSkip } from './support/program.ts';
import { shared } from '../support/shared.ts';

/*
 * The attacks of hping3, trafgen, thc-ipv6 and tcpreplay on a `tun` inbound, each of bounded length, beside a
 * connection that has to be served meanwhile.
 */

/** Bytes of resident memory that an attack may leave. */
const MEMORY = 192 << 20;
/** Seconds after which a tool is ended that would go on for ever. */
const LENGTH = '4';

const TRAFGEN = `
{ 0x45, 0, c16(40), drnd(2), 0, 0, 64, 6, csumip(0, 19), 10, 66, drnd(2), 203, 0, 113, 7,
  drnd(2), c16(7), drnd(8), drnd(2), drnd(2), csumtcp(0, 20), drnd(2) }
{ 0x45, 0, c16(60), drnd(4), 64, drnd(1), csumip(0, 19), 10, 66, drnd(2), 203, 0, 113, 7, drnd(40) }
{ 0x60, drnd(3), c16(40), drnd(1), 64, 0xfd, 0x66, fill(0, 12), drnd(2),
  0x20, 0x01, 0x0d, 0xb8, fill(0, 11), 7, drnd(40) }
`;

const hping = (words: string): readonly string[] =>
  `-I ${TUN.name} -q -i u100 -p ${PORT.echo} ${words} ${FAR.host}`.split(' ');

/** From this network, by the device. */
const HERE: readonly (readonly [what: string, program: ProgramName, args: readonly string[]])[] = [
  ['SYNs of any source', 'hping3', hping('-c 5000 -S --rand-source')],
  ['christmas trees', 'hping3', hping('-c 2000 -FSRPAUXY -a 10.66.0.9')],
  ['SYNs from their own destination', 'hping3', hping(`-c 2000 -S -a ${FAR.host} -s 7 -k`)],
  ['fragments of 16 bytes', 'hping3', hping('-c 500 -f -d 2000 -S -a 10.66.0.9')],
  ['datagrams with a wrong checksum', 'hping3', hping('-c 2000 --udp -b -a 10.66.0.9')],
  ['forged "fragmentation needed"', 'hping3', hping('-c 2000 --icmp -C 3 -K 4 -a 10.66.0.9')],
  ['an unknown protocol', 'hping3', hping('-c 2000 --rawip -H 253 -a 10.66.0.9')],
];

/** From a network behind this one. */
const LAN: readonly (readonly [what: string, tool: string, args: readonly string[]])[] = [
  ['overlapping fragments', 'fragmentation6', ['client', FAR.host6]],
  ['exploits of other systems', 'exploit6', ['client', FAR.host6]],
  ['a large destination options header', 'denial6', ['client', FAR.host6, '2']],
  ['one-shot fragments', 'denial6', ['client', FAR.host6, '3']],
  ['mutated pings', 'fuzz_ip6', ['-1', 'client', FAR.host6]],
  ['mutated pings with extension headers', 'fuzz_ip6', ['-1', '-HFDE', 'client', FAR.host6]],
  ['SYNs of any source', 'thcsyn6', ['client', FAR.host6, String(PORT.echo)]],
  ['extension headers of all kinds', 'implementation6', ['client', FAR.host6]],
];

/** One half of an old connection, as a file of Ethernet frames for tcpreplay. */
function oldConnection(): Buffer {
  const link = JSON.parse(ip('-json link show near')) as readonly [{ readonly address: string }];
  const mac = Buffer.from(link[0].address.replaceAll(':', ''), 'hex');
  const ethernet = Buffer.concat([mac, Buffer.alloc(5), Buffer.of(1, 0x08, 0x00)]);
  const source = endpoint('10.8.8.2', 5555);
  const parts = { source, destination: endpoint(FAR.host, PORT.echo) };
  const { SYN, ACK, PSH, FIN, RST } = TcpFlag;
  const packets = [SYN, ACK, ACK | PSH, ACK | PSH, ACK | FIN, RST].map((flags, index) => {
    const header = segment({
      sourcePort: source.port,
      destinationPort: PORT.echo,
      sequence: 1000 + index * 100,
      acknowledgment: 5000,
      flags,
      window: 1000,
    });
    return tcpPacket(header, Buffer.alloc((flags & PSH) === 0 ? 0 : 100), parts);
  });
  // The file header of libpcap, little-endian: link type 1 is Ethernet.
  const head = Buffer.alloc(24);
  for (const [at, value] of [
    [0, 0xa1b2c3d4],
    [4, 0x00040002],
    [16, 65_535],
    [20, 1],
  ] as const) {
    head.writeUInt32LE(value, at);
  }
  const frames = packets.flatMap((packet) => {
    const record = Buffer.alloc(16);
    record.writeUInt32LE(ethernet.length + packet.length, 8);
    record.writeUInt32LE(ethernet.length + packet.length, 12);
    return [record, ethernet, packet];
  });
  return Buffer.concat([head, ...frames]);
}

inOwnNetwork(import.meta.url, () => {
  describe('a TUN inbound under attack', () => {
    let site: Site;
    let weir: Weir;

    shared(async (use) => {
      site = use(await Site.make());
      site.addLan();
      execFileSync('sysctl', ['-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1']);
      weir = use(await Weir.start(tunConfig(freedom()), { control: true }));
      await download(FAR.host, 1 << 20);
    });

    /** Packets that the network behind this one has sent so far. */
    const sentByLan = (): number => {
      const text = inside('lan', 'cat', '/sys/class/net/client/statistics/tx_packets');
      return Number(text);
    };

    /** Runs a tool beside a connection, for `LENGTH` at most: `counter` has to grow by `least` meanwhile. */
    async function attack(
      t: TestContext,
      program: string,
      args: readonly string[],
      counter: () => number,
      least: number,
    ): Promise<void> {
      const before = await requestStatus(weir.controlPath);
      const sent = counter();
      using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
      await using tool = new Child('timeout', ['-k', '1', LENGTH, program, ...args]);
      while (tool.ended === undefined) {
        assert.equal(String(await roundTrip(socket, 'beside')), 'beside');
      }
      const packets = counter() - sent;
      assert.ok(packets >= least, `${packets} packets: ${tool.stdout}${tool.stderr}`);
      assert.equal(String(await roundTrip(socket, 'after')), 'after');
      assert.deepEqual(await download(FAR.host6, 1 << 20), bodyOf(1 << 20));
      const { memory, event_loop: loop } = await requestStatus(weir.controlPath);
      const grown = memory.resident - before.memory.resident;
      t.diagnostic(`${packets} packets, ${grown >> 20} MiB more, late by ${loop?.max} ms so far`);
      assert.ok(grown < MEMORY, `${grown >> 20} MiB more`);
      assert.equal(weir.child.ended, undefined);
    }

    for (const [what, name, args] of HERE) {
      const program = programOrSkip(name);
      test(`${name}: ${what}`, { skip: program.skip }, async (t) => {
        await attack(t, program.path, args, () => sentBy(TUN.name).packets, 500);
      });
    }

    const trafgen = programOrSkip('trafgen');
    test('trafgen: random headers of both versions', { skip: trafgen.skip }, async (t) => {
      await using folder = await scratch();
      const file = join(folder.path, 'packets');
      await writeFile(file, TRAFGEN);
      const size = ['--num', '20000', '--cpus', '1', '--no-sock-mem'];
      const all = ['--dev', TUN.name, '--conf', file, ...size];
      await attack(t, trafgen.path, all, () => sentBy(TUN.name).packets, 10_000);
    });

    const thc = programOrSkip('atk6-thcping6');
    for (const [what, tool, args] of LAN) {
      test(`thc-ipv6, ${tool}: ${what}`, { skip: thc.skip }, async (t) => {
        const path = thc.path.replace('thcping6', tool);
        await attack(t, 'ip', ['netns', 'exec', 'lan', path, ...args], sentByLan, 3);
      });
    }

    const tcpreplay = programOrSkip('tcpreplay');
    test(
      'tcpreplay: half of an old connection, again and again',
      { skip: tcpreplay.skip },
      async (t) => {
        await using folder = await scratch();
        const file = join(folder.path, 'old.pcap');
        await writeFile(file, oldConnection());
        // The client itself must not answer for the address.
        inside('lan', 'ip', 'address', 'del', '10.8.8.2/24', 'dev', 'client');
        inside('lan', 'ip', 'address', 'add', '10.8.8.3/24', 'dev', 'client');
        const replay = [tcpreplay.path, '-q', '-t', '--loop=2000', '-i', 'client', file];
        await attack(t, 'ip', ['netns', 'exec', 'lan', ...replay], sentByLan, 12_000);
      },
    );

    // Not how fast it was, which depends on the machine: a program would have given up.
    test('the event loop was never blocked for as long as a dial may take', async (t) => {
      const { event_loop: loop, memory } = await requestStatus(weir.controlPath);
      t.diagnostic(`late by ${loop?.max} ms at most, ${memory.resident >> 20} MiB in the end`);
      assert.ok(loop !== null && loop.max < 10_000);
    });
  });
});
