#!/usr/bin/env node
import { nameProcess } from './platform/process/process-name.ts';
import { widenThreadPool } from './platform/process/thread-pool.ts';

nameProcess();
// Before anything else is loaded: the size of the pool is fixed when it is first used.
widenThreadPool(process.env);
const { main } = await import('./cli/main.ts');
const { endProcess } = await import('./platform/process/end-process.ts');

endProcess(await main(process.argv.slice(2)));
