import { nameProcess } from '../src/platform/process/process-name.ts';
import { widenThreadPool } from '../src/platform/process/thread-pool.ts';
import { Chunks, findInExecutable } from './substitutes/executable/chunks.ts';

/* The script of the single executable: loads the program from the chunks beside it. */

nameProcess();
// Before anything else is loaded: the pool takes its size when it is first used.
widenThreadPool(process.env);
new Chunks(findInExecutable).load('program.js');
