import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded before a Node contestant with `--import`: on SIGUSR2 it writes how late its event loop
 * was since the previous signal to standard error, and resets. The program itself is unchanged.
 */
const RESOLUTION_MS = 5;
const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
histogram.enable();

process.on('SIGUSR2', () => {
  // The histogram holds the time between two samples; what exceeds the resolution is the delay.
  const late = (p: number): string =>
    Math.max(0, histogram.percentile(p) / 1e6 - RESOLUTION_MS).toFixed(3);
  process.stderr.write(`loop-delay p50=${late(50)} p99=${late(99)} max=${late(100)}\n`);
  histogram.reset();
});
