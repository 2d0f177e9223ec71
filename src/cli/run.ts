import { loadSpec } from '../app/config-source.ts';
import { Instance } from '../app/instance.ts';
import { processLogger } from '../app/process-log.ts';
import { ConfigError, renderConfigError } from '../config/errors.ts';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log/logger.ts';
import type { Spec } from '../spec.ts';
import { describeDefect } from './main.ts';

/** How long live connections may go on after the first stop signal. */
const STOP_GRACE_MS = 5_000;

/** `run`: serves until a signal stops it. */
export async function run(configPath: string | undefined): Promise<number> {
  let spec: Spec;
  try {
    spec = await loadSpec(configPath);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    processLogger(undefined).error(`configuration invalid: ${renderConfigError(error)}`);
    return 1;
  }
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

/**
 * A defect met while serving one connection must not end all the others: it is logged with its
 * stack, for it has to be mended, and the process goes on.
 */
function surviveDefects(log: Logger): void {
  process.on('uncaughtException', (error) => log.error(describeDefect(error)));
  process.on('unhandledRejection', (reason) => log.error(describeDefect(reason)));
}
