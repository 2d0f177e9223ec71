/**
 * Usage: flows of 1,000 accounts through a Weir whose usage is recorded, with reloads, and kills and restarts of either
 * side at random. All of it must be recorded to the byte while Weir lives, nothing twice, and when Weir is killed at most its
 * last second is lost; none of it when it is stopped.
 *
 * `npm run stress -- usage`, with WEIR_STRESS_TRIALS (25 of each kind), WEIR_STRESS_RELOADS in each trial (10), WEIR_STRESS_USERS
 * (1000) and WEIR_STRESS_CLIENTS (16). Exit status 1 when a sum is wrong.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageRig } from '../support/usage/usage-rig.ts';

const numberIn = (name: string, standard: number): number => Number(process.env[name] ?? standard);
const TRIALS = numberIn('WEIR_STRESS_TRIALS', 25);
const RELOADS = numberIn('WEIR_STRESS_RELOADS', 10);
const USERS = numberIn('WEIR_STRESS_USERS', 1000);
const CLIENTS = numberIn('WEIR_STRESS_CLIENTS', 16);

/** Milliseconds that may be lost, and those by which this process may notice an end late beside this load. */
const MOST_LOST_MS = 1000 + 100;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

type Kind = 'recorder killed' | 'recorder restarted' | 'weir killed' | 'weir restarted';
const KINDS: readonly Kind[] = [
  'recorder killed',
  'recorder restarted',
  'weir killed',
  'weir restarted',
];

const order = KINDS.flatMap((kind) => Array.from({ length: TRIALS }, () => kind)).sort(
  () => Math.random() - 0.5,
);
await using rig = await UsageRig.start(USERS, Math.random);
const lost: number[] = [];
let flows = 0;
let bytes = 0;

for (const [index, kind] of order.entries()) {
  const before = rig.recordedByUser();
  const base = rig.recorded();
  const [sent, received] = [rig.sent, rig.received];
  rig.moved = new Map();
  rig.startClients(CLIENTS);
  for (let reload = 0; reload < RELOADS; reload++) {
    await rig.reload();
    await sleep(Math.random() * 100);
  }
  if (kind.startsWith('recorder')) {
    await rig.end('recorder', kind === 'recorder killed' ? 'SIGKILL' : 'SIGTERM');
    await sleep(Math.random() * 500);
    await rig.startRecorder();
    await rig.stopClients();
    await rig.untilAllRecorded(before);
    for (const counts of rig.moved.values()) flows += counts.flows;
    bytes += rig.received - received;
  } else {
    const at = await rig.end('weir', kind === 'weir killed' ? 'SIGKILL' : 'SIGTERM');
    await rig.stopClients();
    await sleep(1500); // the recorder sees that it is gone
    const after = rig.recorded();
    const [up, down] = [after.up - base.up, after.down - base.down];
    // What Weir had accepted from a client, and had not sent on, comes back to none.
    if (up > rig.sent - sent || down > rig.sent - sent) {
      throw new Error(`${kind}: ${up} and ${down} recorded, ${rig.sent - sent} sent`);
    }
    const ms = down >= rig.received - received ? 0 : rig.millisecondsBefore(at, received + down);
    if (kind === 'weir killed') lost.push(ms);
    if (ms > (kind === 'weir killed' ? MOST_LOST_MS : 0))
      throw new Error(`${kind}: the last ${ms.toFixed()} ms are lost`);
    await rig.startWeir();
    await rig.recording();
  }
  if (index % 10 === 9) say(`${index + 1} of ${order.length} trials`);
}

lost.sort((a, b) => a - b);
const at = (share: number): string => (lost[Math.floor(lost.length * share)] ?? 0).toFixed();
say(
  `${order.length} trials, ${order.length * RELOADS} reloads; to the byte: ${flows} flows, ${bytes} bytes each way`,
);
say(
  `lost with a killed Weir, in ms: median ${at(0.5)}, p90 ${at(0.9)}, most ${(lost.at(-1) ?? 0).toFixed()}`,
);
