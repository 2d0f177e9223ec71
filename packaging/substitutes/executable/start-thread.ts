import { Buffer } from 'node:buffer';
import { Worker } from 'node:worker_threads';
import { threadLimits } from '../../../src/app/loading/thread-limits.ts';
import { readAsset } from './assets.ts';

/** Stands for src/app/loading/start-thread.ts in the single executable, which holds the code of the thread. */
export const startThread = (): Worker =>
  new Worker(Buffer.from(readAsset('executable-thread.js')).toString(), {
    eval: true,
    execArgv: [],
    resourceLimits: threadLimits(),
  });
