import { workerData } from 'node:worker_threads';
import { Chunks, findInExecutable } from './substitutes/executable/chunks.ts';

/* The script of threads in the single executable: its starter names the chunk. */

new Chunks(findInExecutable).load(String(workerData));
