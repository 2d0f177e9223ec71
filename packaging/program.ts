/* src/main.ts without what comes before it in an executable, and without `await` at the top. */

async function start(): Promise<never> {
  const { main } = await import('../src/cli/main.ts');
  const { endProcess } = await import('../src/platform/process/end-process.ts');
  return endProcess(await main(process.argv.slice(2)));
}

void start();
