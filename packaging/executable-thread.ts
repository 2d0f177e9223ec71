import { Chunks, findInExecutable } from './substitutes/executable/chunks.ts';

/* The script of the thread that reads configurations, in the single executable. */

new Chunks(findInExecutable).load('thread-main.js');
