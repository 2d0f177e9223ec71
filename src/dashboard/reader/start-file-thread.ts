import { Worker } from 'node:worker_threads';
import { threadLimits } from '../../app/loading/thread-limits.ts';

/*
 * A single executable has no file to start a thread from, so its build replaces this file by one of
 * packaging/substitutes/.
 */

/** In the folder of this file as source; beside the other modules in a package. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './file-thread-main.ts' : './file-thread-main.js',
  import.meta.url,
);

/** Starts the thread whose code is file-thread-main.ts. */
export const startFileThread = (): Worker =>
  new Worker(THREAD, { execArgv: [], resourceLimits: threadLimits() });
