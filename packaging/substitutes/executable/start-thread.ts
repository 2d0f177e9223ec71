import type { Worker } from 'node:worker_threads';
import { startChunk } from './start-chunk.ts';

/** Stands for packages/server/src/app/loading/start-thread.ts in the single executable. */
export const startThread = (): Worker => startChunk('thread-main.js');
