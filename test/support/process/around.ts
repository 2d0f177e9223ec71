import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildProgram } from '../../../packaging/dist.ts';
import { buildExecutable, executableObstacle } from '../../../packaging/executable.ts';
import { ROOT } from '../../../packaging/root.ts';
import { SUITES } from '../../../tools/suite/suites.ts';
import { keepCompiled } from './keep-compiled.ts';
import { BUILT } from './weir.ts';

/** Where it is built: Node's compile cache knows modules by their paths. */
const FOLDER = join(ROOT, 'out/program');

/**
 * Builds what the files of a suite start, which are processes of their own: once in a run of several. The executable
 * starts in half of the processor time of the bundle, which is for systems that have no executable.
 */
export async function globalSetup(): Promise<void> {
  if (process.env[BUILT] !== undefined) return;
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const hasExecutable = executableObstacle() === undefined;
  const built = join(FOLDER, hasExecutable ? 'weir' : 'main.js');
  if (hasExecutable) await buildExecutable(built, join(FOLDER, 'work'));
  else await buildProgram(FOLDER);
  process.env[BUILT] = built;
  await keepCompiled(SUITES.scenarios.env.NODE_COMPILE_CACHE);
}
