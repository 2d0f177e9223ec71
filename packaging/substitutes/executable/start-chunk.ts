import { Buffer } from 'node:buffer';
import { Worker } from 'node:worker_threads';
import { threadLimits } from '@weir/server/app/loading/typed-worker';
import { readAsset } from './assets.ts';

/** Starts a thread of the single executable, which holds its code. @param chunk such as `thread-main.js` */
export const startChunk = (chunk: string): Worker =>
  new Worker(Buffer.from(readAsset('executable-thread.js')).toString(), {
    eval: true,
    execArgv: [],
    resourceLimits: threadLimits(),
    workerData: chunk,
  });
