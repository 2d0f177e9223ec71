import { readFile, readdir } from 'node:fs/promises';
import { NativeError, openSelf, type NativeLibrary } from '@weir/io/platform/native';

/** What a program has taken; memory in megabytes of 2^20 bytes. */
export interface Figures {
  /** Processor time of all its threads, those that have ended included. */
  readonly processorMs: number;
  readonly residentMb: number;
  /** Of that, what is no page of a file. */
  readonly anonymousMb: number;
  /** Of that, pages of files which no other process has mapped and which are not changed. */
  readonly ownCleanMb: number;
  readonly threads: number;
}

/** Of a process and its children: a launcher may have the program as its child. */
export async function figuresOf(pid: number): Promise<Figures> {
  const processes = await withChildren(pid);
  const all = await Promise.all(processes.map(figuresOfOne));
  const sum = (figure: keyof Figures): number =>
    all.reduce((total, figures) => total + figures[figure], 0);
  return {
    processorMs: sum('processorMs'),
    residentMb: sum('residentMb'),
    anonymousMb: sum('anonymousMb'),
    ownCleanMb: sum('ownCleanMb'),
    threads: sum('threads'),
  };
}

async function withChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const children = await Promise.all((text.match(/\d+/g) ?? []).map(Number).map(withChildren));
  return [pid, ...children.flat()];
}

async function figuresOfOne(pid: number): Promise<Figures> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(rollup)?.[1] ?? Number.NaN) / 1024;
  return {
    processorMs: processorMs(pid),
    residentMb: megabytes('Rss'),
    anonymousMb: megabytes('Anonymous'),
    ownCleanMb: megabytes('Private_Clean'),
    threads: (await readdir(`/proc/${pid}/task`)).length,
  };
}

/** clock_gettime(2) with the clock of a process, as clock_getcpuclockid(3) makes it: /proc counts in 10 ms. */
function processorMs(pid: number): number {
  const CPUCLOCK_SCHED = 2;
  const time = new BigInt64Array(2);
  getTime ??= openSelf().func('int clock_gettime(int clock, int64_t *time)');
  if (getTime((~pid << 3) | CPUCLOCK_SCHED, time) !== 0) {
    throw new NativeError(`no clock of process ${pid}`);
  }
  return Number(time[0]) * 1e3 + Number(time[1]) / 1e6;
}

let getTime: ReturnType<NativeLibrary['func']> | undefined;
