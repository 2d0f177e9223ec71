import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../support/process/control.ts';
import { openDescriptors, residentBytes } from '../support/process/proc.ts';
import { Inspector } from './inspector.ts';
import type { RunningWeir } from './running-weir.ts';

/** What a process holds once its clients have gone. Sizes in bytes, the rest counts. */
export interface Sample {
  readonly heap: number;
  /** Array buffers and what else lies outside of the heap. */
  readonly external: number;
  /** Those of them that are array buffers, of streams and codecs. */
  readonly arrayBuffers: number;
  /** What malloc(3) has given out and not got back: OpenSSL, koffi, and array buffers as well. */
  readonly allocated: number;
  readonly resident: number;
  readonly descriptors: number;
  readonly threads: number;
  /** Timers that are set, whether they keep the process alive or not. */
  readonly timers: number;
  /** What `process.getActiveResourcesInfo()` lists. */
  readonly resources: number;
  readonly sockets: number;
  readonly promises: number;
  readonly signals: number;
  readonly sessions: number;
  readonly flows: number;
}

/** How each quantity is found among the objects of the other process. */
const TIMERS = `Object.getPrototypeOf((() => {
  const timer = setTimeout(() => undefined, 0);
  clearTimeout(timer);
  return timer;
})())`;
/**
 * mallinfo2(3) of glibc in the other process, by its own koffi: the numbers `hblkhd` and `uordblks`, bytes in
 * blocks of their own and in arenas. Declared once, since declarations are not released.
 */
const ALLOCATED = `(globalThis.mallinfo2 ??= (() => {
  const { createRequire } = process.getBuiltinModule('node:module');
  const koffi = createRequire(${JSON.stringify(import.meta.url)})('koffi');
  const fields = ['arena', 'ordblks', 'smblks', 'hblks', 'hblkhd', 'usmblks', 'fsmblks', 'uordblks', 'fordblks', 'keepcost'];
  const result = koffi.struct('mallinfo2', Object.fromEntries(fields.map((name) => [name, 'size_t'])));
  const call = koffi.load('libc.so.6').func('mallinfo2', result, []);
  return () => { const { hblkhd, uordblks } = call(); return Number(hblkhd) + Number(uordblks); };
})())()`;
const builtin = (path: string): string => `process.getBuiltinModule('node:${path}.prototype`;
const SOCKETS = builtin("net').Socket");
const SIGNALS = 'AbortSignal.prototype';
const PROMISES = 'Promise.prototype';

/** Looks at a process at rest, after a collection of its garbage. */
export async function sampleOf(weir: RunningWeir): Promise<Sample> {
  using inspector = await Inspector.open(weir.inspector);
  await collect(inspector);
  const { heapUsed, external, arrayBuffers } = (await inspector.evaluate(
    'process.memoryUsage()',
  )) as Record<'heapUsed' | 'external' | 'arrayBuffers', number>;
  const allocated = Number(await inspector.evaluate(ALLOCATED));
  const resources = Number(await inspector.evaluate('process.getActiveResourcesInfo().length'));
  const timers = await inspector.count(
    TIMERS,
    '!each._destroyed && each.constructor === Object.getPrototypeOf(each).constructor && each._idleTimeout >= 0',
  );
  const sockets = await inspector.count(SOCKETS);
  const promises = await inspector.count(PROMISES);
  const signals = await inspector.count(SIGNALS);
  const { sessions, flows } = await connectionsOf(weir);
  return {
    heap: heapUsed,
    external,
    arrayBuffers,
    allocated,
    resident: residentBytes(weir.pid),
    descriptors: openDescriptors(weir.pid),
    threads: threadsOf(weir.pid),
    timers,
    resources,
    sockets,
    promises,
    signals,
    sessions: sessions.length,
    flows: flows.length,
  };
}

export async function connectionsOf(weir: RunningWeir): Promise<Connections> {
  return (await weir.api.json('GET', '/v1/connections')) as Connections;
}

/** Finalizers run in turns of their own after a collection, and free what the next one finds. */
async function collect(inspector: Inspector): Promise<void> {
  const COLLECTIONS = 4;
  for (let i = 0; i < COLLECTIONS; i++) {
    await inspector.collectGarbage();
    await sleep(50);
  }
}

const threadsOf = (pid: number): number => readdirSync(`/proc/${pid}/task`).length;
