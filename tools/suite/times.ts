import { join } from 'node:path';
import type { FileRun } from './run-file.ts';

/** Where the last run of each suite leaves how long its files and tests took. */
export const TIMES = join(import.meta.dirname, '../../out/test-times');

export type FileTimes = Pick<FileRun, 'file' | 'ms' | 'tests'>;
