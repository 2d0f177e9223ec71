import { Instance } from '../app/instance.ts';
import { processLogger } from '../app/process-log.ts';
import { messageOf } from '../errors.ts';
import { surviveDefects } from './defects.ts';
import { loadOrReport } from './load.ts';

/** How long live connections may go on after the first stop signal. */
const STOP_GRACE_MS = 5_000;

/** `run`: serves until a signal stops it. */
export async function run(configPath: string | undefined): Promise<number> {
  const loaded = await loadOrReport(configPath);
  if (!loaded) return 1;
  const { spec } = loaded;
  const log = processLogger(spec.log.level);
  surviveDefects(log);
  if (configPath === undefined) log.info('no --config given: serving the built-in configuration');
  const stop = stopSignals();
  const instance = new Instance(log);
  try {
    await instance.start(spec);
  } catch (error) {
    log.error(`failed to start: ${messageOf(error)}`);
    return 1;
  }
  await stop.first;
  log.info('shutting down');
  await Promise.race([instance.stop(STOP_GRACE_MS), stop.second]);
  return 0;
}

/** The first and the second SIGINT or SIGTERM; waiting for them keeps the process alive. */
function stopSignals(): { readonly first: Promise<void>; readonly second: Promise<void> } {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  // A signal handler alone does not hold the event loop, and a configuration may have no listener.
  const alive = setInterval(() => undefined, 2 ** 30);
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) second.resolve();
    stopping = true;
    clearInterval(alive);
    first.resolve();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return { first: first.promise, second: second.promise };
}
