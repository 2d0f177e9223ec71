import { Worker } from 'node:worker_threads';
import { threadLimits } from './thread-limits.ts';

/*
 * A single executable has no file to start a thread from: its build puts another file in the place
 * of this one (packaging/substitutes/).
 */

/** Beside this file, as source or compiled. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);

/** Starts the thread whose code is thread-main.ts. */
export const startThread = (): Worker =>
  new Worker(THREAD, { execArgv: [], resourceLimits: threadLimits() });
