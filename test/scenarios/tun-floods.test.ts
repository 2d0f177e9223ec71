import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, describe, test } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { decode, encode, type Answer } from 'dns-packet';
import { TcpFlag } from '../../packages/netstack/src/wire/tcp.ts';
import { disposable, open } from '../support/data/address.ts';
import { freedom } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { endpoint, segment, tcpPacket, udpPacket } from '../support/data/ip-packets.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { PacketSocket } from '../support/netns/packet-socket.ts';
import { Datagrams } from '../support/netns/program.ts';
import { FAR, ip, PORT, sentBy, Site } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { roundTrip } from '../support/read.ts';
import { SeededRandom } from '../support/simnet/seeded-random.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const LOG = '[log]\nlevel = "debug"\n';
const dns = (server: string): string => `[dns]\nbackend = "udp"\nserver = "${server}"\n`;
const CONFIG = LOG + dns(`${FAR.host}:${PORT.names}`);

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

/** A program that sends datagrams back. */
const ECHO = `
  const [host, port] = process.argv.slice(1);
  const socket = require('node:dgram').createSocket('udp4');
  socket.on('message', (data, from) => socket.send(data, from.port, from.address));
  socket.bind(Number(port), host, () => console.log('ready'));
`;

/** SYNs of two clients to a network that does not respond, without end. */
function* synsToSilence(): Generator<Uint8Array> {
  const random = new SeededRandom(5);
  for (;;) {
    const source = endpoint(`192.0.2.${1 + random.below(2)}`, 1024 + random.below(60_000));
    const destination = endpoint(`198.18.${random.below(256)}.${random.below(256)}`, 80);
    const header = segment({
      sourcePort: source.port,
      destinationPort: destination.port,
      sequence: random.next(),
      flags: TcpFlag.SYN,
      window: 64_240,
    });
    yield tcpPacket(header, undefined, { source, destination });
  }
}

/** Packets of a flood in the queue of a device, which has room for 500. */
const ROOM = 400;

/** Packets that have left the queue of a device: those that its program has read, and those that were dropped. */
function takenFrom(device: string): number {
  const [, line = ''] = readFileSync('/proc/self/net/dev', 'latin1').split(`${device}:`);
  // Eight figures of what was received, then bytes, packets, errors and drops of what was sent.
  const [packets = NaN, , drops = NaN] = line.trim().split(/\s+/).slice(9).map(Number);
  return packets + drops;
}

/** A DNS server that says nothing about names below `silent.test`, and counts them. */
async function unhelpfulServer() {
  const socket = createSocket('udp4');
  const silent = new Set<string>();
  socket.on('message', (message, { port, address }) => {
    const query = decode(message);
    const answers: Answer[] = [];
    for (const { name, type } of query.questions ?? []) {
      if (name.endsWith('.silent.test')) {
        silent.add(name);
        return;
      }
      if (type === 'A') answers.push({ type, name, ttl: 60, data: FAR.host });
      if (type === 'TXT') answers.push({ type, name, ttl: 60, data: 'text' });
    }
    const response = encode({ ...query, type: 'response', additionals: [], answers });
    socket.send(response, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  return { port, silent, [Symbol.asyncDispose]: async () => void socket.close() };
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

    shared(async (use) => {
      site = use(await Site.make());
    });

    afterEach(() => weir[Symbol.asyncDispose]());
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

    for (const [what, wrap] of [
      ['', []],
      [', with few descriptors', ['prlimit', '--nofile=600:600']],
    ] as const) {
      test(`a flood of SYNs of two clients to a silent network${what}`, async () => {
        await start('', wrap);
        using raw = new PacketSocket(TUN.name);
        let isOver = false;
        const flooding = (async () => {
          const before = takenFrom(TUN.name);
          let sent = 0;
          for (const packet of synsToSilence()) {
            if (isOver) return;
            if (raw.send(packet)) sent++;
            if (sent % 20 > 0) continue;
            await turn();
            // As many as Weir takes, however slow it is: a full queue would drop the packets of others.
            while (!isOver && sent - (takenFrom(TUN.name) - before) > ROOM) await sleep(1);
          }
        })();
        try {
          await control.logged('too many connections wait for their destinations');
          for (let i = 0; i < 7; i++) {
            using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
            await roundTrip(socket, 'hello');
          }
        } finally {
          isOver = true;
          await flooding;
        }
      });
    }

    test('a forged datagram between two echo services behind the device', async () => {
      await start();
      const other = '203.0.113.8';
      ip(`-n far address add ${other}/32 dev lo`);
      execFileSync('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
      await using echo = site.start(process.execPath, '--eval', ECHO, other, `${PORT.echo}`);
      await echo.until('it listens', ({ stdout }) => stdout.includes('ready') || undefined);
      await using datagrams = await Datagrams.open();
      await datagrams.echo(Buffer.from('before'), other);
      const before = sentBy(TUN.name).packets;
      using raw = new PacketSocket(TUN.name);
      const [source, destination] = [endpoint(FAR.host, PORT.echo), endpoint(other, PORT.echo)];
      raw.send(udpPacket(Buffer.from('forged'), { source, destination }));
      await control.logged('it was routed back to the device');
      const ECHOES = 100;
      for (let i = 0; i < ECHOES; i++) await datagrams.echo(Buffer.from(`after ${i}`), other);
      const { packets } = sentBy(TUN.name);
      assert.ok(packets - before < 2 * ECHOES, `${packets - before} packets`);
    });

    test('a program whose TXT questions get no answer', async () => {
      await using names = await unhelpfulServer();
      weir = await Weir.start(dns(`127.0.0.1:${names.port}`) + tunConfig(freedom()));
      await using programs = new AsyncDisposableStack();
      const sockets: Datagrams[] = [];
      while (sockets.length < 10) sockets.push(programs.use(await Datagrams.open()));
      const ask = async (): Promise<void> => {
        for (const [port, datagrams] of sockets.entries()) {
          for (let id = 0; id < 60; id++) {
            const name = `n${port}-${id}.silent.test`;
            if (names.silent.has(name)) continue;
            const questions = [{ type: 'TXT', name }] as const;
            const question = encode({ type: 'query', id, flags: 256, questions: [...questions] });
            await datagrams.send(question, 53, TUN.resolver);
          }
        }
      };
      let round = 0;
      await eventually('512 questions without an answer', async () => {
        // The queue of the device holds 500 packets and drops the others while Weir does not read it.
        if (round++ % 50 === 0) await ask();
        return names.silent.size >= 512;
      });
      const resolver = new Resolver();
      resolver.setServers([TUN.resolver]);
      assert.deepEqual(await resolver.resolveTxt('www.far.test'), [['text']]);
      assert.deepEqual(await resolver.resolve4('www.far.test'), [FAR.host]);
    });
  });
});
