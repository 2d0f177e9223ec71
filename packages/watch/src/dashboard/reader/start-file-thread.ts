import { Worker } from 'node:worker_threads';
import { threadLimits } from '@weir/server/app/loading/typed-worker';

/*
 * Starts the thread from a file. A single executable has none, so its build replaces this module by one of
 * packaging/substitutes/.
 */

/** Path of the entry module: beside this source file, or beside the other modules in a package. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './file-thread-main.ts' : './file-thread-main.js',
  import.meta.url,
);

/** Starts the thread that runs file-thread-main.ts. */
export const startFileThread = (): Worker =>
  new Worker(THREAD, { execArgv: [], resourceLimits: threadLimits() });
