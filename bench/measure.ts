import { readFileSync } from 'node:fs';
import type { Child } from '../test/support/process/child.ts';
import { cpuSeconds, residentBytes } from '../test/support/process/proc.ts';
import type { Case } from './case.ts';
import { isNode, startRelay, type Contestant, type ContestantName } from './contestants.ts';
import { Generator } from './load/generator.ts';
import type { Figures, Job } from './load/messages.ts';
import type { StartedPath } from './path/start-path.ts';
import { startOnDevice } from './tun/contestants.ts';
import { FAR_HOST, Networks } from './tun/networks.ts';
import { startSessions, startTunnel } from './tunnel-contestants.ts';
import { startBeforePeer } from './wireguard/contestants.ts';
import { WireGuardFar } from './wireguard/peer.ts';

/**
 * One measurement of one contestant: all processes are started anew, so that none inherits a heap.
 *
 * The event-loop delay of those in Node comes from a second run: its probe takes processor time.
 */
export async function measure(
  test: Case,
  contestant: ContestantName,
  seconds: number,
): Promise<Figures> {
  const figures = await run(test, contestant, seconds, readFigures);
  if (!isNode(contestant)) return figures;
  return { ...figures, ...(await run(test, contestant, seconds, readDelay)) };
}

/** What a run is for. */
interface Reading {
  /** Whether contestants in Node are to report their event-loop delay. */
  readonly probed: boolean;
  /** Begins when the measured part of the load does. @returns reads the figures at its end */
  readonly begin: (children: readonly Child[]) => (load: Figures) => Promise<Figures>;
}

const readFigures: Reading = {
  probed: false,
  begin: (children) => {
    const before = snapshot(children);
    return (load) =>
      Promise.resolve(children.length === 0 ? load : compare(before, load, children));
  },
};

const readDelay: Reading = {
  probed: true,
  begin: (children) => {
    // The report to this first signal covers the start and the warm-up; only the next one counts.
    for (const child of children) child.signal('SIGUSR2');
    return () => worstDelay(children);
  },
};

async function run(
  test: Case,
  contestant: ContestantName,
  seconds: number,
  { probed, begin }: Reading,
): Promise<Figures> {
  await using networks = test.setting === undefined ? undefined : await Networks.make();
  await using generator = new Generator([], networks?.near);
  await using far =
    networks || test.load === 'idle'
      ? new Generator(['origin', ...(networks ? [FAR_HOST] : [])], networks?.far)
      : undefined;
  const port = await (far ?? generator).ready();
  await generator.ready();
  await using peer =
    networks && test.setting === 'wireguard' ? await WireGuardFar.start(networks) : undefined;
  await using subject = peer
    ? await startBeforePeer(contestant, peer, port, probed)
    : networks
      ? await startOnDevice(contestant, networks, port, probed)
      : await start(test, contestant, port, probed);
  const parallel = test.load === 'idle' ? Math.min(test.parallel, flowLimit()) : test.parallel;
  const job: Job = { load: test.load, via: subject.via, parallel, seconds };
  let read: ReturnType<Reading['begin']> = () => Promise.resolve({});
  let path: () => Promise<Figures> = () => Promise.resolve({});
  let discarded: (() => Promise<Figures>) | undefined;
  const isCountedFar = far !== undefined && test.load === 'upload';
  const reported = await generator.run(job, () => {
    read = begin(subject.children);
    if (subject.path) path = readPath(subject.path);
    if (isCountedFar) discarded = readDiscarded(far);
  });
  const load = { ...reported, ...(await discarded?.()) };
  // A proxy that drops everything would otherwise look like a slow one.
  if (load['rate'] === 0) throw new Error('no data came through');
  // Awaited here: the processes live as long as this call.
  return { ...(await read(load)), ...(await path()) };
}

function start(
  { tunnel, load, parallel }: Case,
  contestant: ContestantName,
  port: number,
  probed: boolean,
): Promise<Contestant> {
  if (tunnel === undefined) return startRelay(contestant, port, probed);
  if (load === 'sessions') return startSessions(contestant, tunnel, port, probed, parallel);
  return startTunnel(contestant, tunnel, port, probed);
}

/** The figures of the path between the two ends, its processor time included. */
function readPath(path: StartedPath): () => Promise<Figures> {
  const [before, time] = [cpuSeconds(path.child.pid), performance.now()];
  path.begin();
  return async () => {
    const used = cpuSeconds(path.child.pid) - before;
    const elapsed = (performance.now() - time) / 1000;
    return { ...(await path.figures()), pathCores: used / elapsed };
  };
}

/** The rate of an upload, by the origin of another process than the one that sends. */
function readDiscarded(far: Generator): () => Promise<Figures> {
  const before = far.discarded();
  const time = performance.now();
  return async () => {
    const end = far.discarded();
    const elapsed = (performance.now() - time) / 1000;
    const bytes = (await end) - (await before);
    return { rate: bytes / elapsed, bytes };
  };
}

/** The figures of the load, and what the processes have taken for it. */
function compare(before: Snapshot, load: Figures, children: readonly Child[]): Figures {
  const after = snapshot(children);
  const memory = after.memory - before.memory;
  const cores = (after.cpu - before.cpu) / (after.time - before.time);
  return {
    ...load,
    cpu: after.cpu - before.cpu,
    cores,
    ...(load['rate'] ? { cpuPerUnit: cores / load['rate'] } : {}),
    memory: after.memory,
    ...(load['flows'] ? { memoryPerFlow: memory / load['flows'] } : {}),
  };
}

interface Snapshot {
  readonly cpu: number;
  readonly memory: number;
  /** Seconds. */
  readonly time: number;
}

/** Sums over the processes. */
const snapshot = (children: readonly Child[]): Snapshot => ({
  cpu: sum(children.map(({ pid }) => cpuSeconds(pid))),
  memory: sum(children.map(({ pid }) => residentBytes(pid))),
  time: performance.now() / 1000,
});

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

const LOOP_DELAY = /^loop-delay p50=(\S+) p99=(\S+) max=(\S+)$/gm;

/** The greatest delay among several processes. */
async function worstDelay(children: readonly Child[]): Promise<Figures> {
  const delays = await Promise.all(children.map(loopDelay));
  const worst = (name: string): number => Math.max(...delays.map((delay) => delay[name] ?? NaN));
  return { loopP50: worst('loopP50'), loopP99: worst('loopP99'), loopMax: worst('loopMax') };
}

/** Asks for the second report of the event-loop delay, in milliseconds. */
async function loopDelay(child: Child): Promise<Figures> {
  child.signal('SIGUSR2');
  const reports = await child.until('its event-loop delay', ({ stderr }) => {
    const all = [...stderr.matchAll(LOOP_DELAY)];
    return all.length >= 2 ? all : undefined;
  });
  const [, p50, p99, max] = reports.at(-1) ?? [];
  return { loopP50: Number(p50), loopP99: Number(p99), loopMax: Number(max) };
}

/**
 * The flows that every contestant can hold under the limit of open files: two sockets each, and two
 * pipes of two descriptors in programs that splice.
 */
function flowLimit(): number {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  const descriptors = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  // Those of the program itself, and of the warm-up's flows, which some peers close late.
  const OTHERS = 1000;
  const PER_FLOW = 6;
  return Math.floor((descriptors - OTHERS) / PER_FLOW);
}
