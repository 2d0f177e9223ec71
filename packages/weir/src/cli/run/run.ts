import { FileDigests } from '@weir/server/app/loading/file-digests';
import { loadAtStart } from '@weir/server/loading';
import { FileWatcher } from '@weir/server/app/file-watcher';
import { Instance } from '@weir/server/app/instance';
import { processLog } from '@weir/server/app/log/process-log';
import {
  adoptSockets,
  takeServiceEnvironment,
  openNotifier,
  type ServiceNotifier,
} from '@weir/server/service';
import { ControlSocket, openDefaultSocket } from '@weir/server/app/control/control-socket';
import { createHandlers, type ControlHandlers } from '@weir/server/app/control/control-handlers';
import type { LimitsKeeper, LimitsPaths } from '@weir/server/limits';
import type { PacketCapture } from '@weir/server/app/packet-capture';
import { statusOf } from '@weir/server/app/outcomes';
import { RegexCache } from '@weir/proxy/names';
import { messageOf, WeirError } from '@weir/base';
import { recordLines, type Logger } from '@weir/base/log';
import { systemClock } from '@weir/io/time';
import { endProcessAtOnce } from '@weir/io/platform/process/end-process';
import { boundYoungHeap, compileSparingly, MemoryKeeper, OwnMemory } from '@weir/io/process';
import { writeCompiledCode } from '@weir/io/startup';
import { logHints, type Importable } from '@weir/server/app/log/error-lines';
import { ConfigError, renderConfigError } from '@weir/config';
import { renderWarning } from '@weir/config/load';
import { loadOrReport } from '../load.ts';
import { cutLine } from '@weir/server/supervisor/reload-report';
import { age, counted } from '@weir/base/text/amounts';
import { socketsInUse } from '../surroundings.ts';

/** Milliseconds that a stop may take beyond the grace period, for responses of the API and final work. */
const STOP_BESIDE_GRACE_MS = 15_000;

/** Milliseconds until memory is examined again after a failure. */
const MEMORY_LOOK_MS = 1_000;

/**
 * The exit status for an invalid configuration under a service manager, which should not restart
 * before the files change: `EX_CONFIG` of sysexits.h.
 */
const INVALID_CONFIGURATION = 78;

/** The options of `weir run`. */
interface RunOptions {
  readonly config: string | undefined;
  /** Whether to reload when a file changes. */
  readonly watch: boolean;
  /** Path of the control socket; `undefined` for the default place. */
  readonly reloadSocket: string | undefined;
  /** Whether to open a control socket. */
  readonly controlSocket: boolean;
  /** Milliseconds that live connections may continue after the first stop signal. */
  readonly graceMs: number;
  /** Path of the capture file for packets of TUN inbounds; `undefined` for none. */
  readonly pcap: string | undefined;
  /** The files of the limits of accounts; `undefined` for none. */
  readonly limits: LimitsPaths | undefined;
}

/** `run`: serves until a signal stops it. */
export async function run({
  config: configPath,
  watch,
  reloadSocket,
  controlSocket,
  graceMs,
  pcap,
  limits: limitsPaths,
  importable,
}: RunOptions & { readonly importable?: Importable | undefined }): Promise<number> {
  // Handled from the start, because by default the signal ends the process; the reload begins once the instance runs.
  // Stop signals keep their default effect until there is something to stop.
  const running = Promise.withResolvers<Instance>();
  // The instance logs the outcome of a reload.
  const reload = (): void =>
    void running.promise.then((instance) => instance.reload()).catch(() => undefined);
  process.on('SIGHUP', reload);
  const service = takeServiceEnvironment(process.env, process.pid);
  const regexes = new RegexCache();
  const files = new FileDigests();
  const loaded = await loadOrReport(
    configPath,
    (path, { bytes, ...input }) =>
      loadAtStart({ path, bytes }, { ...input, regexes, serveApi: true, blocking: true }),
    { files, importable },
  );
  if (!loaded) return service.notifySocket === undefined ? 1 : INVALID_CONFIGURATION;
  using stop = stopSignals();
  const { log, flush, setFilter, filter, lost, recent } = processLog(loaded.spec.log.level);
  surviveDefects(log);
  const notifier = openNotifier(service, { clock: systemClock, log, pid: process.pid });
  notifier.starting('starting');
  const passed = adoptSockets(service.passed, log);
  if (configPath === undefined) log.info('no --config given: serving the built-in configuration');
  log.debug(`sockets: ${socketsInUse()}`);
  let capture: PacketCapture | undefined;
  try {
    capture = pcap === undefined ? undefined : await openCapture(pcap, log);
  } catch (error) {
    log.error(`failed to start: ${messageOf(error)}`);
    await flush();
    return 1;
  }
  let limits: LimitsKeeper | undefined;
  if (limitsPaths !== undefined) {
    limits = await openLimits(limitsPaths, log);
    if (!limits) {
      await flush();
      return service.notifySocket === undefined ? 1 : INVALID_CONFIGURATION;
    }
  }
  const source = { path: configPath };
  const instance = new Instance({ source, log, regexes, serveApi: true, capture, limits });
  // Even if the rest is still waiting, or has failed.
  void stop.second
    .then(() => {
      const { flowCount } = instance.tracker;
      if (flowCount > 0) log.warn(cutLine(flowCount, 0));
      return flush();
    })
    .finally(() => endProcessAtOnce(0));
  const controlled = {
    instance,
    log,
    recent,
    setFilter,
    logFilter: filter,
    linesLost: lost,
    configPath,
  };
  const handlers = createHandlers(controlled);
  let control: ControlSocket | undefined;
  const start = async (): Promise<void> => {
    await instance.start(loaded, files);
    if (reloadSocket !== undefined) control = await ControlSocket.open(reloadSocket, handlers);
  };
  const started = start().then(
    () => 'running' as const,
    (error: unknown) => {
      // A stop is not a failure.
      if (!instance.stopping) {
        log.error(`failed to start: ${messageOf(error)}`);
        logHints(error, log);
        // The warning explains why an inbound could not be bound.
        for (const warning of loaded.warnings) {
          if (warning.id === 'same-address') log.warn(renderWarning(warning));
        }
      }
      return 'failed' as const;
    },
  );
  // Binding resolves names in `listen`, which may take long.
  const state = await Promise.race([started, stop.first.then(() => 'stopped' as const)]);
  if (state === 'failed') {
    await flush();
    return 1;
  }
  let watcher: FileWatcher | undefined;
  let limitsWatcher: FileWatcher | undefined;
  if (state === 'running') {
    passed.warnOfUnused();
    // Before it is ready: after an update it takes some 100 ms. A process that is killed writes nothing at its end.
    writeCompiledCode();
    reportReloads(instance, notifier);
    notifier.ready(statusOf(instance.inbounds));
    running.resolve(instance);
    if (reloadSocket === undefined && controlSocket) {
      void openControl(handlers, log).then((opened) => {
        if (instance.stopping) opened?.close();
        else control = opened;
      });
    }
    compileSparingly();
    keepMemorySmall();
    if (watch) watcher = watchFiles(instance, reload, log);
    if (limits) limitsWatcher = watchLimits(instance, limits, log);
    await stop.first;
  }
  log.info('shutting down');
  const { flowCount } = instance.tracker;
  if (flowCount > 0 && graceMs > 0) log.info(graceLine(flowCount, graceMs));
  notifier.stopping('shutting down', graceMs + STOP_BESIDE_GRACE_MS);
  watcher?.close();
  limitsWatcher?.close();
  control?.close();
  try {
    await instance.stop(graceMs);
  } catch (error) {
    log.error(describeDefect(error));
  }
  await handlers.endUsage();
  await capture?.close();
  await flush();
  return 0;
}

async function openCapture(path: string, log: Logger): Promise<PacketCapture> {
  const { PacketCapture } = await import('@weir/server/app/packet-capture');
  const capture = await PacketCapture.open(path, { clock: systemClock, log });
  log.info(`the packets of tun inbounds are written to ${path}`);
  return capture;
}

/** Reads the files of the limits; logs why they cannot be used. */
async function openLimits(paths: LimitsPaths, log: Logger): Promise<LimitsKeeper | undefined> {
  const { LimitsKeeper } = await import('@weir/server/limits');
  try {
    return await LimitsKeeper.open(paths, { clock: systemClock, log });
  } catch (error) {
    const text =
      error instanceof ConfigError
        ? `limits invalid: ${renderConfigError(error)}`
        : `failed to start: ${messageOf(error)}`;
    log.error(recordLines(text));
    logHints(error, log);
    return undefined;
  }
}

/** Opens the control socket in its default place. Without one the process serves nevertheless. */
async function openControl(
  handlers: ControlHandlers,
  log: Logger,
): Promise<ControlSocket | undefined> {
  try {
    return await openDefaultSocket(handlers, { env: process.env, pid: process.pid });
  } catch (error) {
    log.debug(`no control socket: ${messageOf(error)}`);
    return undefined;
  }
}

function reportReloads(instance: Instance, notifier: ServiceNotifier): void {
  instance.onReload({
    begins: () => notifier.reloading('reloading'),
    ended: (outcome) => notifier.reloaded(statusOf(instance.inbounds, outcome)),
  });
  instance.onDrain((draining) => {
    if (draining) notifier.draining('draining: no inbound accepts clients');
    else notifier.accepting(statusOf(instance.inbounds));
  });
}

const graceLine = (flows: number, graceMs: number): string =>
  `${counted(flows, 'flow')} ${flows === 1 ? 'has' : 'have'} ${age(graceMs)} to end; another signal ends ${flows === 1 ? 'it' : 'them'} at once`;

/** Limits the memory of a busy process, and releases memory of an idle one. */
function keepMemorySmall(keeper = new MemoryKeeper(new OwnMemory())): void {
  let next = MEMORY_LOOK_MS;
  try {
    boundYoungHeap();
    next = keeper.look();
  } finally {
    // Also after a failure.
    systemClock.after(next, () => keepMemorySmall(keeper));
  }
}

function watchFiles(instance: Instance, reload: () => void, log: Logger): FileWatcher {
  const watcher = new FileWatcher(() => instance.files.paths, reload, log);
  const check = async (): Promise<void> => {
    if (!(await instance.files.unchanged())) reload();
  };
  // A file may have changed after it was read and before it was watched.
  void check();
  instance.onReload({
    ended: () => {
      if (watcher.refresh()) void check();
    },
  });
  return watcher;
}

/** Reads the limits file again when it changes. */
function watchLimits(instance: Instance, limits: LimitsKeeper, log: Logger): FileWatcher {
  const reload = (): void => void instance.reloadLimits();
  const watcher = new FileWatcher(() => limits.files.paths, reload, log);
  // It may have changed after it was read and before it was watched.
  reload();
  return watcher;
}

/** The first and the second SIGINT or SIGTERM; keeps the process alive until disposed of. */
interface StopSignals extends Disposable {
  readonly first: Promise<void>;
  readonly second: Promise<void>;
}

function stopSignals(): StopSignals {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  // A signal handler alone does not keep the event loop alive. A configuration may have no
  // listener, and sessions that are not being read do not keep it alive either while the process
  // waits for their end.
  const alive = setInterval(() => undefined, 2 ** 30);
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) {
      second.resolve();
      // A third signal has its default effect, which works even if this program hangs.
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    }
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

/**
 * A defect in serving one connection must not end all others: it is logged with its stack, and the
 * process continues.
 */
function surviveDefects(log: Logger): void {
  process.on('uncaughtException', (error) => log.error(recordLines(describeDefect(error))));
  process.on('unhandledRejection', (reason) => log.error(recordLines(describeDefect(reason))));
}

/** The text of a defect, with the details for a bug report. */
function describeDefect(error: unknown): string {
  const detail = error instanceof Error && !(error instanceof WeirError) ? error.stack : undefined;
  return `internal error: ${detail ?? messageOf(error)}`;
}
