import { PerformanceObserver } from 'node:perf_hooks';

/**
 * Loaded before the program with `--import`: on SIGUSR2 it writes the longest time that the event
 * loop did not run since the previous signal, and resets. The program itself is unchanged.
 *
 * `wall` is that time in milliseconds, `cpu` the longest stretch of processor time that the main
 * thread used in one such gap, which other programs on the machine do not lengthen, and `gc` the
 * longest single pause of the garbage collector, which is part of both.
 */
const TICK_MS = 1;
const STALL_MS = 10;

let wall = 0;
let cpu = 0;
let gc = 0;
let stalls: string[] = [];

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

let lastWall = performance.now();
let lastCpu = cpuMs();
const tick = (): void => {
  const nowWall = performance.now();
  const nowCpu = cpuMs();
  wall = Math.max(wall, nowWall - lastWall - TICK_MS);
  cpu = Math.max(cpu, nowCpu - lastCpu);
  if (nowCpu - lastCpu > STALL_MS) {
    stalls.push(
      `${(performance.timeOrigin + lastWall).toFixed(3)}-${(performance.timeOrigin + nowWall).toFixed(3)}`,
    );
  }
  lastWall = nowWall;
  lastCpu = nowCpu;
};
setInterval(tick, TICK_MS).unref();

new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) gc = Math.max(gc, duration);
}).observe({ entryTypes: ['gc'] });

process.on('SIGUSR2', () => {
  tick();
  const figures = [wall, cpu, gc].map((value) => Math.max(0, value).toFixed(1));
  process.stderr.write(`stall-probe wall=${figures[0]} cpu=${figures[1]} gc=${figures[2]} .\n`);
  wall = 0;
  cpu = 0;
  gc = 0;
  stalls = [];
});
