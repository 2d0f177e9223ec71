import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepCompiled } from './keep-compiled.ts';

/** Before and after all test files of `npm test`, which are processes of their own. */

/** What lasts as long as the run. */
const own = mkdtempSync(join(tmpdir(), 'weir-compiled-'));

export const globalSetup = (): Promise<void> => keepCompiled(own);

export const globalTeardown = (): void => rmSync(own, { recursive: true, force: true });
