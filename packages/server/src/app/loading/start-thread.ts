import { Worker } from 'node:worker_threads';
import { threadLimits } from './typed-worker.ts';

/*
 * Starts the thread from a file. A single executable has none, so its build replaces this module by one of
 * packaging/substitutes/.
 */

/** Path of the entry module beside this file, as source or compiled. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);

/** Starts the thread that runs thread-main.ts. */
export const startThread = (): Worker =>
  new Worker(THREAD, { execArgv: [], resourceLimits: threadLimits() });
