import { SUITES } from '../../../tools/suite/suites.ts';
import { keepCompiled } from './keep-compiled.ts';

/** Before the files of a suite, which are processes of their own and start Weir. */
export const globalSetup = (): Promise<void> =>
  keepCompiled(SUITES.scenarios.env.NODE_COMPILE_CACHE);
