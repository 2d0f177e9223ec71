#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { keepCompiledCode, writeCompiledCode } from './platform/process/compile-cache.ts';
import { nameProcess } from './platform/process/process-name.ts';
import { widenThreadPool } from './platform/process/thread-pool.ts';

nameProcess();
// Before anything else is loaded: the size of the pool is fixed when it is first used, and only what is
// loaded later is kept compiled.
widenThreadPool(process.env);
keepCompiledCode(fileURLToPath(new URL('..', import.meta.url)));
const { main } = await import('./cli/main.ts');
const { endProcess } = await import('./platform/process/end-process.ts');

const status = await main(process.argv.slice(2));
// The process may have to end in a way in which Node does not do it.
writeCompiledCode();
endProcess(status);
