import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildProgram } from '../../../packaging/dist.ts';
import { ROOT } from '../../../packaging/root.ts';
import { SUITES } from '../../../tools/suite/suites.ts';
import { keepCompiled } from './keep-compiled.ts';
import { BUILT_MAIN } from './weir.ts';

/** Where it is built: the compile cache knows modules by their paths. */
const PROGRAM = join(ROOT, 'out/program');

/** Builds the program that the files of a suite start, which are processes of their own: once in a run of several. */
export async function globalSetup(): Promise<void> {
  if (process.env[BUILT_MAIN] !== undefined) return;
  await rm(PROGRAM, { recursive: true, force: true });
  await mkdir(PROGRAM, { recursive: true });
  await buildProgram(PROGRAM);
  process.env[BUILT_MAIN] = join(PROGRAM, 'main.js');
  await keepCompiled(SUITES.scenarios.env.NODE_COMPILE_CACHE);
}
