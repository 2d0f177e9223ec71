/**
 * What recording costs: a process with 10,000 open flows of 1,000 accounts, each of which moves bytes in every second, and 500
 * flows a second that are opened and closed, is read by `weir usage record`.
 *
 * `node bench/usage/recorder.ts [SECONDS]`, 20 unless given. Prints processor time in percent of a core: of this process with and without a
 * recorder, and of the recorder.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Tracker, type Flow } from '@weir/proxy/tracker';
import type { ControlHandlers } from '@weir/server/app/control/control-handlers';
import { ControlSocket } from '@weir/server/app/control/control-socket';
import { UsageReporter } from '../../packages/server/src/app/control/usage-reporter.ts';
import { systemClock } from '@weir/io/time';
import { flowInfo } from '../../test/support/engine/flow-info.ts';
import { scratch, weirCommand } from '../../test/support/process/weir.ts';

const SECONDS = Number(process.argv[2] ?? 20);
const FLOWS = 10_000;
const NEW_A_SECOND = 500;
const TICK_MS = 100;

await using folder = await scratch();
const tracker = new Tracker(systemClock);
const reporter = new UsageReporter(tracker, systemClock);
const handlers: Pick<ControlHandlers, 'usage' | 'followsUsage'> = {
  usage: (request, client, gone) => reporter.serve(request, client, gone),
  followsUsage: (client) => reporter.isFollower(client),
};
const path = join(folder.path, 's');
const socket = await ControlSocket.open(path, handlers as ControlHandlers);
let opened = 0;

function open(): Flow {
  const index = opened++;
  const user = `user${index % 1000}@example.com`;
  const info = flowInfo({
    inbound: `in${index % 4}`,
    user,
    source: `198.51.${(index % 1000) >> 8}.${index & 255}`,
    destination: {
      network: 'tcp',
      host: `www.site-${(index * 7919) % 30_000}.example`,
      port: 443,
    },
    outbound: `out${index % 8}`,
    account: { isValid: true, name: user },
  });
  return tracker.openFlow(info, () => undefined);
}

const flows = Array.from({ length: FLOWS }, open);
/** Replaces the oldest flows, and lets a tenth of all move bytes: each once a second. */
function tick(turn: number): void {
  const share = FLOWS / (1000 / TICK_MS);
  for (let index = 0; index < share; index++) {
    flows[(turn * share + index) % FLOWS]?.addDown(1000 + index);
  }
  for (let count = 0; count < NEW_A_SECOND / (1000 / TICK_MS); count++) {
    const at = opened % FLOWS;
    flows[at]?.close();
    flows[at] = open();
  }
}

let turn = 0;
const ticking = setInterval(() => tick(turn++), TICK_MS);

const own = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** Processor time of a process in milliseconds, from ticks of 10 ms. */
function timeOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

const percent = (ms: number): string => `${(ms / SECONDS / 10).toFixed(2)} %`;
await sleep(3000);
const idle = own();
await sleep(SECONDS * 1000);
process.stdout.write(`this process without a recorder: ${percent(own() - idle)}\n`);
const args = ['--socket', path, '--database', join(folder.path, 'usage.db')];
const recorder = weirCommand(['usage', 'record', ...args]);
await recorder.until('a reading', ({ stderr }) => /recording into/.test(stderr) || undefined);
await sleep(3000);
const [before, ownBefore] = [timeOf(recorder.pid), own()];
await sleep(SECONDS * 1000);
process.stdout.write(`this process with one: ${percent(own() - ownBefore)}\n`);
process.stdout.write(`recorder: ${percent(timeOf(recorder.pid) - before)}\n`);
clearInterval(ticking);
await recorder.terminate();
socket.close();
