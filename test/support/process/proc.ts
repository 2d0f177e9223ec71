import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** Linux's view of another process, from /proc. */

/** Open file descriptors. */
export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Resident memory in bytes, from `VmRSS`. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`no VmRSS of process ${pid}`);
  return Number(kilobytes) * 1024;
}

/** The most resident memory so far in bytes, from `VmHWM`. */
export function peakResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`no VmHWM of process ${pid}`);
  return Number(kilobytes) * 1024;
}

/** Processor seconds used so far, all threads, user and system. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const TICKS_PER_SECOND = 100;
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** As `cpuSeconds`, to the nanosecond, without threads that have ended. */
export function threadSeconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(folder).map((task) =>
    Number(readFileSync(`${folder}/${task}/schedstat`, 'latin1').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}

/** Threads of a name; libuv calls those of its pool `libuv-worker`. */
export function threadsNamed(pid: number, name: string): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.filter(
    (task) => readFileSync(`/proc/${pid}/task/${task}/comm`, 'latin1') === `${name}\n`,
  ).length;
}

/** Open sockets of any kind, this process's by default. */
export function openSockets(pid: number | 'self' = 'self'): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => targetOf(`${folder}/${fd}`).startsWith('socket:'))
    .length;
}

/** The descriptor of the directory itself is gone when it is looked at. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
