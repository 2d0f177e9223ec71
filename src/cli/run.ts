import { FileLog } from '../app/file-log.ts';
import { FileWatcher } from '../app/file-watcher.ts';
import { Instance } from '../app/instance.ts';
import { processLogger } from '../app/process-log.ts';
import { RegexCache } from '../engine/router/regex-set.ts';
import { messageOf } from '../errors.ts';
import { surviveDefects } from './defects.ts';
import { loadOrReport } from './load.ts';

/** How long live connections may go on after the first stop signal. */
const STOP_GRACE_MS = 5_000;

export interface RunOptions {
  readonly config: string | undefined;
  /** Whether to reload when a file changes. */
  readonly watch: boolean;
}

/** `run`: serves until a signal stops it. */
export async function run({ config: configPath, watch }: RunOptions): Promise<number> {
  // Taken from the first moment on, for by default the signal ends a process; it means what is on
  // disk once this one runs.
  const running = Promise.withResolvers<Instance>();
  // The outcome of a reload is logged by the instance; here nobody waits for it.
  const reload = (): void =>
    void running.promise.then((instance) => instance.reload()).catch(() => undefined);
  process.on('SIGHUP', reload);
  const regexes = new RegexCache();
  const files = new FileLog();
  const loaded = await loadOrReport(configPath, { files, regexes }, (config) => config);
  if (!loaded) return 1;
  const log = processLogger(loaded.spec.log.level);
  surviveDefects(log);
  if (configPath === undefined) log.info('no --config given: serving the built-in configuration');
  using stop = stopSignals();
  const instance = new Instance({ configPath, log, regexes, serveApi: true });
  try {
    await instance.start(loaded, files);
  } catch (error) {
    log.error(`failed to start: ${messageOf(error)}`);
    return 1;
  }
  running.resolve(instance);
  const watcher = watch ? new FileWatcher(() => instance.files.paths, reload, log) : undefined;
  if (watcher) instance.onReload(() => watcher.refresh());
  await stop.first;
  log.info('shutting down');
  watcher?.close();
  await Promise.race([instance.stop(STOP_GRACE_MS), stop.second]);
  return 0;
}

/** The first and the second SIGINT or SIGTERM; the process is kept alive until it is disposed of. */
interface StopSignals extends Disposable {
  readonly first: Promise<void>;
  readonly second: Promise<void>;
}

function stopSignals(): StopSignals {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  // A signal handler alone does not hold the event loop. A configuration may have no listener, and
  // sessions that are not being read do not hold it either while the process waits for their end.
  const alive = setInterval(() => undefined, 2 ** 30);
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) second.resolve();
    stopping = true;
    first.resolve();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    first: first.promise,
    second: second.promise,
    [Symbol.dispose]: () => clearInterval(alive),
  };
}
