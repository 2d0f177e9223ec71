import { writeCompiledCode } from '@weir/io/startup';
import { nameProcess, widenThreadPool } from '@weir/io/platform/process/process-settings';

nameProcess();
// First, as the size of the thread pool is fixed at its first use.
widenThreadPool(process.env);
const { main } = await import('./cli/main.ts');
const { endProcess } = await import('@weir/io/platform/process/end-process');

const status = await main(process.argv.slice(2));
// Written now: `endProcess` may skip Node's exit path, which would do it.
writeCompiledCode();
endProcess(status);
