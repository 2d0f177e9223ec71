/**
 * Floods of datagrams and of queries through a `tun` inbound, each from ever new ports, beside a program that connects
 * again and again: no turn of the event loop may take 50 ms of processor time, neither meanwhile nor when what the flood has
 * begun ends, and each connection has to be served.
 *
 * `npm run stress -- tun`, as root, with WEIR_STRESS_SECONDS of each flood (6).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { OBSERVED, ObservedProcess } from '../cost/observed-process.ts';
import { disposable, open } from '../support/data/address.ts';
import { runInOwnNetwork } from '../support/netns/own-network.ts';
import { FAR, PORT, Site } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { Child } from '../support/process/child.ts';
import { freedom } from '../support/process/config.ts';
import { residentBytes } from '../support/process/proc.ts';
import { Weir } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';

const SECONDS = Number(process.env['WEIR_STRESS_SECONDS'] ?? 6);
/** Milliseconds of processor time of a turn. */
const MOST = 50;
/** Seconds after a flood: its queries end after 10. */
const AFTER = 12;

/** The address and the port of each datagram of a flood, as an expression of its program. */
const FLOODS = {
  datagrams: `'${FAR.silent.slice(0, -1)}' + (1 + (sent & 127)), 1024 + (sent % 60000)`,
  queries: `'${TUN.resolver}', 53`,
};

/** A program that sends a datagram, a query for a name of its own, from a new socket, and another one, for some seconds. */
const program = (to: string): string => `
  const { createSocket } = require('node:dgram');
  const until = performance.now() + ${SECONDS * 1000};
  let sent = 0;
  const send = () => {
    const [address, port] = ((...words) => words)(${to});
    const query = Buffer.from('00000100000100000000000008' + Buffer.from(String(sent++).padStart(8, '0')).toString('hex') + '0000010001', 'hex');
    const socket = createSocket('udp4').on('error', () => undefined);
    socket.send(query, port, address, () => {
      socket.close();
      if (performance.now() < until) send();
    });
  };
  for (let i = 0; i < 64; i++) send();
  process.once('exit', () => console.log(sent));
`;

/** Connects, and again while `goesOn`; returns the number of connections, each of which was served. */
async function useNetwork(goesOn: (count: number) => boolean): Promise<number> {
  for (let count = 0; ; count++) {
    if (count > 0 && !goesOn(count)) return count;
    using socket = disposable(await open({ host: FAR.host, port: PORT.echo }));
    if (String(await roundTrip(socket, 'beside')) !== 'beside') throw new Error('not served');
  }
}

await runInOwnNetwork(import.meta.url, async () => {
  await using _site = await Site.make();
  // The names of the far end's servers are not those of the flood.
  const dns = `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n`;
  await using weir = await Weir.start(tunConfig(freedom()) + dns, { nodeArgs: OBSERVED });
  using observed = await ObservedProcess.of(weir.child);
  // Compiles what a connection runs.
  await useNetwork((count) => count < 200);
  for (const [name, to] of Object.entries(FLOODS)) {
    await observed.watchTurns();
    await using flood = new Child(process.execPath, ['-e', program(to)]);
    const connections = await useNetwork(() => flood.ended === undefined);
    const resident = residentBytes(observed.pid) >> 20;
    await sleep(AFTER * 1000);
    const longest = await observed.longestTurn();
    const more = await useNetwork(() => false);
    console.log(
      `${name}: ${flood.stdout.trim()} sent, ${connections + more} connections beside them; the longest turn took ${longest.toFixed(0)} ms; ${resident} MB, ${residentBytes(observed.pid) >> 20} MB ${AFTER} s later`,
    );
    if (longest >= MOST) process.exitCode = 1;
  }
});
