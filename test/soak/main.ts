import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../support/process/control.ts';
import { freePort } from '../support/ports.ts';
import { numbers } from '../support/process/random-config.ts';
import { udpEcho } from '../support/peers/servers.ts';
import { KINDS, type Kind, type Scene } from './clients.ts';
import { clientConfiguration, serverConfiguration } from './configurations.ts';
import { optionsOf, USAGE, withShadowsocksDatagrams, type SoakOptions } from './options.ts';
import { startNames, startOrigin } from './origin.ts';
import { Reloader } from './reloader.ts';
import { header, row, summary } from './report.ts';
import { RunningWeir } from './running-weir.ts';
import { connectionsOf, sampleOf } from './sample.ts';
import { TUNNELS } from './tunnels.ts';
import { grows, trends, type Point } from './verdict.ts';

/**
 * The soak: two processes of Weir, one behind the other with every protocol in between, under a mix
 * of clients and reloads, in rounds. After each round all clients are gone and what the processes
 * hold is compared. `npm run soak -- --help` lists the options.
 */
const read = optionsOf(process.argv.slice(2), process.env);
if (read === 'help') {
  process.stdout.write(USAGE);
  process.exit();
}
const options: SoakOptions = read;
const choose = numbers(options.seed);
const tunnels = TUNNELS.filter(({ tag }) => options.tunnels.test(tag));
const kinds = KINDS.filter(({ name }) => options.kinds.test(name));
if (tunnels.length === 0 || kinds.length === 0) throw new Error('no tunnel or no client is chosen');

await using origin = await startOrigin();
await using echo = await udpEcho();
await using names = await startNames();
const ports = new Set<number>();
while (ports.size < 7) ports.add(await freePort());
const [closed = 0, ...free] = ports;
const serverConfig = serverConfiguration(tunnels, {
  seed: options.seed,
  ports: free.slice(0, 3),
  dnsPort: names.port,
});
await using server = await RunningWeir.start('server', String(serverConfig));
const clientConfig = clientConfiguration(tunnels, (tag) => server.address(tag), {
  seed: options.seed + 1,
  ports: free.slice(3),
  dnsPort: names.port,
});
await using client = await RunningWeir.start('client', String(clientConfig));
const processes = [server, client] as const;
const reloaders = [new Reloader(server, serverConfig), new Reloader(client, clientConfig)];

const scene: Omit<Scene, 'chosen'> = {
  client,
  server,
  tunnels,
  origin: origin.port,
  echo: echo.target,
  closed,
  shadowsocksDatagrams: withShadowsocksDatagrams(options),
  choose,
};
/** How clients fared, by kind. */
const served = new Map<string, number>();
const failures = new Map<string, number>();
/** Flows that outlived their clients, as found at the end of each round. */
const left = new Map<string, number>();

function chosen(): Kind | undefined {
  const weights = kinds.reduce((sum, { weight }) => sum + weight, 0);
  let left = choose(weights);
  return kinds.find(({ weight }) => (left -= weight) < 0);
}

async function runOne(): Promise<void> {
  const kind = chosen();
  if (!kind) return;
  served.set(kind.name, (served.get(kind.name) ?? 0) + 1);
  let tunnel = 'no tunnel';
  try {
    await kind.run({ ...scene, chosen: (tag) => (tunnel = tag) });
  } catch (error) {
    const what = `${kind.name} by ${tunnel}: ${error instanceof Error ? error.message : String(error)}`;
    // Immediately as well, for a run that does not end and for the logs of the same moment.
    if (!failures.has(what)) console.error(`${new Date().toISOString()} FAILED: ${what}`);
    failures.set(what, (failures.get(what) ?? 0) + 1);
  }
}

/** What a round had. */
interface Load {
  readonly connections: number;
  readonly reloads: number;
}

/**
 * So many clients, `parallel` at a time, with the reloads spread evenly among them.
 *
 * @param seconds after which no further client is started.
 */
async function round({ connections, reloads }: Load, seconds: number): Promise<Load> {
  let started = 0;
  let reloaded = 0;
  const end = performance.now() + seconds * 1000;
  const isOver = (): boolean => started >= connections || performance.now() > end;
  const worker = async (): Promise<void> => {
    while (!isOver()) {
      started++;
      await runOne();
    }
  };
  const reload = async (): Promise<void> => {
    for (;;) {
      if (reloaded < (started / connections) * reloads) await reloaders[reloaded++ % 2]?.next();
      else if (isOver()) break;
      else await sleep(5);
    }
  };
  await Promise.all([reload(), ...Array.from({ length: options.parallel }, worker)]);
  return { connections: started, reloads: reloaded };
}

/** Those that end with their clients: an outbound keeps its connection to a Hysteria 2 server. */
const ending = (sessions: Connections['sessions']): Connections['sessions'] =>
  sessions.filter(({ inbound }) => inbound !== 'hysteria2');

/** Waits until flows and sessions have ended, or do not any more. */
async function rest(): Promise<void> {
  const ATTEMPTS = 75;
  for (const reloader of reloaders) await reloader.reset();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const live = await Promise.all(processes.map(connectionsOf));
    if (live.every(({ sessions, flows }) => ending(sessions).length + flows.length === 0)) break;
    await sleep(200);
  }
  for (const weir of processes) {
    for (const { inbound, host, network, outbound } of (await connectionsOf(weir)).flows) {
      const what = `the ${weir.name}: ${network} of ${inbound} to ${host} by ${outbound}`;
      left.set(what, (left.get(what) ?? 0) + 1);
    }
  }
  await sleep(options.restSeconds * 1000);
}

const points = new Map<RunningWeir, Point[]>(processes.map((weir) => [weir, []]));
const began = performance.now();
console.log(header());
const each: Load = {
  connections: Math.ceil(options.connections / options.rounds),
  reloads: Math.ceil(options.reloads / options.rounds),
};
const secondsEach = options.seconds === 0 ? Infinity : options.seconds / (options.rounds + 1);
/** Of the measured rounds: the first one is to fill caches and pools. */
const measured = { connections: 0, reloads: 0 };
for (let i = 0; i <= options.rounds; i++) {
  const { connections, reloads } = await round(each, secondsEach);
  await rest();
  if (i > 0) {
    measured.connections += connections;
    measured.reloads += reloads;
  }
  for (const weir of processes) {
    if (!weir.alive) throw new Error(`the ${weir.name} has ended:\n${weir.complaints.join('\n')}`);
    const point = { connections: measured.connections, sample: await sampleOf(weir) };
    points.get(weir)?.push(point);
    console.log(row(weir.name, (performance.now() - began) / 1000, point));
  }
}

const found = processes.flatMap((weir) =>
  trends(points.get(weir) ?? []).map((trend) => ({ process: weir.name, trend })),
);
console.log(summary(found, measured));
console.log('Clients:', Object.fromEntries(served));
const grown = found.filter(({ trend }) => grows(trend));
for (const { process: name, trend } of grown) {
  console.log(
    `GROWS: ${trend.quantity} of the ${name} by ${trend.growth.toFixed(0)}, limit ${trend.limit}`,
  );
}
for (const [what, count] of left) console.log(`LEFT ${count}: ${what}`);
for (const [what, count] of failures) console.log(`FAILED ${count}: ${what}`);
const complaints = processes.flatMap(({ complaints: lines, name }) =>
  lines.map((line) => `LOGGED by the ${name}: ${line}`),
);
for (const line of complaints) console.log(line);
if (grown.length + failures.size + complaints.length > 0) process.exitCode = 1;
