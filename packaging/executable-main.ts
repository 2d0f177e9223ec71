import { nameProcess, widenThreadPool } from '@weir/io/startup';
import { Chunks, findInExecutable } from './substitutes/executable/chunks.ts';

/* The script of the single executable: loads the program from the chunks beside it. */

nameProcess();
// Before anything else is loaded: the pool takes its size when it is first used.
widenThreadPool(process.env);
new Chunks(findInExecutable).load('program.js');
