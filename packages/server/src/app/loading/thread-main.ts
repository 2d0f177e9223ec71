import { setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { RegexCache } from '@weir/proxy/names';
import { FileDigests } from './file-digests.ts';
import type { ConfigRequests, TaskDone } from './config-loader.ts';
import { InlineRunner } from './inline-runner.ts';
import { serializeError, serveThread } from './typed-worker.ts';

// Runs in a separate thread: see config-loader.ts.

/** Niceness that leaves the thread a tenth of the main thread's share of processor time under contention. */
const NICE = 10;

// Traffic has priority. On Linux a priority applies to the calling thread, elsewhere to the process.
if (process.platform === 'linux') yieldToTraffic();

function yieldToTraffic(): void {
  try {
    setPriority(NICE);
  } catch {
    // A seccomp filter may forbid it, such as systemd's `~@resources`: both threads then have equal shares.
  }
}

serveThread<ConfigRequests>(
  {
    async run(task): Promise<TaskDone> {
      const files = new FileDigests();
      const after = (): Omit<TaskDone, 'outcome'> => ({
        files: files.seen,
        heap: getHeapStatistics().total_heap_size,
      });
      const runner = new InlineRunner({ limit: Infinity, regexes: new RegexCache() });
      try {
        return { outcome: { value: await runner.run(task, { files }) }, ...after() };
      } catch (error) {
        return { outcome: { failure: serializeError(error) }, ...after() };
      }
    },
  },
  { inPieces: true },
);
