import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PORT } from '../netns/site.ts';
import { socksConnect } from '../peers/socks-client.ts';
import type { Control } from '../process/control.ts';
import { roundTrip } from '../read.ts';
import { eventually } from '../wait.ts';
import type { Recoveries } from './recovery.ts';
import type { RoamingStage } from './stage.ts';

export interface SleepOptions {
  readonly seconds: number;
  /** Flows by each outbound that are open when the process is stopped. */
  readonly flows: number;
  /** Whether the servers of the outbounds crash and start again meanwhile. */
  readonly crash: boolean;
}

interface OpenFlow {
  readonly tag: string;
  readonly socket: Socket;
}

/** What the client of a flow does while Weir is stopped. */
const LEAVES: readonly ((socket: Socket) => void)[] = [
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.end('too late'),
  (socket) => socket.destroy(),
  () => undefined,
];

/**
 * Stops the process of a Weir (SIGSTOP) with flows by every outbound, while most of their clients leave, and lets
 * it run again. Returns how long each outbound took from then on. The flows whose two ends are still there must
 * go on, and the others must end.
 */
export async function sleepThrough(
  stage: RoamingStage,
  control: Control,
  { seconds, flows, crash }: SleepOptions,
): Promise<Recoveries> {
  const open = await openFlows(stage, flows);
  const { child } = stage.weir;
  child.signal('SIGSTOP');
  const staying: OpenFlow[] = [];
  for (const [i, flow] of open.entries()) {
    const turn = i % LEAVES.length;
    LEAVES[turn]?.(flow.socket);
    if (turn === LEAVES.length - 1) staying.push(flow);
  }
  if (crash) await stage.restartServers();
  await sleep(seconds * 1000);
  child.signal('SIGCONT');
  const took = await stage.recoveries();
  for (const { tag, socket } of staying) {
    // Whatever is between them, both ends of a direct flow are still there.
    if (tag.startsWith('direct'))
      assert.equal(String(await roundTrip(socket, 'still here')), 'still here');
  }
  for (const { socket } of staying) socket.destroy();
  for (const { socket } of open) socket.destroy();
  await eventually(
    'the end of all streams',
    async () => (await control.connections()).flows.every(({ network }) => network === 'udp'),
    SETTLE_MS,
  );
  return took;
}

/** A link whose client has ended waits for its destination, and lingers. */
const SETTLE_MS = 120_000;

async function openFlows(stage: RoamingStage, each: number): Promise<readonly OpenFlow[]> {
  const opened = stage.outbounds.flatMap(({ tag, host }) =>
    Array.from({ length: each }, async (): Promise<OpenFlow> => {
      const socket = await socksConnect(stage.socks(tag), { host, port: PORT.echo });
      socket.on('error', () => undefined);
      assert.equal(String(await roundTrip(socket, 'before')), 'before');
      return { tag, socket };
    }),
  );
  return Promise.all(opened);
}
