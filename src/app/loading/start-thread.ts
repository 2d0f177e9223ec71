import { Worker } from 'node:worker_threads';
import { threadLimits } from './thread-limits.ts';

/*
 * A single executable has no file to start a thread from, so its build replaces this file by one of
 * packaging/substitutes/.
 */

/** In the folder of this file, as source or compiled. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);

/** Starts the thread whose code is thread-main.ts. */
export const startThread = (): Worker =>
  new Worker(THREAD, { execArgv: [], resourceLimits: threadLimits() });
