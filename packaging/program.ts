/* packages/weir/src/main.js without what comes before it in an executable, and without `await` at the top. */

async function start(): Promise<never> {
  const { main } = await import('../packages/weir/src/cli/main.ts');
  const { endProcess } = await import('@weir/io/platform/process/end-process');
  return endProcess(await main(process.argv.slice(2)));
}

void start();
