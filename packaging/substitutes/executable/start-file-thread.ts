import type { Worker } from 'node:worker_threads';
import { startChunk } from './start-chunk.ts';

/** Stands for packages/watch/src/dashboard/reader/start-file-thread.ts in the single executable. */
export const startFileThread = (): Worker => startChunk('file-thread-main.js');
