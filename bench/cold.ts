import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { within } from '../test/support/wait.ts';
import { threadSeconds } from '../test/support/process/proc.ts';
import type { Contestant } from './contestants.ts';
import { connectOnce } from './load/loads.ts';
import { startOrigin } from './load/origin.ts';
import { median } from './statistics.ts';
import { startTunnel, type TunnelContestant } from './tunnel-contestants.ts';
import { TUNNELS, type Tunnel } from './tunnels.ts';

/*
 * `node bench/cold.ts [--rounds N] [--count N] [--with weir,sing-box] [TUNNEL...]`: the processor time that
 * both ends of a tunnel take for their first connections after a start, when nothing is compiled or
 * cached. By default 100 connections of `trojan-tls`, eight at a time. Linux only.
 */

const PARALLEL = 8;
/** What a start still does after its ports accept is no cost of the connections. */
const SETTLE_MS = 1000;
/** After the last connection: what it has begun counts as well. */
const REST_MS = 300;

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    count: { type: 'string', default: '100' },
    with: { type: 'string', default: 'weir,sing-box' },
  },
  allowPositionals: true,
});
const names = positionals.length === 0 ? ['trojan-tls'] : positionals;
const tunnels = TUNNELS.filter(({ name }) => names.includes(name));
const contestants = values.with.split(',') as TunnelContestant[];
const count = Number(values.count);

/** Milliseconds of processor time, by tunnel and contestant. */
const costs = new Map<string, Cost[]>();

interface Cost {
  readonly client: number;
  readonly server: number;
}

const origin = await startOrigin();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const tunnel of tunnels) {
    for (const contestant of contestants) {
      const key = `${tunnel.title} | ${contestant}`;
      costs.set(key, [...(costs.get(key) ?? []), await measure(contestant, tunnel)]);
    }
  }
}
print();
process.exit(0);

async function measure(contestant: TunnelContestant, tunnel: Tunnel): Promise<Cost> {
  await using started = await startTunnel(contestant, tunnel, origin.port, false);
  await sleep(SETTLE_MS);
  const before = secondsOf(started);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next++ < count) await connectOnce(started.via);
  };
  await within(Promise.all(Array.from({ length: PARALLEL }, worker)), 'the connections');
  await sleep(REST_MS);
  const [client = 0, server = 0] = secondsOf(started).map(
    (seconds, index) => (seconds - (before[index] ?? 0)) * 1000,
  );
  return { client, server };
}

/** Of the client and of the server. */
function secondsOf({ children }: Contestant): number[] {
  return children.map(({ pid }) => threadSeconds(pid));
}

function print(): void {
  const rows = [
    `| first ${count} connections | | client, ms | server, ms | both, ms |`,
    '|---|---|---|---|---|',
  ];
  for (const [key, all] of costs) {
    const figure = (of: (cost: Cost) => number): string => median(all.map(of)).toFixed(0);
    const cells = [
      figure(({ client }) => client),
      figure(({ server }) => server),
      figure(({ client, server }) => client + server),
    ];
    rows.push(`| ${key} | ${cells.join(' | ')} |`);
  }
  process.stdout.write(`${rows.join('\n')}\n`);
}
