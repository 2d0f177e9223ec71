import { widenThreadPool } from '../src/platform/process/thread-pool.ts';

/** src/main.ts without `await` at the top, which a script in an executable cannot have. */
async function start(): Promise<never> {
  const { main } = await import('../src/cli/main.ts');
  const { endProcess } = await import('../src/platform/process/end-process.ts');
  return endProcess(await main(process.argv.slice(2)));
}

// Before anything else is loaded: the pool takes its size when it is first used.
widenThreadPool(process.env);
void start();
