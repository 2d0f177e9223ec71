/* src/main.ts without what comes before it in an executable, and without `await` at the top. */

/** When a start is over, or nearly. Commands that end before it do not need it. */
const STARTED_MS = 500;

async function start(): Promise<never> {
  const { main } = await import('../src/cli/main.ts');
  const { endProcess } = await import('../src/platform/process/end-process.ts');
  return endProcess(await main(process.argv.slice(2)));
}

async function afterStart(): Promise<void> {
  const { releaseCode } = await import('./release-pages.ts');
  releaseCode();
}

// Sockets of Node need no native functions, and loading those takes more than this gives back.
if (process.env['WEIR_IO'] !== 'node') setTimeout(() => void afterStart(), STARTED_MS).unref();
void start();
